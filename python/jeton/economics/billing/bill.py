"""A provider's bill against what the ledger says it should be, with the rest broken down.

The bill is explained as far as the ledger, at list prices, explains it. The difference is broken
down into causes: models and days that nobody logged, charges that are not tokens, tariffs and cache
rates that differ, rounding. An amount without a cause is "unexplained".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, localcontext

from jeton.corpus.bills.rows import CENT, Bill, BillItem, What
from jeton.economics.billing.causes import BillCause, find_causes
from jeton.economics.billing.models import SEARCHES, Records, charged
from jeton.economics.ledger import Ledger, LedgerBuilder, UsageRows
from jeton.economics.ledger.prices import Prices
from jeton.economics.money import TOKENS_PER_MTOK
from jeton.errors import UsageError

__all__ = [
    "CENT",
    "MAX_ROWS",
    "Bill",
    "BillCause",
    "BillItem",
    "BillLine",
    "BillModel",
    "BillReport",
    "What",
    "reconcile",
]

MAX_ROWS = 10
"""Models that a report shows one by one; the cheapest of more are added up in the last row."""


@dataclass(frozen=True, slots=True)
class BillLine:
    """Units of one model of one kind, as the records give them and as the bill charges them.

    Attributes:
        model: The model's name in the records.
        what: See `What`.
        n_tokens: Tokens in the records (requests or searches where ``what`` says so).
        usd_per_mtok: List rate per million tokens, or per request or search; the mean where it
            differs between days, tariffs or lengths of prompts.
        usd_computed: Units at the list rate.
        usd_billed: Billed USD; None where the bill does not go into that detail.
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

    ``usd_billed == usd_explained + usd_difference``; the causes add up to the difference, to half a
    cent. All sums are to the cent; causes are as precise as the bill's rows.

    Attributes:
        lines: Computed against billed, by model and kind of charge.
        usd_billed: The bill's total.
        usd_explained: USD of the records at list prices.
        usd_unexplained: The part of the difference that has no cause; below 0 where the bill is
            lower than the records.
        causes: Causes of the difference, largest first; ``"unknown"`` is the part without a cause.
        usd_difference: Billed less explained.
        rows: The sums by model, `MAX_ROWS` at most, the largest first.
        models: The sums by model, all of them.
        n_requests: Requests in the records.
        n_unusable: Requests that are not in the sum: without a price, or with counts that
            contradict one another.
        first_day: First day of the records or the bill that is known.
        last_day: Last day that is known.
        source: Where the bill was read.
        price_source: Where the prices come from, with their date.
        issues: Oddities of the bill.
    """

    lines: tuple[BillLine, ...]
    usd_billed: Decimal
    usd_explained: Decimal
    usd_unexplained: Decimal
    causes: tuple[BillCause, ...]
    usd_difference: Decimal = Decimal(0)
    rows: tuple[BillModel, ...] = ()
    models: tuple[BillModel, ...] = ()
    n_requests: int = 0
    n_unusable: int = 0
    first_day: date | None = None
    last_day: date | None = None
    source: str = ""
    price_source: str = ""
    issues: tuple[str, ...] = ()


def reconcile(
    usage: Ledger | UsageRows | Sequence[UsageRows],
    *,
    bill: Bill | None = None,
    bill_total: Decimal | None = None,
    prices: Prices | None = None,
    log_issues: Mapping[str, int] | None = None,
) -> BillReport:
    """Compare what was used, at list prices, with what was billed.

    Formula: the ledger's; its sums are exact, totals are rounded to the cent once.

    Source: the prices' own (`Ledger.price_source`).

    Args:
        usage: A ledger, or rows of usage to make one of.
        bill: The bill's rows; or else
        bill_total: its total alone, USD.
        prices: Prices for rows (`LedgerBuilder`); a ledger has its own.
        log_issues: Issues of the log by kind, with the number of requests that have them: no cause
            is fitted to an amount that one of them explains.

    Raises:
        UsageError: If there is neither a bill nor a total, or both, or nothing was used.
    """
    if (bill is None) == (bill_total is None):
        raise UsageError("expected either the bill's rows or its total")
    if bill is None:
        if bill_total is None or not bill_total.is_finite():
            raise UsageError(f"the bill's total is {bill_total}; expected a finite amount in USD")
        bill = Bill((BillItem(usd=bill_total),), source="total given")
    ledger = usage if isinstance(usage, Ledger) else _ledger_of(usage, prices)
    if not ledger.n_requests:
        raise UsageError("no record of use has counts that can be priced; expected at least one")
    records = Records(ledger, searches_apart=_has_search_rows(bill, ledger))
    billed = [records.place(item) for item in bill.items]
    usd_billed, usd_explained = bill.total_usd.quantize(CENT), ledger.usd.quantize(CENT)
    with localcontext(prec=60):
        causes = find_causes(records, billed, bill.total_usd - ledger.usd, log_issues or {})
        models = _models(records, billed)
        lines = _lines(records, billed)
    unknown = sum((cause.usd for cause in causes if cause.id == "unknown"), Decimal(0))
    days = [use.day for use in ledger.by_day if use.day is not None]
    days += [item.day for item in bill.items if item.day]
    return BillReport(
        lines=lines,
        usd_billed=usd_billed,
        usd_explained=usd_explained,
        usd_unexplained=unknown.quantize(CENT),
        causes=causes,
        usd_difference=usd_billed - usd_explained,
        rows=_folded(models),
        models=models,
        n_requests=ledger.n_requests,
        n_unusable=sum(entry.n_requests for entry in ledger.not_priced),
        first_day=min(days, default=None),
        last_day=max(days, default=None),
        source=bill.source,
        price_source=ledger.price_source,
        issues=bill.issues,
    )


def _ledger_of(usage: UsageRows | Sequence[UsageRows], prices: Prices | None) -> Ledger:
    builder = LedgerBuilder(prices=prices)
    for rows in [usage] if isinstance(usage, UsageRows) else usage:
        builder.add(rows)
    return builder.build()


def _has_search_rows(bill: Bill, ledger: Ledger) -> bool:
    """True if the bill has searches in rows of their own, named by no model of the records."""
    names = {name for use in ledger.by_model for name in (use.logged_as, use.model)}
    return any(item.what == "search" and item.model not in names for item in bill.items)


def _lines(records: Records, billed: Sequence[BillItem]) -> tuple[BillLine, ...]:
    lines = []
    for name, model in records.models.items():
        entries = charged(model.sums)
        for (tariff, what), (units, usd) in entries.items():
            rows = [item for item in billed if item.model == name and item.what == what]
            if name == SEARCHES:
                rows = [item for item in billed if item.what == "search"]
            if sum(own == what for _, own in entries) > 1:
                rows = [item for item in rows if item.tariff == tariff]
            paid = sum((item.usd for item in rows), Decimal(0)) if rows else None
            per = Decimal(1) if what in ("request", "search") else TOKENS_PER_MTOK
            lines.append(
                BillLine(
                    model=name,
                    what=what,
                    n_tokens=int(units),
                    usd_per_mtok=_short(usd * per / units) if units else Decimal(0),
                    usd_computed=_short(usd),
                    usd_billed=paid,
                    difference=None if paid is None else _short(paid - usd),
                    tariff=tariff,
                )
            )
    return tuple(lines)


def _models(records: Records, billed: Sequence[BillItem]) -> tuple[BillModel, ...]:
    named = any(item.model is not None for item in billed)
    sums: dict[str, Decimal] = {}
    for item in billed:
        name = item.model
        if item.what == "search" and SEARCHES in records.models:
            name = name if name in records.models else SEARCHES
        if name is not None:
            sums[name] = sums.get(name, Decimal(0)) + item.usd
    found = []
    for name in dict.fromkeys([*records.models, *sums]):
        model = records.models.get(name)
        computed = Decimal(0) if model is None else model.usd
        usd = sums.get(name, Decimal(0)) if named else None
        found.append(
            BillModel(
                model=name,
                n_requests=0 if model is None else model.n_requests,
                usd_computed=_short(computed),
                usd_billed=usd,
                difference=None if usd is None else _short(usd - computed),
            )
        )
    found.sort(key=lambda row: (-_size(row), row.model))
    return tuple(found)


def _size(row: BillModel) -> Decimal:
    return max(abs(row.usd_billed or Decimal(0)), abs(row.usd_computed))


def _folded(models: Sequence[BillModel]) -> tuple[BillModel, ...]:
    if len(models) <= MAX_ROWS:
        return tuple(models)
    shown, rest = list(models[: MAX_ROWS - 1]), models[MAX_ROWS - 1 :]
    billed = [row.usd_billed for row in rest if row.usd_billed is not None]
    computed = sum((row.usd_computed for row in rest), Decimal(0))
    usd = sum(billed, Decimal(0)) if billed else None
    shown.append(
        BillModel(
            model=f"{len(rest)} others",
            n_requests=sum(row.n_requests for row in rest),
            usd_computed=computed,
            usd_billed=usd,
            difference=None if usd is None else usd - computed,
        )
    )
    return tuple(shown)


def _short(value: Decimal) -> Decimal:
    """Return an amount without trailing zeros."""
    short = value.normalize()
    return short.quantize(Decimal(1)) if short == short.to_integral_value() else short
