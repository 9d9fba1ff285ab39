"""Figures of an audit as exact numbers, with intervals where documents were drawn.

Every number that the report has for the tokenizer in use is one, by the name that it has there:
``tokens_per_document``, ``bytes_per_token``, ``usd_per_month``, ``kv_bytes_per_request_mean``, and
so on. The figures that a gate decomposes by cause, and those of single domains, come from the
gate's own sums. Values are rational numbers, so that a limit is neither passed nor missed by a
rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from jeton.auditing.gate.levels import FIGURES, PERIODS, figure_of
from jeton.auditing.gate.side import BilledSide
from jeton.auditing.gate.statistics import Statistics
from jeton.auditing.result import AuditReport
from jeton.findings import Figure, Severity
from jeton.metrics.lengths import LengthSummary

QUANTILES = {
    "tokens_per_document_p50": Fraction(1, 2),
    "tokens_per_document_p95": Fraction(95, 100),
    "tokens_per_document_p99": Fraction(99, 100),
    "tokens_per_document_max": Fraction(1),
}
"""Quantiles by name: nearest rank, as everywhere in an audit."""

_NO_METRICS = {"is_current", "name", "fingerprint", "algorithm", "sources"}


def report_values(report: AuditReport) -> dict[str, Fraction]:
    """Every number of the report that a budget may name, for the tokenizer in use.

    Logs without text have the figures that need none.
    """
    current = next((item for item in report.tokenizers if item.is_current), None)
    values: dict[str, Fraction] = {}
    corpus = report.corpus
    for source in (report.workload, corpus, *(() if current is None else (current,))):
        values.update(_numbers(source))
    n_documents = corpus.n_documents
    if n_documents and current is not None:
        values["round_trip_failure_share"] = Fraction(current.n_round_trip_failures, n_documents)
        values["normalized_document_share"] = Fraction(current.n_normalized_documents, n_documents)
        values["replaced_document_share"] = Fraction(corpus.n_replaced_documents, n_documents)
    if corpus.n_bytes:
        share = Fraction(corpus.n_repeated_whitespace_bytes, corpus.n_bytes)
        values["repeated_whitespace_share"] = share
    wanted = [f for f in report.findings if f.severity is not Severity.GOOD]
    if report.cache is not None:
        values.update((name, Fraction(value)) for name, value in report.cache.figures.items())
    values["n_findings"] = Fraction(len(wanted))
    values["n_error_findings"] = Fraction(sum(f.severity is Severity.ERROR for f in wanted))
    return values


def side_values(side: BilledSide, known: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The figures of billed tokens and dollars, exact; those of a period where traffic is known.

    Args:
        side: The sums.
        known: Figures of the report, of which traffic is taken.
    """
    found: dict[str, Fraction] = {}
    rate = known.get("requests_per_day")
    for figure in FIGURES:
        if figure in PERIODS and rate is None:
            continue
        value = figure_of(figure, side, requests_per_day=rate or Fraction(0))
        if value is not None:
            found[figure] = value
    return found


def domain_values(statistics: Statistics, domain: str | None = None) -> dict[str, Fraction]:
    """The figures that the gate's own sums give, of one domain or of all."""
    whole = statistics.total(domain)
    if not whole.n:
        return {}
    n_tokens, n_bytes, n_chars = whole.n_tokens[0], whole.n_bytes[0], whole.n_chars[0]
    values = {
        "n_documents": Fraction(whole.n),
        "n_bytes": Fraction(n_bytes),
        "n_chars": Fraction(n_chars),
        "n_tokens": Fraction(n_tokens),
        "tokens_per_document": Fraction(n_tokens, whole.n),
        "bytes_per_document": Fraction(n_bytes, whole.n),
    }
    if n_tokens:
        values["bytes_per_token"] = Fraction(n_bytes, n_tokens)
        values["chars_per_token"] = Fraction(n_chars, n_tokens)
    histogram = statistics.histogram(domain=domain)
    for name, share in QUANTILES.items():
        values[name] = Fraction(quantile(histogram, share))
    return values


def quantile(histogram: Counter[int], share: Fraction) -> int:
    """The nearest-rank quantile: the smallest length that ``share`` of the documents reach."""
    rank = max(1, math.ceil(share * histogram.total()))
    for length in sorted(histogram):
        rank -= histogram[length]
        if rank <= 0:
            return length
    return 0


def _numbers(value: Any) -> Iterator[tuple[str, Fraction]]:
    """Numbers of a dataclass by the names of their fields; those of parts go by their own names."""
    for item in fields(value):
        if item.name not in _NO_METRICS:
            yield from _named(item.name, getattr(value, item.name))


def _named(name: str, value: Any) -> Iterator[tuple[str, Fraction]]:
    if isinstance(value, Figure):
        value = value.value
    if isinstance(value, LengthSummary):
        yield name, Fraction(value.mean)
        for part in ("p50", "p95", "p99", "max"):
            yield f"{name}_{part}", Fraction(getattr(value, part))
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float | Decimal):
        if math.isfinite(value):
            yield name, Fraction(value)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _named(f"{name}_{key}", part)
    elif is_dataclass(value) and not isinstance(value, type) and not name.endswith("_interval"):
        # An interval belongs to the figure that it is of; it is no metric of its own.
        yield from _numbers(value)


_CONFIDENCE_95 = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""

MIN_DOCUMENTS = 2
"""Documents from which a variance is known."""


class IntervalKind(StrEnum):
    """Share of the documents that both sides have."""

    PAIRED = "paired"
    PARTLY_PAIRED = "partly paired"
    UNPAIRED = "unpaired"


@dataclass(frozen=True, slots=True)
class ChangeInterval:
    """An interval of 95% for the difference of two means.

    Attributes:
        low: Its lower end, tokens.
        high: Its upper end.
        kind: True if documents were compared with themselves.
        n_matched: Documents that are on both sides.
    """

    low: float
    high: float
    kind: IntervalKind
    n_matched: int


def change_interval(
    before: Counter[int],
    after: Counter[int],
    pairs: Sequence[tuple[int, int]],
    *,
    is_complete: bool = True,
) -> ChangeInterval | None:
    """The interval of the mean's change, normal approximation; None below two documents.

    The variance of a difference of means is that of each mean less twice their covariance, which
    the pairs tell: with all documents paired it is that of the mean of the differences, and with
    none it is Welch's.

    Args:
        before: How many documents have how many tokens, in the baseline.
        after: Today.
        pairs: Tokens of the same document, in the baseline and today.
        is_complete: True if all documents were looked at for pairs; else they are a sample.
    """
    moments = [_moments(side) for side in (before, after)]
    if any(moment is None for moment in moments):
        return None
    (n_old, old, old_variance), (n_new, new, new_variance) = (m for m in moments if m is not None)
    n_matched = len(pairs)
    if not is_complete and pairs:
        n_matched = min(n_old, n_new)
    covariance = Fraction(0)
    if len(pairs) >= MIN_DOCUMENTS:
        covariance = _covariance(pairs)
    variance = (
        old_variance / n_old + new_variance / n_new - 2 * n_matched * covariance / (n_old * n_new)
    )
    half = _CONFIDENCE_95 * math.sqrt(max(0.0, float(variance)))
    change = float(new - old)
    kind = IntervalKind.UNPAIRED
    if len(pairs) >= MIN_DOCUMENTS:
        is_whole = n_matched == n_old == n_new
        kind = IntervalKind.PAIRED if is_whole else IntervalKind.PARTLY_PAIRED
    return ChangeInterval(change - half, change + half, kind, len(pairs))


def _moments(histogram: Counter[int]) -> tuple[int, Fraction, Fraction] | None:
    """Documents, their mean and variance; None below two documents."""
    n = histogram.total()
    if n < MIN_DOCUMENTS:
        return None
    total = sum(length * count for length, count in histogram.items())
    squares = sum(length * length * count for length, count in histogram.items())
    return n, Fraction(total, n), Fraction(squares * n - total * total, n * (n - 1))


def _covariance(pairs: Sequence[tuple[int, int]]) -> Fraction:
    n = len(pairs)
    old, new = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    return Fraction(sum(a * b for a, b in pairs) * n - old * new, n * (n - 1))
