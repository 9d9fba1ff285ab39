"""Result types whose own modules are still to come; each goes when its module is there."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.findings import Figure

__all__ = ["Interval", "LogIssue", "QualityMetrics", "RequestsSummary"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A bootstrap interval of a figure that speaks for more than was counted."""

    low: float
    high: float
    confidence: float
    method: str
    n_resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class QualityMetrics:
    """What the audit shows of a tokenizer's quality."""

    renyi_efficiency_2_5_full: float
    renyi_efficiency_3_0_observed: float
    gini: float
    words_kept_share: float
    continued_word_share: float
    bits_per_byte: Figure | None
    n_unreachable: int
    n_undertrained: int
    stability: dict[str, float]


@dataclass(frozen=True, slots=True)
class LogIssue:
    """One kind of trouble in a log: how often, and where it was seen first."""

    kind: str
    n: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestsSummary:
    """What the request logs say beside their text."""

    n_requests: int
    n_with_usage: int
    n_with_response: int
    first_time: str | None
    last_time: str | None
    requests_per_day: float | None
    output_tokens_mean: float | None
    cached_share: float | None
    models: tuple[str, ...]
    issues: tuple[LogIssue, ...]
