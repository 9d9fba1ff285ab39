"""Money: what an API or a GPU costs per request, day, month and year. Always `Decimal`, in USD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from jeton.catalog.api_price import ApiPrice
from jeton.errors import UsageError

DAYS_PER_YEAR = Decimal(365)
"""A year is 365 days; leap days would add 0.07%."""

MONTHS_PER_YEAR = Decimal(12)
"""A month is a twelfth of a year: 365/12 = 30.4 days, so that twelve months make a year."""

SECONDS_PER_HOUR = Decimal(3600)
TOKENS_PER_MTOK = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class ApiCost:
    """Cost of requests at an API, USD.

    Attributes:
        usd_per_request: Mean over the requests.
        usd_per_day: For the given traffic; None without traffic.
    """

    usd_per_request: Decimal
    usd_per_day: Decimal | None

    @property
    def usd_per_month(self) -> Decimal | None:
        """Per month of 365/12 days."""
        return None if self.usd_per_day is None else usd_per_month(self.usd_per_day)

    @property
    def usd_per_year(self) -> Decimal | None:
        """Per year of 365 days."""
        return None if self.usd_per_day is None else usd_per_year(self.usd_per_day)


def api_cost(
    price: ApiPrice,
    *,
    input_tokens: Sequence[int],
    requests: Sequence[int],
    output_tokens_per_request: int | float | Decimal = 0,
    requests_per_day: int | float | Decimal | None = None,
) -> ApiCost:
    """Return what a workload costs, from the histogram of its prompt lengths.

    Formula: ``sum over lengths of requests x price(length) / requests``, times requests per day.
    The sum is over the lengths and not over their mean because prices step with the length.

    Source: the price's own (`ApiPrice.source`).

    Args:
        price: The price.
        input_tokens: Distinct prompt lengths of the sample.
        requests: Requests of each length in the sample.
        output_tokens_per_request: Output tokens, reasoning included.
        requests_per_day: Traffic whose lengths are distributed as in the sample.

    Raises:
        UsageError: If the sample is empty or a number is negative.
        UnknownPriceError: If there is output and its price is not known.
    """
    n_requests = sum(requests)
    if n_requests <= 0:
        raise UsageError("cannot price a sample of no requests; expected at least one")
    total = price.usd_for_lengths(input_tokens, requests, output_tokens_per_request)
    per_day = None
    if requests_per_day is not None:
        traffic = Decimal(str(requests_per_day))
        if not traffic.is_finite() or traffic < 0:
            raise UsageError(f"requests_per_day is {requests_per_day}; expected at least 0")
        # Multiplied first: the division is then the only rounding (28 digits).
        per_day = total * traffic / n_requests
    return ApiCost(usd_per_request=total / n_requests, usd_per_day=per_day)


def usd_per_month(usd_per_day: Decimal) -> Decimal:
    """Return USD per month: ``day x 365 / 12``."""
    return usd_per_day * DAYS_PER_YEAR / MONTHS_PER_YEAR


def usd_per_year(usd_per_day: Decimal) -> Decimal:
    """Return USD per year: ``day x 365``."""
    return usd_per_day * DAYS_PER_YEAR
