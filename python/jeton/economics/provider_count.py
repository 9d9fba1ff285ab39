"""A workload in the tokens of the provider that bills it: count, range and money.

Counts of a public tokenizer become those of a closed model by a calibration (from usage records)
or by the factor of its stand-in; prices with steps are read at the lengths so changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from jeton.catalog import ApiPrice
from jeton.economics.calibration import Calibration, TokenEstimate
from jeton.economics.money import TOKENS_PER_MTOK, usd_per_month
from jeton.findings import Figure

__all__ = ["CountedRequests", "ProviderCount", "provider_count"]


@dataclass(frozen=True, slots=True)
class ProviderCount:
    """What the provider of a closed model counts, and what that costs.

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
        usd_per_month: The same for a month of the traffic.
        usd_per_month_low: At the lower end of the count.
        usd_per_month_high: At the upper end.
        missing: What stands in the way of a count, in one sentence; empty where there is one.
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
    """Requests as a public tokenizer counts them.

    Attributes:
        tokenizer: Its name.
        n_tokens: Input tokens of all requests.
        lengths: Distinct input tokens of a request, of this tokenizer or another: how long requests
            are against each other, for prices with steps.
        requests: Requests of each length.
        price: The price; None: no money.
        requests_per_day: Traffic; None: no money of a month.
        output_tokens_per_request: Mean, as the provider counts them.
    """

    tokenizer: str
    n_tokens: int
    lengths: Sequence[int]
    requests: Sequence[int]
    price: ApiPrice | None = None
    requests_per_day: Decimal | None = None
    output_tokens_per_request: float = 0.0

    @property
    def n_requests(self) -> int:
        """Requests in all."""
        return sum(self.requests)


def provider_count(
    workload: CountedRequests,
    estimate: TokenEstimate,
    *,
    model: str,
    calibration: Calibration | None = None,
) -> ProviderCount:
    """Return a workload in the provider's tokens.

    Formula: ``USD per request = input tokens x rate / 1e6 + output tokens x rate / 1e6 + fee``; the
    input rate is that which the lengths pay on average once each is changed as the sum is.

    Source: the estimate's and the price's own.

    Args:
        workload: Requests as a public tokenizer counts them.
        estimate: The provider's count of all of them together.
        model: Name of the model.
        calibration: What the estimate was made with, if it was calibrated.
    """
    n_requests, n_counted = workload.n_requests, workload.n_tokens
    mean = estimate.n_tokens / n_requests
    usd = _usd_per_request(workload, estimate, estimate.n_tokens, calibration)
    daily = workload.requests_per_day
    month = month_low = month_high = None
    if usd is not None and daily is not None:
        monthly = usd_per_month(daily)
        month = Figure(
            Decimal(usd.value) * monthly,
            "USD per month",
            estimate.basis,
            f"{Decimal(usd.value):,.6g} USD per request x {daily:,} requests per day x 365 / 12",
            usd.source,
        )
        low = _usd_per_request(workload, estimate, estimate.low, calibration)
        high = _usd_per_request(workload, estimate, estimate.high, calibration)
        if low is not None and high is not None:
            month_low, month_high = Decimal(low.value) * monthly, Decimal(high.value) * monthly
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
            mean,
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


def _usd_per_request(
    workload: CountedRequests,
    estimate: TokenEstimate,
    n_tokens: float,
    calibration: Calibration | None,
) -> Figure | None:
    price = workload.price
    if price is None:
        return None
    rate = price.usd_per_mtok_input
    if price.is_tiered:
        rate = _rate_at(workload, price, n_tokens, calibration)
    mean = Decimal(str(n_tokens)) / workload.n_requests
    output = Decimal(str(workload.output_tokens_per_request))
    output_rate = price.usd_per_mtok_output or Decimal(0)
    usd = (mean * rate + output * output_rate) / TOKENS_PER_MTOK + price.usd_per_request
    formula = f"({mean:,.2f} input tokens x {_plain(rate)} USD"
    if output:
        formula += f" + {_plain(output)} output tokens x {_plain(output_rate)} USD"
    formula += ") / 1,000,000"
    if price.usd_per_request:
        formula += f" + {price.usd_per_request} USD"
    return Figure(usd, "USD per request", estimate.basis, formula, price.source)


def _rate_at(
    workload: CountedRequests, price: ApiPrice, n_tokens: float, calibration: Calibration | None
) -> Decimal:
    """USD per million input tokens that the lengths pay on average, changed as their sum is."""
    slope, intercept = 1.0, 0.0
    if calibration is not None:
        slope, intercept = calibration.slope, calibration.intercept_tokens
    counted = sum(n * k for n, k in zip(workload.lengths, workload.requests, strict=True))
    expected = counted * slope + workload.n_requests * intercept
    factor = n_tokens / expected if expected else 0.0
    lengths = [round((n * slope + intercept) * factor) for n in workload.lengths]
    total = sum(n * k for n, k in zip(lengths, workload.requests, strict=True))
    if not total:
        return price.usd_per_mtok_input
    usd = price.usd_for_lengths(lengths, workload.requests)
    return (usd - price.usd_per_request * workload.n_requests) * TOKENS_PER_MTOK / total


def _plain(number: Decimal) -> str:
    """Up to six digits behind the point, no zeros at the end."""
    return f"{number:,.6f}".rstrip("0").rstrip(".")
