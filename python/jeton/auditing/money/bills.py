"""A real bill against what the logs say was used, and the quotas of the API."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton.corpus import RequestsSummary
from jeton.corpus.bills.files import read_bill
from jeton.corpus.bills.rows import Bill, BillItem, read_amount
from jeton.economics.billing.bill import BillReport, reconcile
from jeton.economics.billing.quotas import Quota, QuotaReport, quota_from_log, quota_from_rate
from jeton.economics.ledger import Ledger
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.metrics import LengthCounts
from jeton.workload.inputs.requests import RequestEvidence

BillSource = str | os.PathLike[str] | Decimal | int | float
"""A file of a bill, or its total in USD."""


def load_bill(source: BillSource) -> Bill:
    """Read a bill, or take its total; before anything else is read.

    Raises:
        UsageError: A total is not an amount.
        RecordError: The file is no bill.
        OSError: It cannot be read.
    """
    if isinstance(source, os.PathLike):
        return read_bill(Path(source))
    text = str(source).strip()
    amount = None if Path(text).is_file() else read_amount(text)
    if amount is None:
        return read_bill(Path(text))
    return Bill((BillItem(usd=amount),), source="total given")


def reconciled(bill: Bill, ledger: Ledger | None, summary: RequestsSummary | None) -> BillReport:
    """The bill, explained by the report's ledger.

    Raises:
        UsageError: No request of the logs has a usage that can be priced.
        UnknownPriceError: None has a model with a price.
    """
    if ledger is None or not ledger.n_priced or (summary is not None and not summary.n_with_usage):
        if ledger is not None:
            ledger.require_prices()
        raise UsageError(
            "a bill was given, but no request of the logs says what the provider counted\n"
            "hint: log the usage that responses carry, with the model's name"
        )
    issues = () if summary is None else summary.issues
    return reconcile(ledger, bill=bill, log_issues={issue.kind: issue.n for issue in issues})


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
    """Traffic beside its limits.

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
