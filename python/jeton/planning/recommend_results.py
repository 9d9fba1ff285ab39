"""Result of ``recommend``: the settings, and each choice with its measurements."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jeton._core import __version__
from jeton._shown import NotebookResult
from jeton.metrics.bootstrap import Interval
from jeton.planning.sweep_results import Sweep
from jeton.training import TrainSettings

OWN_VOCABULARY_SAVING = 0.10
"""Share of its tokens that a domain must save with a vocabulary of its own before one is advised.
Ours: a vocabulary of its own means a model of its own, so a few percent never pay for it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting that was tried.

    Attributes:
        value: The setting.
        n_tokens: Tokens of the held-out documents.
        change: Against the default, as a share: below 0 is fewer tokens.
        interval: 95% of the change, paired by document; None for the default itself, or with fewer
            than two documents.
        failed: Why it could not be tried; empty where it could.
    """

    value: str
    n_tokens: int
    change: float
    interval: Interval | None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice and its grounds.

    Attributes:
        question: The choice: ``"split pattern"``, ``"normalization"``, ``"algorithm"`` ...
        choice: The setting to take.
        reason: Why, with the figures.
        trials: The trials, the default first.
    """

    question: str
    choice: str
    reason: str
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class DomainTrial:
    """One domain under the shared vocabulary and under one of its own.

    Attributes:
        domain: Its name.
        n_bytes: Held-out text of it.
        shared_tokens: Tokens with the vocabulary trained on all domains.
        own_tokens: Tokens with one of the same size trained on this domain's sample alone.
    """

    domain: str
    n_bytes: int
    shared_tokens: int
    own_tokens: int

    @property
    def saving(self) -> float:
        """Share of the shared vocabulary's tokens that its own would save."""
        return 1 - self.own_tokens / self.shared_tokens if self.shared_tokens else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(NotebookResult):
    """Recommended training, and the reasons.

    Attributes:
        settings: The settings to train with.
        decisions: Each choice, in the order in which they were made.
        domains: The domains under a shared and an own vocabulary; empty with fewer than two.
        sweep: The sizes that were measured.
        n_documents: Documents of the sample, held-out ones included.
        n_bytes: Bytes of their text.
    """

    _table = "decisions"
    _line = ("n_documents", "decisions")

    settings: TrainSettings
    decisions: tuple[Decision, ...]
    domains: tuple[DomainTrial, ...]
    sweep: Sweep
    n_documents: int
    n_bytes: int

    @property
    def own_vocabularies(self) -> tuple[DomainTrial, ...]:
        """Domains for which a vocabulary of their own is advised."""
        return tuple(d for d in self.domains if d.saving >= OWN_VOCABULARY_SAVING)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "schema_version": "jeton.recommend/1",
            "jeton_version": __version__,
            "settings": self.settings.to_dict(),
            "decisions": [asdict(decision) for decision in self.decisions],
            "domains": [{**asdict(d), "saving": d.saving} for d in self.domains],
            "sweep": self.sweep.to_dict(),
            "sample": {"n_documents": self.n_documents, "n_bytes": self.n_bytes},
        }
