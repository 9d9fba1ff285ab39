"""A provider's bill against what the records say it should be: to the cent, with the rest shown.

The bill is explained as far as the records, at list prices, explain it. What remains is broken
down into causes that add up to it exactly: models and days that nobody logged, charges that are
not tokens, tariffs and cache rates that differ, rounding; and what has no cause is said to have
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from jeton.catalog.api_price import ApiPrice
from jeton.catalog.prices import price as list_price
from jeton.economics.bill_causes import find_causes
from jeton.economics.bill_items import CENT, Bill, BillCause, BillItem, What
from jeton.economics.bill_ledger import Ledger
from jeton.economics.money import TOKENS_PER_MTOK
from jeton.economics.usage import Prices, UsageRecord
from jeton.errors import UsageError

__all__ = [
    "CENT",
    "Bill",
    "BillCause",
    "BillItem",
    "BillLine",
    "BillModel",
    "BillReport",
    "What",
    "catalog_price",
    "reconcile",
]


@dataclass(frozen=True, slots=True)
class BillLine:
    """Tokens of one model of one kind, as the records give them and as the bill charges them.

    Attributes:
        model: The model's name in the records.
        what: See `What`.
        n_tokens: Tokens in the records (requests where ``what`` is ``"request"``).
        usd_per_mtok: List rate; the mean where it differs between days or lengths of prompts.
        usd_computed: Tokens at the list rate.
        usd_billed: What the bill says; None where it does not go into that detail.
        difference: Billed less computed; None where not billed in that detail.
        tariff: Tariff of the records.
    """

    model: str
    what: What
    n_tokens: int
    usd_per_mtok: Decimal
    usd_computed: Decimal
    usd_billed: Decimal | None
    difference: Decimal | None
    tariff: str = "standard"


@dataclass(frozen=True, slots=True)
class BillModel:
    """One model's sum; ``usd_billed`` is None where the bill names no models."""

    model: str
    n_requests: int
    usd_computed: Decimal
    usd_billed: Decimal | None
    difference: Decimal | None


@dataclass(frozen=True, slots=True)
class BillReport:
    """A bill, reconciled.

    ``usd_billed == usd_explained + usd_unexplained``, and the causes add up to the last.

    Attributes:
        lines: Computed against billed, by model and kind of tokens.
        usd_billed: The bill's total, to the cent.
        usd_explained: What the records come to at list prices, to the cent.
        usd_unexplained: The rest; below 0 where the bill is lower than the records.
        causes: What the rest comes from, largest first; ``"unknown"`` is what has no cause.
        models: The sums by model.
        n_requests: Requests in the records.
        n_unusable: Requests left out because their counts contradict themselves.
        first_day: First day of the records or the bill that is known.
        last_day: Last day that is known.
        source: Where the bill was read.
        price_source: Where the prices come from, with their date.
        issues: What was odd about the bill.
    """

    lines: tuple[BillLine, ...]
    usd_billed: Decimal
    usd_explained: Decimal
    usd_unexplained: Decimal
    causes: tuple[BillCause, ...]
    models: tuple[BillModel, ...] = ()
    n_requests: int = 0
    n_unusable: int = 0
    first_day: date | None = None
    last_day: date | None = None
    source: str = ""
    price_source: str = ""
    issues: tuple[str, ...] = ()

    @property
    def usd_without_cause(self) -> Decimal:
        """What no cause was found for."""
        return sum((c.usd for c in self.causes if c.id == "unknown"), Decimal(0))


def catalog_price(model: str, day: date | None, tariff: str) -> ApiPrice:
    """Return the list price of the installed catalog, for use as ``prices``."""
    return list_price(model if tariff == "standard" else f"{model}@{tariff}", on=day)


def reconcile(
    records: Iterable[UsageRecord],
    *,
    bill: Bill | None = None,
    bill_total: Decimal | None = None,
    prices: Prices = catalog_price,
    n_unusable: int = 0,
) -> BillReport:
    """Compare what was used, at list prices, with what was billed.

    Formula: per record and kind of tokens, ``tokens x rate / 1e6`` at the tier and tariff of the
    record; sums are exact, totals are rounded to the cent once.

    Source: the prices' own (`ApiPrice.source`).

    Args:
        records: What was used.
        bill: The bill's rows; or else
        bill_total: its total alone, USD.
        prices: Prices by model, or a function of model, day and tariff.
        n_unusable: Requests that were left out before (from `usage_records`).

    Raises:
        UsageError: If there is neither a bill nor a total, or both, or nothing was used.
        UnknownPriceError: If a model of the records has no price; carries the nearest names.
    """
    if (bill is None) == (bill_total is None):
        raise UsageError("expected either the bill's rows or its total")
    if bill is None:
        if bill_total is None or not bill_total.is_finite():
            raise UsageError(f"the bill's total is {bill_total}; expected a finite amount in USD")
        bill = Bill((BillItem(usd=bill_total),), source="total given")
    usable, n_contradicting = _usable(records)
    if not usable:
        raise UsageError("no record of use has counts that can be priced; expected at least one")
    ledger = Ledger(prices)
    for record in usable:
        ledger.add(record)
    billed = [ledger.place(item) for item in bill.items]
    lines = _lines(ledger, billed)
    usd_billed = bill.total_usd.quantize(CENT)
    usd_explained = ledger.usd.quantize(CENT)
    rest = usd_billed - usd_explained
    days = [record.day for record in usable if record.day]
    days += [item.day for item in bill.items if item.day]
    return BillReport(
        lines=lines,
        usd_billed=usd_billed,
        usd_explained=usd_explained,
        usd_unexplained=rest,
        causes=find_causes(ledger, billed, rest),
        models=_models(ledger, billed),
        n_requests=sum(record.n_requests for record in usable),
        n_unusable=n_unusable + n_contradicting,
        first_day=min(days, default=None),
        last_day=max(days, default=None),
        source=bill.source,
        price_source="; ".join(dict.fromkeys(ledger.sources)),
        issues=bill.issues,
    )


def _usable(records: Iterable[UsageRecord]) -> tuple[list[UsageRecord], int]:
    usable: list[UsageRecord] = []
    n_contradicting = 0
    for record in records:
        if record.is_consistent:
            usable.append(record)
        else:
            n_contradicting += max(record.n_requests, 1)
    return usable, n_contradicting


def _lines(ledger: Ledger, billed: Sequence[BillItem]) -> tuple[BillLine, ...]:
    lines = []
    several_tariffs = {
        (model, what)
        for model, tariff, what in ledger.entries
        if any(m == model and w == what and t != tariff for m, t, w in ledger.entries)
    }
    for (model, tariff, what), entry in ledger.entries.items():
        rows = [item for item in billed if item.model == model and item.what == what]
        if (model, what) in several_tariffs:
            rows = [item for item in rows if item.tariff == tariff]
        usd = sum((item.usd for item in rows), Decimal(0)) if rows else None
        per = TOKENS_PER_MTOK if what != "request" else Decimal(1)
        lines.append(
            BillLine(
                model=model,
                what=what,
                n_tokens=entry.n_tokens,
                usd_per_mtok=(entry.usd * per / entry.n_tokens).normalize(),
                usd_computed=entry.usd,
                usd_billed=usd,
                difference=None if usd is None else usd - entry.usd,
                tariff=tariff,
            )
        )
    return tuple(lines)


def _models(ledger: Ledger, billed: Sequence[BillItem]) -> tuple[BillModel, ...]:
    named = any(item.model is not None for item in billed)
    models = dict.fromkeys([*ledger.records, *(item.model for item in billed if item.model)])
    found = []
    for model in models:
        computed = ledger.usd_of(model)
        usd = (
            sum((item.usd for item in billed if item.model == model), Decimal(0)) if named else None
        )
        found.append(
            BillModel(
                model=model,
                n_requests=sum(record.n_requests for record, _ in ledger.records.get(model, ())),
                usd_computed=computed,
                usd_billed=usd,
                difference=None if usd is None else usd - computed,
            )
        )
    return tuple(found)
