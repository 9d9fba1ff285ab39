"""The traffic of an audit against the limits of an API: from the log's times, or from a rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jeton.economics.billing.quotas import Quota, QuotaReport, quota_from_log, quota_from_rate
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.metrics import LengthCounts
from jeton.workload.inputs.requests import RequestEvidence

MIN_TIMED_SHARE = 0.95
"""Share of the requests that need a time for the log's own minutes to be the traffic's: with fewer,
the busiest minute would miss requests, and the rate is judged instead. A judgement."""


def has_limit(quota: Quota) -> bool:
    """True if anything is limited."""
    return any(
        limit is not None
        for limit in (quota.tokens_per_minute, quota.requests_per_minute, quota.requests_per_day)
    )


def quota_of(
    quota: Quota,
    requests: RequestEvidence | None,
    lengths: LengthCounts,
    *,
    requests_per_day: float | None,
    output_tokens_per_request: float,
    growth_per_month: float | None,
) -> QuotaReport:
    """How the traffic stands to the limits.

    The tokens of a request are its input and output as reported; where that is not known, the
    input as counted and the mean output.

    Args:
        quota: The limits.
        requests: Requests of the logs; None for documents.
        lengths: Input tokens of the requests, for a rate without times.
        requests_per_day: Traffic.
        output_tokens_per_request: Mean output.
        growth_per_month: Growth of the traffic, as a share.

    Raises:
        UsageError: Neither times nor a rate are known.
    """
    if requests is not None:
        tokens = _tokens(requests, output_tokens_per_request)
        usable = np.isfinite(requests.time_s) & (tokens >= 0)
        if len(usable) and usable.mean() >= MIN_TIMED_SHARE:
            report = quota_from_log(
                quota, time_s=requests.time_s, tokens=tokens, growth_per_month=growth_per_month
            )
            if requests.is_complete:
                return report
            formula = f"{report.formula}; only the first {len(tokens):,} requests of the log"
            return replace(report, basis=Basis.ESTIMATED, formula=formula)
    if requests_per_day is None:
        raise UsageError(
            "a quota was given, but neither the inputs nor the options say how many requests "
            "come in a time\nhint: say requests_per_day (--requests-per-day), or audit logs with "
            "times"
        )
    values, counts = lengths.lengths.astype(np.float64), lengths.documents.astype(np.float64)
    variance = float(np.average((values - lengths.mean) ** 2, weights=counts))
    return quota_from_rate(
        quota,
        requests_per_day=requests_per_day,
        tokens_mean=lengths.mean + output_tokens_per_request,
        tokens_variance=variance,
        growth_per_month=growth_per_month,
    )


def _tokens(requests: RequestEvidence, output_tokens_per_request: float) -> NDArray[np.int64]:
    """Tokens of each request; -1 where the input is neither reported nor counted."""
    counted = requests.counted_tokens
    if len(counted) != len(requests.input_tokens):
        counted = np.full(len(requests.input_tokens), -1, dtype=np.int64)
    sent = np.where(requests.input_tokens >= 0, requests.input_tokens, counted)
    mean = round(output_tokens_per_request)
    received = np.where(requests.output_tokens >= 0, requests.output_tokens, mean)
    return np.where(sent >= 0, sent + received, -1)
