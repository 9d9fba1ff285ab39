"""Why a bill differs from the records: causes that add up to the difference exactly.

First what the bill itself says (other charges, models and days that the records do not have),
then what fits the amount: each explanation predicts a difference from the records, and counts
only if the bill shows that difference almost to the cent. The rest is "unknown".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

from jeton.catalog.api_price import ApiPrice, PriceTier
from jeton.economics.bill_items import CENT, BillCause, BillItem
from jeton.economics.bill_ledger import Ledger, charges
from jeton.economics.money import TOKENS_PER_MTOK
from jeton.economics.usage import UsageRecord
from jeton.findings import Basis

__all__ = ["FIT_SHARE", "find_causes"]

FIT_SHARE = Decimal("0.002")
"""An explanation counts if it predicts the difference to this share, or to a cent a row. A
judgement: rounding of rows is far below it, and two explanations seldom come as near."""

_Priced = tuple[UsageRecord, ApiPrice]


def find_causes(ledger: Ledger, billed: Sequence[BillItem], rest: Decimal) -> tuple[BillCause, ...]:
    """Return the causes of the unexplained rest, largest first; they add up to it.

    Args:
        ledger: What the records come to.
        billed: The bill's rows, models named as in the ledger.
        rest: Billed less explained, to the cent.
    """
    causes: list[BillCause] = []
    if any(item.model is not None for item in billed):
        causes += _other_charges([item for item in billed if _is_other(item)])
        rows = [item for item in billed if not _is_other(item)]
        causes += _unknown_models(ledger, rows)
        differences = {}
        for model in ledger.records:
            own = [item for item in rows if item.model == model]
            if not own:
                causes.append(_not_on_bill(model, ledger.usd_of(model)))
                continue
            by_days, billed_usd, computed = _days(ledger, model, own)
            causes += by_days
            differences[model] = (billed_usd, computed, len(own))
        causes += _explain(ledger, differences)
    else:
        pairs = [pair for records in ledger.records.values() for pair in records]
        found = _fit(ledger, pairs, rest, n_rows=len(billed), model=None)
        causes += [found] if found else []
    causes = [cause for cause in causes if cause.usd]
    causes.sort(key=lambda cause: (-abs(cause.usd), cause.id, cause.model or ""))
    left = rest - sum((cause.usd for cause in causes), Decimal(0))
    if left:
        causes.append(_left(left, n_rows=len(billed) + len(causes)))
    return tuple(causes)


def _is_other(item: BillItem) -> bool:
    return item.what == "other" or item.model is None


def _other_charges(items: Sequence[BillItem]) -> list[BillCause]:
    sums: dict[str, Decimal] = {}
    for item in items:
        what = item.description or "charge without a model"
        sums[what] = sums.get(what, Decimal(0)) + item.usd
    return [
        BillCause("other-charge", f"not tokens: {what}", usd.quantize(CENT), Basis.EXACT)
        for what, usd in sums.items()
    ]


def _unknown_models(ledger: Ledger, rows: Sequence[BillItem]) -> list[BillCause]:
    sums: dict[str, Decimal] = {}
    for item in rows:
        if item.model is not None and item.model not in ledger.records:
            sums[item.model] = sums.get(item.model, Decimal(0)) + item.usd
    return [
        BillCause(
            "not-in-records",
            f"{model} is billed, and no record names it: these requests are not logged",
            usd.quantize(CENT),
            Basis.EXACT,
            model,
        )
        for model, usd in sums.items()
    ]


def _not_on_bill(model: str, usd: Decimal) -> BillCause:
    return BillCause(
        "not-on-bill",
        f"the records have {model}, and the bill does not: another account, or not billed yet",
        -usd.quantize(CENT),
        Basis.EXACT,
        model,
    )


def _days(
    ledger: Ledger, model: str, rows: Sequence[BillItem]
) -> tuple[list[BillCause], Decimal, Decimal]:
    """Return causes of days that only one side has, and what both sides have on common days."""
    billed = sum((item.usd for item in rows), Decimal(0))
    computed = ledger.usd_of(model)
    bill_days = {item.day for item in rows}
    record_days = {day for name, day in ledger.by_day if name == model}
    known = sorted(day for day in bill_days if day is not None)
    # A bill by the month names one day a month; only one by the day can be compared by the day.
    daily = any(b - a == timedelta(days=1) for a, b in pairwise(known))
    if not daily or None in bill_days or None in record_days:
        return [], billed, computed
    causes = []
    unlogged = [item for item in rows if item.day not in record_days]
    usd = sum((item.usd for item in unlogged), Decimal(0))
    if unlogged:
        n_days = len({item.day for item in unlogged})
        title = f"{model}: {n_days} billed day(s) without any record"
        causes.append(
            BillCause("day-not-in-records", title, usd.quantize(CENT), Basis.EXACT, model)
        )
        billed -= usd
    unbilled = [day for day in record_days if day not in bill_days]
    if unbilled:
        usd = sum((ledger.by_day[model, day] for day in unbilled), Decimal(0))
        title = f"{model}: {len(unbilled)} day(s) of records that the bill does not have"
        causes.append(BillCause("day-not-on-bill", title, -usd.quantize(CENT), Basis.EXACT, model))
        computed -= usd
    return causes, billed, computed


def _explain(
    ledger: Ledger, differences: dict[str, tuple[Decimal, Decimal, int]]
) -> list[BillCause]:
    """Find what fits each model's difference; where not all fit, a common ratio comes first."""
    found = {
        model: _fit(ledger, ledger.records[model], billed - computed, n_rows=n_rows, model=model)
        for model, (billed, computed, n_rows) in differences.items()
        if abs(billed - computed) > max(CENT * n_rows, FIT_SHARE * computed)
    }
    if not all(found.values()):
        common = _common_rate(differences)
        if common is not None:
            return [common]
    causes = []
    for model, cause in found.items():
        if cause is None:
            billed, computed, _ = differences[model]
            times = f"{billed / computed:.3f} times" if computed else "more than"
            title = f"{model}: no cause found; the bill is {times} what the records come to"
            usd = (billed - computed).quantize(CENT)
            cause = BillCause("unknown", title, usd, Basis.EXACT, model)
        causes.append(cause)
    return causes


def _common_rate(differences: dict[str, tuple[Decimal, Decimal, int]]) -> BillCause | None:
    """Return a discount or surcharge that several models share, if there is one."""
    ratios = {
        model: billed / computed
        for model, (billed, computed, _) in differences.items()
        if computed >= 1
    }
    if len(ratios) < 2 or max(ratios.values()) - min(ratios.values()) > FIT_SHARE:
        return None
    billed = sum((differences[model][0] for model in ratios), Decimal(0))
    computed = sum((differences[model][1] for model in ratios), Decimal(0))
    change = billed / computed - 1
    kind = "surcharge or tax" if change > 0 else "discount"
    title = f"a {kind} of {abs(change) * 100:.2f}% on all {len(ratios)} models alike"
    return BillCause("common-rate", title, (billed - computed).quantize(CENT), Basis.ESTIMATED)


def _fit(
    ledger: Ledger,
    pairs: Sequence[_Priced],
    difference: Decimal,
    *,
    n_rows: int,
    model: str | None,
) -> BillCause | None:
    """Return the explanation that predicts the difference best, if any does well enough."""
    rounding = CENT * n_rows
    best: tuple[Decimal, str, str, Decimal] | None = None
    for name, title, predicted in _explanations(ledger, pairs):
        miss = abs(predicted - difference)
        if abs(predicted) <= rounding or miss > max(rounding, FIT_SHARE * abs(predicted)):
            continue
        if best is None or miss < best[0]:
            best = (miss, name, title, predicted)
    if best is None:
        return None
    _, name, title, predicted = best
    where = "" if model is None else f"{model}: "
    return BillCause(name, f"{where}{title}", predicted.quantize(CENT), Basis.ESTIMATED, model)


def _explanations(ledger: Ledger, pairs: Sequence[_Priced]) -> list[tuple[str, str, Decimal]]:
    """Return (id, title, predicted difference) of everything that is tried."""

    def total(tokens_rate: list[tuple[int, Decimal]]) -> Decimal:
        return sum((n * rate for n, rate in tokens_rate), Decimal(0)) / TOKENS_PER_MTOK

    tiered = [(record, price, _tier(record, price)) for record, price in pairs]
    found = [
        (
            "cache-read-at-full-rate",
            "tokens read from the cache were billed at the full input rate",
            total(
                [
                    (r.cache_read_tokens, tier.usd_per_mtok_input - tier.cache_read_rate)
                    for r, _, tier in tiered
                ]
            ),
        ),
        (
            "cache-write-without-surcharge",
            "tokens written to the cache were billed without the surcharge",
            total(
                [
                    (r.cache_write_tokens, tier.usd_per_mtok_input - tier.cache_write_rate)
                    for r, _, tier in tiered
                ]
            ),
        ),
        (
            "cache-write-for-an-hour",
            "tokens written to the cache were billed at the rate for an hour",
            total(
                [
                    (
                        r.cache_write_tokens - r.cache_write_1h_tokens,
                        tier.cache_write_1h_rate - tier.cache_write_rate,
                    )
                    for r, _, tier in tiered
                ]
            ),
        ),
        (
            "cached-beside-input",
            "cached tokens were billed beside the input, as if the records' input left them out",
            total(
                [
                    (r.cache_read_tokens + r.cache_write_tokens, tier.usd_per_mtok_input)
                    for r, _, tier in tiered
                ]
            ),
        ),
        (
            "reasoning-beside-output",
            "reasoning tokens were billed beside the output, as if the records left them out",
            total(
                [
                    (r.reasoning_tokens, tier.usd_per_mtok_output or Decimal(0))
                    for r, _, tier in tiered
                ]
            ),
        ),
    ]
    found += [
        (f"{tariff}-tariff", f"billed at the {tariff} tariff", difference)
        for tariff in ("batch", "flex", "priority")
        if (difference := _at_tariff(ledger, pairs, tariff)) is not None
    ]
    longest = [
        (charges_at(r, price, price.tiers[-1]) - charges_at(r, price, tier))
        for r, price, tier in tiered
    ]
    if any(price.is_tiered for _, price in pairs):
        title = "all prompts were billed at the rate for long ones"
        found.append(("long-prompt-tier", title, sum(longest, Decimal(0))))
    return found


def charges_at(record: UsageRecord, price: ApiPrice, tier: PriceTier) -> Decimal:
    """Return a record's USD at a given tier of its price."""
    at_tier = replace(record, above_input_tokens=tier.above_input_tokens)
    return sum((usd for _, usd in charges(at_tier, price).values()), Decimal(0))


def _tier(record: UsageRecord, price: ApiPrice) -> PriceTier:
    if record.above_input_tokens is not None:
        return price.tier_for(record.above_input_tokens + 1)
    return price.tier_for(-(-record.input_tokens // max(record.n_requests, 1)))


def _at_tariff(ledger: Ledger, pairs: Sequence[_Priced], tariff: str) -> Decimal | None:
    """Return what another tariff would have changed; None where one model has no such tariff."""
    difference = Decimal(0)
    for record, price in pairs:
        if record.tariff == tariff:
            continue
        other = ledger.price_or_none(record.model, record.day, tariff)
        if other is None:
            return None
        at_other = charges_at(record, other, _tier(record, other))
        difference += at_other - charges_at(record, price, _tier(record, price))
    return difference


def _left(usd: Decimal, *, n_rows: int) -> BillCause:
    if abs(usd) <= CENT * max(n_rows, 1):
        title = f"rounding of {n_rows} row(s) to the cent"
        return BillCause("rounding", title, usd, Basis.ESTIMATED)
    return BillCause("unknown", "no cause found", usd, Basis.EXACT)
