"""Explanations of a difference between a bill and the records: what each would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from jeton.dimensions import DIMENSIONS
from jeton.economics.billing.models import Records, UsedModel, what_of
from jeton.economics.ledger.cells import PricedSum
from jeton.economics.ledger.prices import NoPrice
from jeton.economics.ledger.rates import Rates

_DIGITS = 60


@dataclass(frozen=True, slots=True)
class BillHypothesis:
    """Something that may have happened, and what it would add to the bill.

    Attributes:
        id: Stable identifier.
        title: In a sentence.
        usd: Change of the bill, USD.
        doubted_by: Issues of the log that explain such an amount themselves.
    """

    id: str
    title: str
    usd: Decimal
    doubted_by: tuple[str, ...] = ()

    def is_doubted_by(self, issues: Mapping[str, int]) -> bool:
        """True if the log has an issue that explains the amount."""
        return any(kind in issues for kind in self.doubted_by)


_CONVENTION = ("inconsistent_usage", "convention_undecided")
_REPEATS = ("duplicate_id", "joining_limited", "possible_repeats")


def explanations(records: Records, models: Sequence[UsedModel]) -> list[BillHypothesis]:
    """Return all that the records of these models allow; what changes nothing is left out."""
    sums = [entry for model in models for entry in model.sums if entry.key.rates is not None]
    with localcontext(prec=_DIGITS):
        found = [
            BillHypothesis(kind, title, _total(sums, change), doubts)
            for kind, title, change, doubts in _BY_AMOUNTS
        ]
        found += _tariffs(records, models)
        found += _long_prompts(records, models)
        found += _free_answers(records, models)
    return [explanation for explanation in found if explanation.usd]


_Change = Callable[[PricedSum, Rates], Decimal]


def _total(sums: Sequence[PricedSum], change: _Change) -> Decimal:
    total = Decimal(0)
    for entry in sums:
        rates = entry.key.rates
        if rates is not None:
            total += change(entry, rates)
    return total


def _uncached_rate(rates: Rates, name: str) -> Decimal:
    """Return the rate of the same input outside of a cache."""
    modality = dict(DIMENSIONS[name].attributes).get("modality")
    plain = f"input_{modality}_tokens" if modality else "input_tokens"
    charged_as = rates.charged_as(plain)
    return Decimal(0) if charged_as is None else rates.usd_per_unit[charged_as]


def _at_full_rate(kind: str) -> _Change:
    def change(entry: PricedSum, rates: Rates) -> Decimal:
        own = (name for name in entry.leaves if what_of(name) == kind)
        return sum(
            (
                entry.leaves[name] * (_uncached_rate(rates, name) - rates.usd_per_unit[name])
                for name in own
            ),
            Decimal(0),
        )

    return change


def _lifetime(name: str, other: str) -> _Change:
    """Return the change if writes to a cache of one lifetime have the rate of another."""

    def change(entry: PricedSum, rates: Rates) -> Decimal:
        rate, new = rates.usd_per_unit.get(name), rates.usd_per_unit.get(other)
        if rate is None or new is None:
            return Decimal(0)
        return entry.leaves.get(name, Decimal(0)) * (new - rate)

    return change


def _beside(parts: tuple[str, ...], whole: str) -> _Change:
    def change(entry: PricedSum, rates: Rates) -> Decimal:
        n = sum(entry.amounts.get(part, 0) for part in parts)
        return n * rates.usd_per_unit.get(whole, Decimal(0))

    return change


def _searches_left_out(entry: PricedSum, rates: Rates) -> Decimal:
    own = (name for name in entry.leaves if what_of(name) == "search")
    return -sum((entry.leaves[name] * rates.usd_per_unit[name] for name in own), Decimal(0))


_BY_AMOUNTS: tuple[tuple[str, str, _Change, tuple[str, ...]], ...] = (
    (
        "cache-read-at-full-rate",
        "tokens read from the cache were billed at the full input rate",
        _at_full_rate("cache_read"),
        (),
    ),
    (
        "cache-write-without-surcharge",
        "tokens written to the cache were billed without the surcharge",
        _at_full_rate("cache_write"),
        (),
    ),
    (
        "cache-write-for-an-hour",
        "tokens written to the cache were billed at the rate for an hour",
        _lifetime("cache_write_tokens", "cache_write_1h_tokens"),
        (),
    ),
    (
        "cache-write-for-minutes",
        "tokens written to the cache for an hour were billed at the rate for five minutes",
        _lifetime("cache_write_1h_tokens", "cache_write_tokens"),
        (),
    ),
    (
        "cached-beside-input",
        "cached tokens were billed beside the input, as if the records' input left them out",
        _beside(("cache_read_tokens", "cache_write_tokens"), "input_tokens"),
        _CONVENTION,
    ),
    (
        "reasoning-beside-output",
        "reasoning tokens were billed beside the output, as if the records left them out",
        _beside(("output_reasoning_tokens",), "output_tokens"),
        _CONVENTION,
    ),
    ("searches-not-billed", "searches are not on the bill", _searches_left_out, ()),
)


def _tariffs(records: Records, models: Sequence[UsedModel]) -> list[BillHypothesis]:
    """Return what other tariffs would have changed, where all these models have them."""
    found = []
    for tariff in ("batch", "flex", "priority", "fast"):
        change = Decimal(0)
        for model in models:
            if any(entry.key.tariff == tariff for entry in model.sums):
                break
            own, other = (_repriced(records, model, word) for word in (None, tariff))
            if own is None or other is None:
                break
            change += other - own
        else:
            title = f"billed at the {tariff} tariff"
            if change < 0:
                title += ", or the log has requests twice"
            found.append(BillHypothesis(f"{tariff}-tariff", title, change, _REPEATS))
    return found


def _repriced(
    records: Records, model: UsedModel, tariff: str | None, *, last_step: bool = False
) -> Decimal | None:
    priced = records.priced
    if priced is None or ":" not in model.listed:
        return None
    return priced.usd_at_tariff(tariff, model=model.listed, last_step=last_step)


def _long_prompts(records: Records, models: Sequence[UsedModel]) -> list[BillHypothesis]:
    change = Decimal(0)
    for model in models:
        own = _repriced(records, model, None)
        longest = _repriced(records, model, None, last_step=True)
        if own is not None and longest is not None:
            change += longest - own
    title = "all prompts were billed at the rate for long ones"
    return [BillHypothesis("long-prompt-tier", title, change)]


def _free_answers(records: Records, models: Sequence[UsedModel]) -> list[BillHypothesis]:
    """Return what a gateway's own answers cost if the provider gave them after all."""
    priced = records.priced
    if priced is None or priced.book is None:
        return []
    change = Decimal(0)
    for model in models:
        rates = next((entry.key.rates for entry in model.sums if entry.key.rates), None)
        for entry in model.free:
            if rates is None or isinstance(
                priced.book.find(entry.key.logged_as, "", "standard"), NoPrice
            ):
                continue
            leaves = rates.leaves(entry.amounts)
            change += sum((n * rates.usd_per_unit[k] for k, n in leaves.items()), Decimal(0))
    title = "answers from the gateway's own cache were billed after all"
    return [BillHypothesis("gateway-cache-billed", title, change)]
