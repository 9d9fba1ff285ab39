"""Does the traffic fit into the limits of the API?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.economics.billing.quotas import QuotaReport
from jeton.findings import Figure, Finding, Severity

MONTHS_AHEAD = 3
"""Months before which a quota that growth uses up is said. Our choice: a higher limit has to be
applied for, and a pipeline needs weeks to change."""

_WORDS = {
    "tokens_per_minute": "tokens per minute",
    "requests_per_minute": "requests per minute",
    "requests_per_day": "requests per day",
}


def quota_exceeded(evidence: Evidence) -> Iterator[Finding]:
    """The busiest minute or day is above a limit of the API, or soon will be.

    Threshold: the peak above the limit; with a growth, above it within `MONTHS_AHEAD`.
    """
    report = evidence.quota
    if report is None or report.binding is None:
        return
    months = report.months_until_exhausted
    is_over = report.used_share > 1
    if not is_over and (months is None or months > MONTHS_AHEAD):
        return
    words, limit, peak = _limit(report)
    reached = f"Your peak of {peak:,.0f} {words} is {percent(report.used_share)} of the {limit:,}"
    refused = ""
    if report.n_refused:
        refused = f"; {report.n_refused:,} requests of the log would be refused"
    title = (
        f"{reached} that are allowed{refused}"
        if is_over
        else f"{reached} that are allowed; growth reaches the limit in {months:.1f} months"
    )
    # Fewer tokens a request help against a limit on tokens alone.
    factor = report.tokens_factor_that_fits
    fewer = ""
    if factor < 1:
        fewer = f", or send {percent(1 - factor)} fewer tokens per request (see the other findings)"
    yield Finding(
        id="quota-exceeded",
        severity=Severity.WARNING if is_over else Severity.INFO,
        title=title,
        where=words,
        figure=Figure(
            value=report.used_share,
            unit="share of the limit",
            basis=report.basis,
            formula=f"{peak:,.0f} {words} / {limit:,}; {report.formula}",
        ),
        cause=(
            "Requests come in bursts, and the limit holds for every minute, not for the average."
            if report.binding != "requests_per_day"
            else "More requests come in a day than the account may send."
        ),
        remedy=(
            "Delay what can wait (a queue, or a batch tariff with its own limits), or ask for a "
            f"higher limit{fewer}."
        ),
        evidence={
            "limit": words,
            "peak": round(peak, 1),
            "allowed": limit,
            "used_share": report.used_share,
            "n_refused": report.n_refused if report.n_refused is not None else "not known",
            "months_until_exhausted": months if months is not None else "not known",
        },
    )


def _limit(report: QuotaReport) -> tuple[str, int, float]:
    """The binding limit in words, its value, and the peak against it."""
    binding = report.binding or "tokens_per_minute"
    limit: int = getattr(report.quota, binding)
    peak: float = getattr(report, f"peak_{binding}")
    return _WORDS[binding], limit, peak
