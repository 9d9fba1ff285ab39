"""Sums by price and hour, and by price and domain: what every view of a ledger is made of.

Amounts are added up as whole numbers and multiplied once by the rate of their price; both tables
have the same amounts, so that every way of adding up gives the same money.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Context, Decimal, localcontext
from enum import IntFlag
from typing import Any

import numpy as np

from jeton.dimensions import DIMENSIONS, SCALE, holds
from jeton.economics.ledger.prices import NoPrice, PriceBook
from jeton.economics.ledger.rates import Rates
from jeton.economics.ledger.uses import DimensionUse, DomainUse, ModelUse, TimeUse
from jeton.findings import Basis

FREE_TARIFF = "from-gateway-cache"
"""Tariff of answers that a gateway's own cache gave."""

_DIGITS = 60
"""Digits of sums: more than any sum of amounts and rates has, so that nothing is rounded."""

_SHORT = Context(prec=28)


class Assumed(IntFlag):
    """Assumptions that a price of some requests rests on."""

    NOTHING = 0
    TARIFF = 1
    """The list has no price for the tariff: the standard one was taken."""
    MAKER = 2
    """The provider's list lacks the model: its maker's price was taken."""
    TIME = 4
    """The price differs by the hour, which is not known: that of 12:00 UTC was taken."""
    STEP = 8
    """The price steps with the prompt's length: the mean of several requests was taken."""
    OVERLAP = 16
    """Cached input of one kind is not stated: the least that the counts allow was taken."""
    INPUT = 32
    """The input is not known: only the output is priced, and the stated parts of the input."""
    OUTPUT = 64
    """The output is not known: only the input is priced."""
    USAGE = 128
    """A field of the usage was not read, or counts contradict each other."""
    TARIFF_DATE = 256
    """The list has the tariff's price only from a later day: that one was taken."""


@dataclass(frozen=True, slots=True)
class PriceKey:
    """Key that requests with equal rates share.

    Attributes:
        provider: Provider whose price was taken.
        model: The model's name in the list.
        logged_as: Its name in the log.
        tariff: Tariff as logged.
        assumed: Assumptions that had to be made.
        rates: The rates that hold; None for answers that cost nothing.
        logged_provider: Provider as logged.
        payer: Account that pays the stated cost: ``log``, or ``own key`` where a gateway calls
            with a key of one's own; empty: the log states none.
    """

    provider: str
    model: str
    logged_as: str
    tariff: str
    assumed: Assumed
    rates: Rates | None
    logged_provider: str = ""
    payer: str = ""

    @property
    def order(self) -> tuple[Any, ...]:
        """Place among other prices, whatever the order in which they were met."""
        rates = () if self.rates is None else tuple(sorted(self.rates.usd_per_unit.items()))
        return (
            self.provider,
            self.model,
            self.logged_as,
            self.tariff,
            self.logged_provider,
            int(self.assumed),
            rates,
            self.payer,
        )

    @property
    def names(self) -> tuple[str, str, str]:
        """Names that mean this model: as logged, as listed, and with its provider."""
        return self.logged_as, self.model, f"{self.provider}:{self.model}"

    @property
    def basis(self) -> Basis:
        """Exact, or estimated where anything was assumed."""
        return Basis.ESTIMATED if self.assumed else Basis.EXACT


@dataclass(slots=True)
class LedgerCell:
    """Amounts of requests of one price; parts are counted in what holds them."""

    n_requests: int = 0
    amounts: dict[str, int] = field(default_factory=dict)

    def add(self, n_requests: int, amounts: Mapping[str, int]) -> None:
        """Add amounts; below 0 takes them out again."""
        self.n_requests += n_requests
        for name, n in amounts.items():
            self.amounts[name] = self.amounts.get(name, 0) + n

    @property
    def is_empty(self) -> bool:
        """True if nothing is left in it."""
        return not self.n_requests and not any(self.amounts.values())


Change = Callable[[PriceKey, dict[str, Decimal]], dict[str, Decimal]]


@dataclass(frozen=True)
class PricedSum:
    """Units of requests with one price.

    Attributes:
        key: The price.
        n_requests: Requests.
        amounts: Units as logged, parts counted in what holds them.
        leaves: Units, each under the dimension that it is charged as.
    """

    key: PriceKey
    n_requests: int
    amounts: Mapping[str, int]
    leaves: Mapping[str, Decimal]

    def usd(self) -> Decimal:
        """Return what they cost, USD."""
        if self.key.rates is None:
            return Decimal(0)
        rates = self.key.rates.usd_per_unit
        return sum((n * rates[name] for name, n in self.leaves.items()), Decimal(0))


@dataclass(frozen=True)
class Priced:
    """The two tables of a ledger, and changes that were made to them since.

    Attributes:
        keys: The prices.
        by_hour: Cells by (place in ``keys``, hour since 1970-01-01 UTC; None if not known).
        by_domain: Cells by (place in ``keys``, domain).
        changes: Changes of the amounts by remedies, in order.
        book: Where other prices of the same models are found.
        noon_s: Moment of requests whose time is not known.
    """

    keys: tuple[PriceKey, ...]
    by_hour: Mapping[tuple[int, int | None], LedgerCell]
    by_domain: Mapping[tuple[int, str], LedgerCell]
    changes: tuple[Change, ...] = ()
    book: PriceBook | None = None
    noon_s: float = 0.0

    def _sum(self, place: int, cells: Iterable[LedgerCell]) -> PricedSum:
        key = self.keys[place]
        total = LedgerCell()
        for cell in cells:
            total.add(cell.n_requests, cell.amounts)
        whole = {} if key.rates is None else key.rates.leaves(total.amounts)
        leaves = {name: Decimal(n) for name, n in whole.items()}
        for change in self.changes:
            leaves = change(key, leaves)
        return PricedSum(key, total.n_requests, total.amounts, leaves)

    def sums(self) -> list[PricedSum]:
        """Sums by price."""
        cells: dict[int, list[LedgerCell]] = {}
        for (place, _), cell in self.by_hour.items():
            cells.setdefault(place, []).append(cell)
        order = sorted(cells, key=lambda place: self.keys[place].order)
        return [self._sum(place, cells[place]) for place in order]

    def usd(self) -> Decimal:
        """All money."""
        with localcontext(prec=_DIGITS):
            return _plain(sum((s.usd() for s in self.sums()), Decimal(0)))

    def by_model(self, *, split_steps: bool = False) -> tuple[ModelUse, ...]:
        """Sums by provider, model, logged name and tariff, dearest first.

        Args:
            split_steps: True: also by the length of prompt above which the rates hold.
        """
        groups: dict[tuple[str, str, str, str, int], list[PricedSum]] = {}
        for entry in self.sums():
            key = entry.key
            above = key.rates.above_input_tokens if split_steps and key.rates else 0
            where = (key.provider, key.model, key.logged_as, key.tariff, above)
            groups.setdefault(where, []).append(entry)
        found = []
        with localcontext(prec=_DIGITS):
            for (provider, model, logged_as, tariff, above), entries in groups.items():
                amounts = LedgerCell()
                for entry in entries:
                    amounts.add(0, entry.amounts)
                estimated = any(e.key.basis is Basis.ESTIMATED for e in entries)
                found.append(
                    ModelUse(
                        provider,
                        model,
                        logged_as,
                        tariff,
                        n_requests=sum(e.n_requests for e in entries),
                        amounts=_in_order(amounts.amounts),
                        usd=_plain(sum((e.usd() for e in entries), Decimal(0))),
                        dimensions=_dimensions(entries),
                        basis=Basis.ESTIMATED if estimated else Basis.EXACT,
                        above_input_tokens=above,
                    )
                )
        found.sort(key=lambda m: (-m.usd, -m.n_requests, m.provider, m.logged_as, m.tariff))
        return tuple(found)

    def dimensions(self) -> tuple[DimensionUse, ...]:
        """Sums by dimension, dearest first."""
        with localcontext(prec=_DIGITS):
            return _dimensions(self.sums())

    def amounts(self) -> dict[str, int]:
        """Units by dimension as logged, parts counted in what holds them."""
        total = LedgerCell()
        for cell in self.by_hour.values():
            total.add(0, cell.amounts)
        return _in_order(total.amounts)

    def by_time(self, hours: int, *, model: str | None = None) -> tuple[TimeUse, ...]:
        """Sums by spans of so many hours, in order; those without a time last."""
        groups: dict[int | None, dict[int, list[LedgerCell]]] = {}
        for (place, hour), cell in self.by_hour.items():
            if model not in (None, self.keys[place].logged_as):
                continue
            span = None if hour is None else hour // hours
            groups.setdefault(span, {}).setdefault(place, []).append(cell)
        found = []
        for span in sorted(groups, key=lambda s: (s is None, s or 0)):
            n, read, written, usd = self._total(groups[span])
            start = None
            if span is not None:
                start = datetime.fromtimestamp(span * hours * 3600, tz=UTC)
            found.append(TimeUse(start, n, read, written, usd))
        return tuple(found)

    def domains(self) -> tuple[DomainUse, ...]:
        """Sums by domain, dearest first."""
        groups: dict[str, dict[int, list[LedgerCell]]] = {}
        for (place, domain), cell in self.by_domain.items():
            groups.setdefault(domain, {}).setdefault(place, []).append(cell)
        found = [DomainUse(domain, *self._total(cells)) for domain, cells in groups.items()]
        found.sort(key=lambda d: (-d.usd, -d.n_requests, d.domain))
        return tuple(found)

    def _total(self, cells: Mapping[int, list[LedgerCell]]) -> tuple[int, int, int, Decimal]:
        with localcontext(prec=_DIGITS):
            sums = [self._sum(place, own) for place, own in cells.items()]
            return (
                sum(s.n_requests for s in sums),
                sum(s.amounts.get("input_tokens", 0) for s in sums),
                sum(s.amounts.get("output_tokens", 0) for s in sums),
                _plain(sum((s.usd() for s in sums), Decimal(0))),
            )

    def usd_of(self, dimension: str, *, model: str | None = None) -> Decimal:
        """Return the money of a dimension with its parts, or at the rate of what holds it."""
        total = Decimal(0)
        with localcontext(prec=_DIGITS):
            for entry in self.sums():
                key = entry.key
                if key.rates is None or model not in (None, *key.names):
                    continue
                rates = key.rates.usd_per_unit
                if dimension in rates:
                    parts = (n for n in entry.leaves if holds(dimension, n))
                    total += sum((entry.leaves[n] * rates[n] for n in parts), Decimal(0))
                elif (above := key.rates.charged_as(dimension)) is not None:
                    total += entry.amounts.get(dimension, 0) * rates[above]
            return _plain(total)

    def usd_by_price_and_hour(self) -> list[tuple[int, int | None, Decimal]]:
        """Return (place in ``keys``, hour, USD) of every cell."""
        with localcontext(prec=_DIGITS):
            return [
                (place, hour, self._sum(place, [cell]).usd())
                for (place, hour), cell in self.by_hour.items()
            ]

    def usd_at_tariff(
        self, tariff: str | None, *, model: str | None = None, last_step: bool = False
    ) -> Decimal | None:
        """Return the money at another tariff; None where a model's list has no such price.

        Args:
            tariff: The tariff; None: each request's own.
            model: Only this model, as logged, as listed, or ``PROVIDER:MODEL``.
            last_step: True if all prompts are charged as the longest ones are.
        """
        if self.book is None:
            return None
        total = Decimal(0)
        with localcontext(prec=_DIGITS):
            for (place, hour), cell in self.by_hour.items():
                key = self.keys[place]
                if key.rates is None or model not in (None, *key.names):
                    continue
                asked = key.tariff if tariff is None else tariff
                price = self.book.find(key.logged_as, key.logged_provider, asked)
                if isinstance(price, NoPrice):
                    return None
                second = self.noon_s if hour is None else (hour + 0.5) * 3600
                period = int(price.periods(np.array([second]))[0])
                if tariff is not None and price.lacks_tariff(period):
                    return None
                prompt = -(-cell.amounts.get("input_tokens", 0) // max(cell.n_requests, 1))
                steps = np.array(price.steps(period))
                step = len(steps) if last_step else int(np.searchsorted(steps, prompt))
                rates = price.rates(period, step)
                leaves = {n: Decimal(v) for n, v in rates.leaves(cell.amounts).items()}
                for change in self.changes:
                    leaves = change(key, leaves)
                units = rates.usd_per_unit
                total += sum((n * units[name] for name, n in leaves.items()), Decimal(0))
            return _plain(total)


def _dimensions(entries: Iterable[PricedSum]) -> tuple[DimensionUse, ...]:
    units: dict[str, Decimal] = {}
    usd: dict[str, Decimal] = {}
    estimated: set[str] = set()
    for entry in entries:
        if entry.key.rates is None:
            continue
        for name, n in entry.leaves.items():
            units[name] = units.get(name, Decimal(0)) + n
            cost = n * entry.key.rates.usd_per_unit[name]
            usd[name] = usd.get(name, Decimal(0)) + cost
            if entry.key.basis is Basis.ESTIMATED:
                estimated.add(name)
    found = []
    for name, n in units.items():
        amount = _plain(n / SCALE[name])
        found.append(
            DimensionUse(
                name=name,
                amount=amount,
                unit=DIMENSIONS[name].unit,
                usd=_plain(usd[name]),
                usd_per_unit=_SHORT.divide(usd[name], amount) if amount else None,
                basis=Basis.ESTIMATED if name in estimated else Basis.EXACT,
            )
        )
    order = {name: place for place, name in enumerate(DIMENSIONS)}
    found.sort(key=lambda d: (-d.usd, order[d.name]))
    return tuple(found)


def _in_order(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amounts[name] for name in DIMENSIONS if amounts.get(name)}


def _plain(value: Decimal) -> Decimal:
    """Return a number without trailing zeros and without an exponent above 0."""
    short = value.normalize()
    exponent = short.as_tuple().exponent
    return short.quantize(Decimal(1)) if isinstance(exponent, int) and exponent > 0 else short
