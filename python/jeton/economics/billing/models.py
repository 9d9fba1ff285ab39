"""The records' side of a bill: models with their money by day and by kind of charge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext

from jeton._nearest import fold
from jeton.corpus.bills.rows import BillItem, What
from jeton.dimensions import DIMENSIONS
from jeton.economics.ledger import Ledger, NotPriced
from jeton.economics.ledger.cells import FREE_TARIFF, Assumed, Priced, PricedSum
from jeton.economics.ledger.prices import NoPrice

SEARCHES = "searches"
"""Name under which searches stand that a bill charges in rows of their own."""


@dataclass(slots=True)
class UsedModel:
    """One model of the records.

    Attributes:
        name: Its name in the log, the one with most requests.
        listed: ``PROVIDER:MODEL`` of the price that was taken.
        usd: Cost of its requests at list prices.
        usd_by_day: Cost by day (UTC; None where not known).
        sums: Amounts and rates.
        free: Amounts of answers that a gateway gave from its own cache.
        n_requests: Requests in the sum.
        n_half_known: Number of them with one count that is not known.
    """

    name: str
    listed: str
    usd: Decimal = Decimal(0)
    usd_by_day: dict[date | None, Decimal] = field(default_factory=dict)
    sums: list[PricedSum] = field(default_factory=list)
    free: list[PricedSum] = field(default_factory=list)
    n_requests: int = 0
    n_half_known: int = 0


class Records:
    """Use as a log states it, by model.

    Args:
        ledger: The log, priced.
        searches_apart: True if searches stand in rows of their own and not with their model.
    """

    def __init__(self, ledger: Ledger, *, searches_apart: bool = False) -> None:
        self.ledger = ledger
        self.models: dict[str, UsedModel] = {}
        self.not_priced: dict[str, list[NotPriced]] = {}
        self._names: dict[str, str] = {}
        self._listed: dict[str, str] = {}
        priced = ledger._priced
        self.priced = priced
        for entry in ledger.not_priced:
            self.not_priced.setdefault(fold(entry.model), []).append(entry)
        if priced is not None:
            with localcontext(prec=60):
                self._add(priced)
                if searches_apart:
                    self._take_searches_apart()

    @property
    def usd(self) -> Decimal:
        """Everything, USD."""
        return self.ledger.usd

    def not_priced_of(self, model: str) -> int:
        """Return how many requests of a model the log has that are not in the sum."""
        return sum(entry.n_requests for entry in self.not_priced.get(fold(model), ()))

    def place(self, item: BillItem) -> BillItem:
        """Return a bill's row under the name that the records use for its model."""
        if item.model is None:
            return item
        known = self._names.get(fold(item.model))
        if known is None and self.priced is not None and self.priced.book is not None:
            price = self.priced.book.find(item.model, "", "standard")
            if not isinstance(price, NoPrice):
                known = self._listed.get(fold(f"{price.provider}:{price.model}"))
                known = known or self._names.get(fold(price.model))
        return item if known is None else replace(item, model=known)

    def _add(self, priced: Priced) -> None:
        by_listed: dict[str, UsedModel] = {}
        sums = priced.sums()
        for entry in sums:
            key = entry.key
            if key.tariff == FREE_TARIFF:
                continue
            listed = f"{key.provider}:{key.model}"
            model = by_listed.setdefault(listed, UsedModel(key.logged_as, listed))
            model.sums.append(entry)
            model.usd += entry.usd()
            model.n_requests += entry.n_requests
            if key.assumed & (Assumed.INPUT | Assumed.OUTPUT):
                model.n_half_known += entry.n_requests
        for model in by_listed.values():
            n_named: dict[str, int] = {}
            for entry in model.sums:
                name = entry.key.logged_as
                n_named[name] = n_named.get(name, 0) + entry.n_requests
            best = min(n_named, key=lambda name: (-n_named[name], name))
            # Two providers may have a model of one name: then the list's own name tells them apart.
            model.name = model.listed if best in self.models else best
            self.models[model.name] = model
            self._listed[fold(model.listed)] = model.name
            for name in (model.name, *n_named):
                self._names.setdefault(fold(name), model.name)
        for model in by_listed.values():
            self._names.setdefault(fold(model.listed.partition(":")[2]), model.name)
        self._add_days(priced, by_listed)
        for entry in sums:
            if entry.key.tariff == FREE_TARIFF:
                own = self._names.get(fold(entry.key.logged_as))
                if own is not None:
                    self.models[own].free.append(entry)

    def _add_days(self, priced: Priced, by_listed: dict[str, UsedModel]) -> None:
        for place, hour, usd in priced.usd_by_price_and_hour():
            key = priced.keys[place]
            if key.tariff == FREE_TARIFF:
                continue
            day = None if hour is None else datetime.fromtimestamp(hour * 3600, tz=UTC).date()
            days = by_listed[f"{key.provider}:{key.model}"].usd_by_day
            days[day] = days.get(day, Decimal(0)) + usd

    def _take_searches_apart(self) -> None:
        apart = UsedModel(SEARCHES, SEARCHES)
        for model in self.models.values():
            kept = []
            for entry in model.sums:
                searches = {n: v for n, v in entry.leaves.items() if what_of(n) == "search"}
                others = {n: v for n, v in entry.leaves.items() if n not in searches}
                kept.append(replace(entry, leaves=others))
                if searches:
                    own = replace(entry, leaves=searches)
                    apart.sums.append(own)
                    apart.usd += own.usd()
            model.sums = kept
            model.usd = sum((entry.usd() for entry in kept), Decimal(0))
            # Days were added up with the searches in them: they can no longer be compared.
            if apart.sums:
                model.usd_by_day = {None: model.usd}
        if apart.sums:
            self.models[SEARCHES] = apart


def what_of(dimension: str) -> What:
    """Return the kind of charge that a dimension belongs to, as bills name it."""
    own = dict(DIMENSIONS[dimension].attributes)
    if own["family"] in ("tool_calls", "rerank"):
        return "search" if dimension.endswith("searches") else "other"
    if own["family"] == "requests":
        return "request"
    token_type = own.get("token_type", "")
    if token_type == "cache_read":
        return "cache_read"
    if token_type == "cache_write":
        return "cache_write"
    return "output" if own.get("direction") == "output" else "input"


def charged(sums: Iterable[PricedSum]) -> dict[tuple[str, What], tuple[Decimal, Decimal]]:
    """Return units and USD by tariff and kind of charge."""
    found: dict[tuple[str, What], tuple[Decimal, Decimal]] = {}
    for entry in sums:
        rates = {} if entry.key.rates is None else entry.key.rates.usd_per_unit
        for name, n in entry.leaves.items():
            where = (entry.key.tariff, what_of(name))
            units, usd = found.get(where, (Decimal(0), Decimal(0)))
            found[where] = (units + n, usd + n * rates[name])
    return found
