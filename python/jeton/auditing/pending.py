"""Result types whose own modules are still to come; each goes when its module is there."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from jeton.findings import Basis, Figure

__all__ = [
    "BillLine",
    "BillReport",
    "Factor",
    "Interval",
    "Limits",
    "LogIssue",
    "QualityMetrics",
    "RequestsSummary",
    "Step",
    "TradeOff",
    "TradeOffPoint",
    "Waterfall",
]


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


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of the bill."""

    name: str
    value: Figure


@dataclass(frozen=True, slots=True)
class Step:
    """The bill after one more remedy."""

    id: str
    name: str
    usd_per_month: Decimal
    delta_usd_per_month: Decimal
    formula: str
    basis: Basis


@dataclass(frozen=True, slots=True)
class Waterfall:
    """How requests, bytes, tokens and price make the bill, and how remedies change it."""

    factors: tuple[Factor, ...]
    steps: tuple[Step, ...]
    naive_usd_per_month: Decimal
    engineered_usd_per_month: Decimal


@dataclass(frozen=True, slots=True)
class Limits:
    """The user's own limits; None: not limited."""

    max_memory_bytes: int | None = None
    max_usd_per_month: Decimal | None = None
    max_seconds_per_request: float | None = None
    max_bits_per_byte: float | None = None


@dataclass(frozen=True, slots=True)
class TradeOffPoint:
    """One candidate in the trade-off of memory, money, time and quality."""

    name: str
    memory_bytes: int | None
    usd_per_month: Decimal | None
    seconds_per_request: float | None
    bits_per_byte: float | None
    is_on_front: bool
    violates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TradeOff:
    """All candidates, their Pareto front, and the best within the limits."""

    points: tuple[TradeOffPoint, ...]
    limits: Limits
    best: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class BillLine:
    """One kind of token of one model: computed against billed."""

    model: str
    what: str
    n_tokens: int
    usd_per_mtok: Decimal | None
    usd_computed: Decimal | None
    usd_billed: Decimal | None
    difference: Decimal | None


@dataclass(frozen=True, slots=True)
class BillReport:
    """A real bill reconciled with the logs."""

    lines: tuple[BillLine, ...]
    usd_billed: Decimal
    usd_explained: Decimal
    usd_unexplained: Decimal
    causes: tuple[str, ...]
