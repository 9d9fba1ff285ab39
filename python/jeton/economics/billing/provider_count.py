"""A workload in the tokens of the provider that bills it: count, range and money.

Counts of a public tokenizer become those of a closed model by a calibration (from usage records)
or by the factor of its stand-in. Money is the ledger's.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from jeton.economics.billing.calibration import Calibration, TokenEstimate
from jeton.economics.ledger.result import Ledger
from jeton.findings import Basis, Figure


@dataclass(frozen=True, slots=True)
class ProviderCount:
    """Token count of a closed model's provider, and its cost.

    Attributes:
        model: The model, or whose requests they are.
        tokenizer: The public tokenizer that was counted with.
        n_requests: Requests of the workload.
        n_counted_tokens: Input tokens that the public tokenizer counts.
        n_tokens: Input tokens that the provider counts; null: cannot be said, see ``missing``.
        n_tokens_low: Lower end of its range.
        n_tokens_high: Upper end.
        confidence: Share of cases that the range covers; null: the range is a judgement.
        tokens_per_request: Mean input tokens that the provider counts.
        request_error_share: How far the provider's count of a single request is from the
            prediction at most, as a share of it, in ``confidence`` of the requests; null: not
            calibrated.
        n_calibration_requests: Requests whose usage was learnt from; 0: not calibrated.
        usd_per_request: Price of a request with the provider's count.
        usd_per_month: Cost for a month of the traffic.
        usd_per_month_low: At the lower end of the count.
        usd_per_month_high: At the upper end.
        missing: The obstacle to a count, in one sentence; empty where there is one.
    """

    model: str
    tokenizer: str
    n_requests: int
    n_counted_tokens: int
    n_tokens: Figure | None = None
    n_tokens_low: float | None = None
    n_tokens_high: float | None = None
    confidence: float | None = None
    tokens_per_request: Figure | None = None
    request_error_share: float | None = None
    n_calibration_requests: int = 0
    usd_per_request: Figure | None = None
    usd_per_month: Figure | None = None
    usd_per_month_low: Decimal | None = None
    usd_per_month_high: Decimal | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class CountedRequests:
    """Requests as a public tokenizer counts them, and the ledger that their money stands in.

    Attributes:
        tokenizer: Its name.
        n_tokens: Input tokens of all requests.
        n_requests: Requests in all.
        ledger: Their cost; None: no money.
        prompt_usd: Cost of their prompts in the ledger.
        is_logged: True if the ledger rests on the provider's own counts, so that nothing of its
            money is as uncertain as the estimate.
    """

    tokenizer: str
    n_tokens: int
    n_requests: int
    ledger: Ledger | None = None
    prompt_usd: Decimal | None = None
    is_logged: bool = False


def provider_count(
    workload: CountedRequests,
    estimate: TokenEstimate,
    *,
    model: str,
    calibration: Calibration | None = None,
) -> ProviderCount:
    """Return a workload in the provider's tokens, with the ledger's money.

    Formula: the range of the money is that of the tokens, on the part that prompts make.

    Source: the estimate's and the ledger's own.

    Args:
        workload: Requests as a public tokenizer counts them.
        estimate: The provider's count of all of them together.
        model: Name of the model.
        calibration: The calibration of the estimate, if it was calibrated.
    """
    n_requests, n_counted = workload.n_requests, workload.n_tokens
    ledger = workload.ledger
    each = None if ledger is None else ledger.per_request()
    monthly = None if ledger is None else ledger.per_month()
    basis = Basis.EXACT if workload.is_logged else estimate.basis
    usd = month = month_low = month_high = None
    if ledger is not None and each is not None:
        source = ledger.price_source
        said = f"{ledger.usd:,.6g} USD of the ledger / {ledger.n_requests:,} requests"
        usd = Figure(each, "USD per request", basis, said, source)
        if monthly is not None:
            said = (
                f"{each:,.6g} USD per request x {ledger.period.requests_per_day:,.6g} requests per "
                "day x 365 / 12"
            )
            month = Figure(monthly, "USD per month", basis, said, source)
            if not workload.is_logged and ledger.usd and workload.prompt_usd is not None:
                share = workload.prompt_usd / ledger.usd
                month_low, month_high = (
                    monthly * (1 + share * (Decimal(str(end / estimate.n_tokens)) - 1))
                    for end in (estimate.low, estimate.high)
                )
    return ProviderCount(
        model=model,
        tokenizer=workload.tokenizer,
        n_requests=n_requests,
        n_counted_tokens=n_counted,
        n_tokens=estimate.figure,
        n_tokens_low=estimate.low,
        n_tokens_high=estimate.high,
        confidence=estimate.confidence,
        tokens_per_request=Figure(
            estimate.n_tokens / n_requests,
            "tokens per request",
            estimate.basis,
            f"{estimate.n_tokens:,.0f} tokens / {n_requests:,} requests",
            estimate.source,
        ),
        request_error_share=None if calibration is None else calibration.relative_error,
        n_calibration_requests=0 if calibration is None else calibration.n_requests,
        usd_per_request=usd,
        usd_per_month=month,
        usd_per_month_low=month_low,
        usd_per_month_high=month_high,
    )
