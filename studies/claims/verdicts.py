"""Claims, and their verdicts. A verdict stands only while its figures say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from studies.claims.figures import Figures

__all__ = ["Claim", "Verdict", "unfounded"]


class Verdict(Enum):
    """How a claim came out."""

    HOLDS = "holds"
    WHERE = "holds where"
    REFUTED = "refuted"
    ARITHMETIC = "arithmetic error"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes:
        id: Anchor and name of the template with its section.
        claim: As it circulates.
        verdict: How it came out.
        words: The verdict in words, behind its name: where it holds, what is so instead.
        figure: Our figure for the summary, a template.
        because: Whether the verdict follows from the figures.
        groups: Groups of figures that it rests on.
        missing: What an open claim waits for.
    """

    id: str
    claim: str
    verdict: Verdict
    words: str
    figure: str
    because: Callable[[Figures], bool]
    groups: tuple[str, ...]
    missing: str = ""


def unfounded(claims: tuple[Claim, ...], figures: Figures) -> list[str]:
    """The claims whose verdict no longer follows from the figures."""
    return [claim.id for claim in claims if not claim.because(figures)]
