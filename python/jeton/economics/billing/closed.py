"""Token counts of closed models: a public stand-in times a factor, or calibrated from real usage.

A provider's own tokenizer is public for some families (then the count is exact), known to be that
of an open model for others, and secret for the rest, where only a published comparison says how
much longer its texts are. The records that a provider returns with every answer say more than any
table: `Calibration` turns them into a factor of one's own traffic with an interval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jeton._nearest import nearest
from jeton.catalog import price_names
from jeton.economics.billing.calibration import Calibration, TokenEstimate
from jeton.errors import UnknownModelError, UsageError
from jeton.findings import Basis
from jeton.registry.model_families import are_words_known, plain_names

__all__ = [
    "STAND_INS",
    "Calibration",
    "ContentClass",
    "FactorRange",
    "StandIn",
    "TokenEstimate",
    "estimate_tokens",
    "stand_in",
]

ContentClass = Literal["prose", "code", "math", "any"]
"""Kinds of text whose factors differ; ``any`` where it is mixed or not known."""


@dataclass(frozen=True, slots=True)
class FactorRange:
    """Tokens of a closed model over tokens of its stand-in: the value taken, and a range."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class StandIn:
    """A family of closed models and the public tokenizer that stands in for theirs.

    Attributes:
        family: Name of the family.
        pattern: Matches the models' names, provider prefix removed, lower case.
        tokenizer: The public tokenizer, by the name under which it is usually found.
        factors: Factor by kind of text; always has ``any``.
        basis: Exact where the provider publishes the very tokenizer; estimated otherwise.
        source: Where that is said.
        date: Day on which it was read.
    """

    family: str
    pattern: str
    tokenizer: str
    factors: Mapping[ContentClass, FactorRange]
    basis: Basis
    source: str
    date: str

    def factor(self, content: ContentClass) -> FactorRange:
        """Return the factor of a kind of text; that of ``any`` where it was not measured."""
        return self.factors.get(content, self.factors["any"])


_ONE: Mapping[ContentClass, FactorRange] = {"any": FactorRange(1.0, 1.0, 1.0)}

_CLAUDE_SOURCE = (
    "VentureBeat, 2025-05-01, 'Hidden costs in AI deployment': Claude 3.5 Sonnet against GPT-4o, "
    "+16% English articles, +30% Python, +21% mathematics; the range is a judgement"
)

STAND_INS: tuple[StandIn, ...] = (
    StandIn(
        "openai-o200k",
        r"(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|o1|o3|o4)\b.*",
        "o200k_base",
        _ONE,
        Basis.EXACT,
        "tiktoken 0.14 (tiktoken.model)",
        "2026-11-21",
    ),
    StandIn(
        "openai-cl100k",
        r"(gpt-4|gpt-3\.5|gpt-35|text-embedding-3|text-embedding-ada-002)\b.*",
        "cl100k_base",
        _ONE,
        Basis.EXACT,
        "tiktoken 0.14 (tiktoken.model)",
        "2026-11-21",
    ),
    StandIn(
        "gemini",
        r"gemini-(2|3).*",
        "gemma3",
        # The provider counts so in its own client; it calls that experimental.
        {"any": FactorRange(1.0, 0.99, 1.01)},
        Basis.ESTIMATED,
        "google-genai, _local_tokenizer_loader: Gemini 2.0 to 3 count with Gemma 3's tokenizer; "
        "the range is a judgement",
        "2026-11-21",
    ),
    StandIn(
        "claude-2",
        r"claude-(v?[12]|instant)\b.*",
        "claude",
        _ONE,
        Basis.EXACT,
        "anthropic-tokenizer-typescript, claude.json",
        "2026-11-21",
    ),
    StandIn(
        "claude-newer-tokenizer",
        r"claude-(opus-4-[789]|opus-[5-9]|sonnet-[5-9]|fable|mythos).*",
        "o200k_base",
        {
            "prose": FactorRange(1.16 * 1.30, 1.05, 1.9),
            "code": FactorRange(1.30 * 1.30, 1.15, 2.1),
            "math": FactorRange(1.21 * 1.30, 1.05, 2.0),
            "any": FactorRange(1.20 * 1.30, 1.05, 2.1),
        },
        Basis.ESTIMATED,
        f"{_CLAUDE_SOURCE}; x 1.30: Anthropic's documentation, 'Token counting': about 30 percent "
        "more tokens than earlier models",
        "2026-11-21",
    ),
    StandIn(
        "claude-3-and-4",
        r"claude-(3|(haiku|sonnet|opus)-[34]).*",
        "o200k_base",
        {
            "prose": FactorRange(1.16, 1.0, 1.35),
            "code": FactorRange(1.30, 1.1, 1.5),
            "math": FactorRange(1.21, 1.0, 1.4),
            "any": FactorRange(1.20, 1.0, 1.5),
        },
        Basis.ESTIMATED,
        _CLAUDE_SOURCE,
        "2026-11-21",
    ),
)
"""In the order in which they are tried."""


def stand_in(model: str) -> StandIn:
    """Return the stand-in of a closed model; ``PROVIDER:`` or ``PROVIDER/`` before it is ignored.

    Raises:
        UnknownModelError: If no family matches: nothing is guessed.
    """
    found = known_stand_in(model)
    if found is not None:
        return found
    raise UnknownModelError(
        model,
        nearest=_nearest_models(model),
        hint="no public tokenizer is known for it; calibrate from the usage that its provider "
        "returns (Calibration.fit)",
    )


def known_stand_in(model: str) -> StandIn | None:
    """Return the stand-in of a closed model; None where no family matches."""
    for form in plain_names(model):
        for entry in STAND_INS:
            if re.fullmatch(entry.pattern, form) and are_words_known(form, entry.pattern):
                return entry
    return None


def _without_provider(model: str) -> str:
    return re.split(r"[:/](?!.*[:/])", model.strip().casefold())[-1]


def _nearest_models(model: str) -> tuple[str, ...]:
    """Models of the price list that have a stand-in; the families where none is near."""
    listed = {name.partition(":")[2] for name in price_names()}
    known = nearest(_without_provider(model), [name for name in listed if known_stand_in(name)])
    return known or tuple(entry.family for entry in STAND_INS)


def estimate_tokens(
    n_stand_in_tokens: int, *, model: str, content: ContentClass = "any"
) -> TokenEstimate:
    """Return a closed model's count from the count of its public stand-in.

    Formula: ``tokens of the stand-in x factor``; the range is the factor's.

    Source: `STAND_INS`, each with its own. Tokens that a provider adds around messages are not
    included.

    Args:
        n_stand_in_tokens: Tokens that `stand_in` ``(model).tokenizer`` gives.
        model: The closed model.
        content: Kind of text.

    Raises:
        UnknownModelError: If the model's family is not known.
        UsageError: If the count is negative or the kind of text unknown.
    """
    if n_stand_in_tokens < 0 or content not in ("prose", "code", "math", "any"):
        raise UsageError(
            f"cannot estimate from {n_stand_in_tokens} tokens of {content!r}; expected a count of "
            "at least 0 of prose, code, math or any"
        )
    entry = stand_in(model)
    factor = entry.factor(content)
    return TokenEstimate(
        n_tokens=n_stand_in_tokens * factor.value,
        low=n_stand_in_tokens * factor.low,
        high=n_stand_in_tokens * factor.high,
        confidence=None,
        basis=entry.basis,
        formula=f"{n_stand_in_tokens:,} tokens of {entry.tokenizer} x {factor.value:g} ({content})",
        source=f"{entry.source} (read {entry.date})",
    )
