"""The ledger as it is read: what requests used and what that cost, by model, day and dimension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from jeton.economics.ledger.period import Period
from jeton.economics.money import DAYS_PER_YEAR, MONTHS_PER_YEAR
from jeton.findings import Basis

if TYPE_CHECKING:
    from jeton.economics.ledger.cells import Priced

__all__ = [
    "DimensionUse",
    "DomainUse",
    "Ledger",
    "LedgerIssue",
    "ModelUse",
    "NotPriced",
    "TimeUse",
]


@dataclass(frozen=True, slots=True)
class DimensionUse:
    """One dimension of use and its money; every unit stands in one row only.

    Attributes:
        name: Name as in `jeton.dimensions`.
        amount: Units charged at this dimension's own rate, its dearer or cheaper parts left out.
        unit: Unit in plain words.
        usd: What they cost, USD.
        usd_per_unit: Mean rate, USD; None where the amount is 0.
        basis: Estimated where a rate or a part had to be assumed.
    """

    name: str
    amount: Decimal
    unit: str
    usd: Decimal
    usd_per_unit: Decimal | None
    basis: Basis = Basis.EXACT


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Requests of one model at one provider and tariff.

    Attributes:
        provider: Provider whose price was taken; empty where nothing was priced.
        model: The model's name in the price list.
        logged_as: Its name in the log.
        tariff: ``standard``, ``batch``, ...; ``from-gateway-cache`` for answers that cost nothing.
        n_requests: Requests.
        amounts: Units by dimension, parts counted in what holds them (seconds in milliseconds).
        usd: What they cost, USD.
        dimensions: The money by dimension.
        basis: Estimated where anything had to be assumed.
    """

    provider: str
    model: str
    logged_as: str
    tariff: str
    n_requests: int
    amounts: Mapping[str, int]
    usd: Decimal
    dimensions: tuple[DimensionUse, ...] = ()
    basis: Basis = Basis.EXACT


@dataclass(frozen=True, slots=True)
class TimeUse:
    """Requests of one day or hour; ``start`` is None for those whose time is not known."""

    start: datetime | None
    n_requests: int
    input_tokens: int
    output_tokens: int
    usd: Decimal

    @property
    def day(self) -> date | None:
        """Day of use, UTC."""
        return None if self.start is None else self.start.astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class DomainUse:
    """Requests of one domain; the name is empty for those in none."""

    domain: str
    n_requests: int
    input_tokens: int
    output_tokens: int
    usd: Decimal


@dataclass(frozen=True, slots=True)
class NotPriced:
    """Requests that are left out of the money, and why.

    Attributes:
        model: The model's name in the log; empty if none is stated.
        provider: Provider as the log names it; empty if unknown.
        kind: ``unknown_model``, ``no_model``, ``no_price``, ``own_machine``, ``no_counts`` or
            ``counts_contradict``.
        why: The reason in words.
        nearest: Names of the list that resemble it.
        n_requests: Requests.
        n_tokens: Their input and output tokens, as far as known.
        share_of_tokens: Their part of all tokens of the log, 0 to 1.
    """

    model: str
    provider: str
    kind: str
    why: str
    nearest: tuple[str, ...]
    n_requests: int
    n_tokens: int
    share_of_tokens: float


@dataclass(frozen=True, slots=True)
class LedgerIssue:
    """Something that had to be assumed, with the number of requests that it touches."""

    kind: str
    n: int
    text: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every request of a log, priced once by its own provider, model, tariff and time.

    ``usd`` equals the sums of ``by_model``, ``by_day``, ``by_hour``, ``by_domain`` and
    ``dimensions``, exactly.

    Attributes:
        usd: What the log's requests cost at list prices, USD, not rounded.
        n_requests: All requests after joining, those not priced included.
        period: Time that they cover.
        by_model: Use by provider, model, name in the log and tariff, dearest first.
        by_day: Use by day (UTC), in order.
        by_hour: Use by hour (UTC), in order.
        by_domain: Use by domain, dearest first.
        dimensions: Use by dimension, dearest first.
        amounts: Units by dimension, parts counted in what holds them (seconds in milliseconds).
        joined: Records that were no requests of their own, by kind.
        not_priced: Requests without a price, by name, most tokens first.
        n_half_known: Requests of which one count is unknown; the known one is in ``usd``.
        n_from_gateway_cache: Requests that a gateway answered itself, at no cost.
        issues: What had to be assumed.
        price_source: Where the prices come from, with their date.
        price_date: How new the prices are.
    """

    usd: Decimal = Decimal(0)
    n_requests: int = 0
    period: Period = field(default_factory=Period)
    by_model: tuple[ModelUse, ...] = ()
    by_day: tuple[TimeUse, ...] = ()
    by_hour: tuple[TimeUse, ...] = ()
    by_domain: tuple[DomainUse, ...] = ()
    dimensions: tuple[DimensionUse, ...] = ()
    amounts: Mapping[str, int] = field(default_factory=dict)
    joined: Mapping[str, int] = field(default_factory=dict)
    not_priced: tuple[NotPriced, ...] = ()
    n_half_known: int = 0
    n_from_gateway_cache: int = 0
    issues: tuple[LedgerIssue, ...] = ()
    price_source: str = ""
    price_date: date | None = None
    _priced: Priced | None = field(default=None, repr=False, compare=False)

    @property
    def is_lower_bound(self) -> bool:
        """Whether something that was used is not in the sum."""
        return bool(self.n_half_known or self.not_priced)

    @property
    def n_priced(self) -> int:
        """Requests that are in the sum."""
        return self.n_requests - sum(entry.n_requests for entry in self.not_priced)

    def usd_of(self, dimension: str, *, model: str | None = None) -> Decimal:
        """Return what a dimension cost, at its own rate or that of what holds it, USD.

        Args:
            dimension: Name as in `jeton.dimensions`.
            model: Only of this model, as logged or as listed.
        """
        return Decimal(0) if self._priced is None else self._priced.usd_of(dimension, model=model)

    def per_request(self) -> Decimal | None:
        """Return the mean USD of a request; None without requests."""
        return self.usd / self.n_requests if self.n_requests else None

    def per_day(self) -> Decimal | None:
        """Return USD a day: ``usd x requests a day / requests``; None if time is not known."""
        rate = self.period.requests_per_day
        if rate is None or not self.n_requests:
            return None
        return self.usd * rate / self.n_requests

    def per_month(self) -> Decimal | None:
        """Return USD a month of 365/12 days; None if time is not known."""
        day = self.per_day()
        return None if day is None else day * DAYS_PER_YEAR / MONTHS_PER_YEAR

    def per_year(self) -> Decimal | None:
        """Return USD a year of 365 days; None if time is not known."""
        day = self.per_day()
        return None if day is None else day * DAYS_PER_YEAR

    def to_json(self) -> dict[str, Any]:
        """Return the object ``ledger`` of a report."""
        from jeton.economics.ledger.as_json import ledger_json

        return ledger_json(self)
