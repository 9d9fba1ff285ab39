"""The figures that budgets may be set on, by name.

Every number that the report has for the tokenizer in use is one, by the name that it has there:
``tokens_per_document``, ``bytes_per_token``, ``usd_per_month``, ``kv_bytes_per_request_mean``, and
so on. The figures that a gate decomposes by cause, and those of single domains, come from the
gate's own sums. Values are rational numbers, so that a limit is neither passed nor missed by a
rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
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
