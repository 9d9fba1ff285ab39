"""The ledger as it is read: use and cost by model, day and dimension; changes to it; its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from jeton.dimensions import DIMENSIONS, SCALE, holds
from jeton.economics.ledger.cells import Change, Priced, PriceKey
from jeton.economics.ledger.period import Period
from jeton.economics.ledger.stated import StatedCost
from jeton.economics.ledger.uses import (
    DimensionUse,
    DomainUse,
    LedgerIssue,
    ModelUse,
    NotPriced,
    TimeUse,
)
from jeton.economics.money import DAYS_PER_YEAR, MONTHS_PER_YEAR
from jeton.errors import UnknownPriceError, UsageError
from jeton.findings import Basis

_HOURS_PER_DAY = 24
_NAME_KINDS = ("unknown_model", "no_price", "own_machine")
"""Reasons for which a name has no price."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Every request of a log, priced once by its own provider, model, tariff and time.

    ``usd`` equals the sums of ``by_model``, ``by_day``, ``by_hour``, ``by_domain`` and
    ``dimensions``, exactly.

    Attributes:
        usd: Cost of the log's requests at list prices, USD, not rounded.
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
        stated: Cost that the log itself states, beside ours for the same requests, by model.
        issues: Assumptions that had to be made.
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
    stated: tuple[StatedCost, ...] = ()
    issues: tuple[LedgerIssue, ...] = ()
    price_source: str = ""
    price_date: date | None = None
    _priced: Priced | None = field(default=None, repr=False, compare=False)

    @property
    def is_lower_bound(self) -> bool:
        """True if something that was used is not in the sum."""
        return bool(self.n_half_known or self.not_priced)

    @property
    def n_priced(self) -> int:
        """Requests that are in the sum."""
        return self.n_requests - sum(entry.n_requests for entry in self.not_priced)

    def require_prices(self) -> None:
        """Refuse names without a price, all at once.

        Raises:
            UnknownPriceError: If there are any; carries the names nearest to the first.
        """
        missing = [e for e in self.not_priced if e.kind in _NAME_KINDS]
        if not missing:
            return
        names = dict.fromkeys(entry.model for entry in missing)
        raise UnknownPriceError(
            ", ".join(names),
            nearest=next((entry.nearest for entry in missing if entry.nearest), ()),
            hint='map them: --model-map FILE, with lines such as NAME = "PROVIDER:MODEL"; '
            "`jeton catalog prices` shows the known names",
        )

    def usd_of(self, dimension: str, *, model: str | None = None) -> Decimal:
        """Return what a dimension cost, at its own rate or that of what holds it, USD.

        Args:
            dimension: Name as in `jeton.dimensions`.
            model: Only of this model, as logged or as listed.
        """
        return Decimal(0) if self._priced is None else self._priced.usd_of(dimension, model=model)

    def scaled(self, factors: Mapping[str, Number], *, model: str | None = None) -> Ledger:
        """Return the ledger with amounts multiplied; its requests and its period stay.

        Args:
            factors: By dimension; a factor acts on the dimension and its parts, unless a part has
                one of its own (``{"input_tokens": 0.7, "cache_read_tokens": 1}``).
            model: Only of this model, as logged or as listed.

        Raises:
            UsageError: If a name is no dimension or a factor is below 0.
        """
        return self._changed(scaled(factors, model))

    def moved(self, source: str, target: str, share: Number, *, model: str | None = None) -> Ledger:
        """Return the ledger with a share of one dimension's own units charged as another.

        Prompt tokens that a cache would serve move from ``input_tokens`` to
        ``cache_read_tokens``; where a price has no cached rate, they cost what they cost before.

        Raises:
            UsageError: If a name is no dimension or the share is not 0 to 1.
        """
        return self._changed(moved(source, target, share, model))

    def without(self, *, model: str | None = None, tariff: str | None = None) -> Ledger:
        """Return the ledger without the money of a model, of a tariff, or of both together."""
        return self._changed(dropped(model, tariff))

    def _changed(self, change: Change) -> Ledger:
        if self._priced is None:
            return self
        return self.viewed(replace(self._priced, changes=(*self._priced.changes, change)))

    def usd_at_tariff(self, tariff: str | None, *, model: str | None = None) -> Decimal | None:
        """Return what the requests would cost at another tariff, USD.

        Args:
            tariff: ``batch``, ``flex``, ...; None: each request's own.
            model: Only those of this model, as logged or as listed.

        Returns:
            None where the list has no such price for one of the models.
        """
        return None if self._priced is None else self._priced.usd_at_tariff(tariff, model=model)

    def viewed(self, priced: Priced) -> Ledger:
        """Return the ledger with every view made of these sums."""
        return replace(
            self,
            usd=priced.usd(),
            by_model=priced.by_model(),
            by_day=priced.by_time(_HOURS_PER_DAY),
            by_hour=priced.by_time(1),
            by_domain=priced.domains(),
            dimensions=priced.dimensions(),
            amounts=priced.amounts(),
            _priced=priced,
        )

    def by_step(self) -> tuple[ModelUse, ...]:
        """Return `by_model`, split where a price steps with the length of the prompt."""
        return self.by_model if self._priced is None else self._priced.by_model(split_steps=True)

    def by_time(self, hours: int, *, model: str | None = None) -> tuple[TimeUse, ...]:
        """Return use by spans of so many hours (UTC), in order.

        Args:
            hours: Length of a span; 24 for days.
            model: Only of this model, as logged.
        """
        return () if self._priced is None else self._priced.by_time(hours, model=model)

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
        return ledger_json(self)


__all__ = ["Change", "Number", "dropped", "moved", "scaled"]

Number = int | float | Decimal


def scaled(factors: Mapping[str, Number], model: str | None) -> Change:
    """Multiply amounts; the narrowest dimension that is named decides for each unit."""
    exact = {name: _factor(factor, name) for name, factor in factors.items()}

    def change(key: PriceKey, leaves: dict[str, Decimal]) -> dict[str, Decimal]:
        if not _concerns(key, model):
            return leaves
        return {name: n * _narrowest(exact, name) for name, n in leaves.items()}

    return change


def moved(source: str, target: str, share: Number, model: str | None) -> Change:
    """Move a share of the units of one dimension to another, where they have its rate."""
    part = _factor(share, source)
    if part > 1:
        raise UsageError(f"the share of {source} to move is {share}; expected 0 to 1")
    _factor(0, target)

    def change(key: PriceKey, leaves: dict[str, Decimal]) -> dict[str, Decimal]:
        if not _concerns(key, model) or key.rates is None or source not in leaves:
            return leaves
        # A target without a rate of its own is charged as what holds it.
        charged_as = key.rates.charged_as(target)
        if charged_as is None:
            return leaves
        n = leaves[source] * part
        changed = dict(leaves)
        changed[source] -= n
        changed[charged_as] = changed.get(charged_as, Decimal(0)) + n
        return changed

    return change


def dropped(model: str | None, tariff: str | None) -> Change:
    """Leave out the requests of a model, a tariff, or a model at a tariff."""

    def change(key: PriceKey, leaves: dict[str, Decimal]) -> dict[str, Decimal]:
        if _concerns(key, model) and tariff in (None, key.tariff):
            return {}
        return leaves

    return change


def _concerns(key: PriceKey, model: str | None) -> bool:
    return model in (None, *key.names)


def _narrowest(factors: Mapping[str, Decimal], name: str) -> Decimal:
    above = [other for other in factors if holds(other, name)]
    if not above:
        return Decimal(1)
    return factors[max(above, key=lambda other: len(DIMENSIONS[other].attributes))]


def _factor(value: Number, name: str) -> Decimal:
    if name not in DIMENSIONS:
        raise UsageError(
            f"{name!r} is no dimension\nhint: jeton.dimensions.DIMENSIONS has them all"
        )
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite() or number < 0:
        raise UsageError(f"the factor of {name} is {value}; expected a number of at least 0")
    return number


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """Return plain values; money is a decimal string, so that no cent is lost to a float."""
    first, last = ledger.period.first, ledger.period.last
    return {
        "usd": _text(ledger.usd),
        "n_requests": ledger.n_requests,
        "period": {
            "first": None if first is None else first.isoformat(),
            "last": None if last is None else last.isoformat(),
            **_plain(ledger.period),
        },
        "usd_per_request": _text(ledger.per_request()),
        "usd_per_month": _text(ledger.per_month()),
        "usd_per_year": _text(ledger.per_year()),
        "by_model": _plain(ledger.by_model),
        "by_day": [
            {"day": None if use.day is None else use.day.isoformat(), **_plain(use)}
            for use in ledger.by_day
        ],
        "by_domain": _plain(ledger.by_domain),
        "dimensions": _plain(ledger.dimensions),
        "amounts": _plain(ledger.amounts),
        "joined": dict(ledger.joined),
        "not_priced": _plain(ledger.not_priced),
        "n_half_known": ledger.n_half_known,
        "n_from_gateway_cache": ledger.n_from_gateway_cache,
        "stated": [
            {
                **_plain(entry),
                "difference_usd": _text(entry.difference_usd),
                "gateway_usd": _text(entry.gateway_usd),
                "differs": entry.differs,
            }
            for entry in ledger.stated
        ],
        "issues": _plain(ledger.issues),
        "price_source": ledger.price_source,
        "price_date": None if ledger.price_date is None else ledger.price_date.isoformat(),
    }


_NUMBERS = ("amount", "n_days", "requests_per_day")
"""Fields whose decimals are numbers in JSON; those of money are texts."""

_LEFT_OUT = ("above_input_tokens", "start", "first_s", "last_s", "gateway_usd")
"""Fields that are not written, or are written in another form."""


def _plain(value: Any, name: str = "") -> Any:
    """Return a value as JSON has it: rows by field, units of use by their scale."""
    if isinstance(value, Decimal):
        return _number(value) if name in _NUMBERS else _text(value)
    if isinstance(value, Basis):
        return str(value)
    if isinstance(value, Mapping):
        return {key: n if SCALE[key] == 1 else n / SCALE[key] for key, n in value.items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    if not is_dataclass(value):
        return value
    names = (field.name for field in fields(value) if field.name not in _LEFT_OUT)
    return {name: _plain(getattr(value, name), name) for name in names}


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)
