"""The ledger made of its tables: every view from the same sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from jeton.catalog.prices import list_date, list_name
from jeton.dimensions import DIMENSIONS, SCALE, plain_name
from jeton.economics.ledger.cells import FREE_TARIFF, Assumed, LedgerCell, Priced, PriceKey
from jeton.economics.ledger.period import period_of
from jeton.economics.ledger.prices import PriceBook
from jeton.economics.ledger.result import Ledger
from jeton.economics.ledger.stated import StatedCost, differences, stated_costs
from jeton.economics.ledger.uses import LedgerIssue, NotPriced

Missing = tuple[str, str, str]
"""Model, provider and reason of requests without a price."""


@dataclass(frozen=True)
class Tables:
    """Everything that a builder has summed up.

    Attributes:
        missing: Cells of requests without a price, by (model, provider, reason) and hour.
        nearest: Names of the list that resemble those without a price.
        sources: Sources of the prices that were given, with their dates.
        on: Day whose prices hold for requests without a time.
        noon_s: Noon of that day, seconds since 1970-01-01 UTC.
        book: Where the prices were found.
    """

    keys: tuple[PriceKey, ...]
    by_hour: Mapping[tuple[int, int | None], LedgerCell]
    by_domain: Mapping[tuple[int, str], LedgerCell]
    missing: Mapping[tuple[Missing, int | None], LedgerCell]
    nearest: Mapping[Missing, tuple[str, ...]]
    first_s: float | None
    last_s: float | None
    sources: Mapping[str, date]
    on: date
    noon_s: float
    book: PriceBook


def ledger_of_tables(
    tables: Tables,
    *,
    joined: Mapping[str, int],
    period: str = "",
    requests_per_day: int | float | Decimal | None = None,
) -> Ledger:
    """Return the ledger of sums.

    Raises:
        UsageError: If the period cannot be read.
    """
    priced = Priced(
        tables.keys, tables.by_hour, tables.by_domain, book=tables.book, noon_s=tables.noon_s
    )
    not_priced = _not_priced(tables)
    stated = stated_costs(priced, tables.missing)
    n_priced = sum(cell.n_requests for cell in tables.by_hour.values())
    n_requests = n_priced + sum(entry.n_requests for entry in not_priced)
    hours: dict[int | None, int] = {}
    for (_, hour), cell in (*tables.by_hour.items(), *tables.missing.items()):
        hours[hour] = hours.get(hour, 0) + cell.n_requests
    n_without_time = hours.pop(None, 0)
    uses_list = any(key.rates is not None for key in tables.keys) and not tables.sources
    return Ledger(
        n_requests=n_requests,
        period=period_of(
            n_requests,
            first_s=tables.first_s,
            last_s=tables.last_s,
            hours={hour: n for hour, n in hours.items() if hour is not None},
            n_without_time=n_without_time,
            override=period,
            requests_per_day=requests_per_day,
        ),
        joined=dict(joined),
        not_priced=not_priced,
        n_half_known=_n(tables, Assumed.INPUT | Assumed.OUTPUT),
        n_from_gateway_cache=sum(
            cell.n_requests
            for (place, _), cell in tables.by_hour.items()
            if tables.keys[place].tariff == FREE_TARIFF
        ),
        stated=stated,
        issues=_issues(tables, priced, stated),
        price_source=list_name() if uses_list else "; ".join(sorted(tables.sources)),
        price_date=list_date() if uses_list else max(tables.sources.values(), default=None),
    ).viewed(priced)


def _tokens(cell: LedgerCell) -> int:
    return cell.amounts.get("input_tokens", 0) + cell.amounts.get("output_tokens", 0)


def _not_priced(tables: Tables) -> tuple[NotPriced, ...]:
    total = sum(_tokens(c) for c in (*tables.by_hour.values(), *tables.missing.values()))
    found = []
    # A name stands once, whoever answered.
    sums: dict[tuple[str, str], LedgerCell] = {}
    whose: dict[tuple[str, str], set[str]] = {}
    nearest: dict[tuple[str, str], tuple[str, ...]] = {}
    for (missing, _), cell in tables.missing.items():
        model, provider, reason = missing
        sums.setdefault((model, reason), LedgerCell()).add(cell.n_requests, cell.amounts)
        whose.setdefault((model, reason), set()).add(provider)
        nearest[model, reason] = tuple(tables.nearest.get(missing, ()))
    for (model, reason), cell in sums.items():
        kind, _, why = reason.partition("\n")
        n_tokens = _tokens(cell)
        found.append(
            NotPriced(
                model=model,
                provider=", ".join(sorted(whose[model, reason] - {""})),
                kind=kind,
                why=why,
                nearest=nearest[model, reason],
                n_requests=cell.n_requests,
                n_tokens=n_tokens,
                share_of_tokens=n_tokens / total if total else 0.0,
            )
        )
    found.sort(key=lambda e: (-e.n_tokens, -e.n_requests, e.model, e.provider, e.kind))
    return tuple(found)


def _n(tables: Tables, assumed: Assumed) -> int:
    return sum(
        cell.n_requests
        for (place, _), cell in tables.by_hour.items()
        if tables.keys[place].assumed & assumed
    )


_ASSUMED = (
    (
        Assumed.TARIFF,
        "tariff_not_listed",
        "the list has no {tariff} price for {models}: the standard one was taken",
    ),
    (
        Assumed.TARIFF_DATE,
        "tariff_dated_later",
        "the list has the {tariff} price of {models} only from a later day: that one was taken",
    ),
    (
        Assumed.MAKER,
        "price_of_maker",
        "the provider's list lacks {models}: the price of the model's maker was taken",
    ),
    (
        Assumed.TIME,
        "hour_not_known",
        "the price of {models} differs by the hour, which is not known: 12:00 UTC was taken",
    ),
    (
        Assumed.STEP,
        "step_by_mean_prompt",
        "the price of {models} steps with the prompt's length: rows of several requests were "
        "priced by their mean prompt, or as short ones where their number is not known",
    ),
    (
        Assumed.OVERLAP,
        "cached_kind_not_stated",
        "{models}: the kind of the cached input (audio, image or video) is not stated; "
        "the dearest reading was taken",
    ),
    (
        Assumed.INPUT,
        "input_not_known",
        "{models}: the output is known and the input is not; the output is in the sum, and the "
        "stated parts of the input",
    ),
    (
        Assumed.OUTPUT,
        "output_not_known",
        "{models}: the input is known and the output is not; only the input is in the sum",
    ),
    (
        Assumed.USAGE,
        "usage_not_sure",
        "{models}: a field of the usage was not read, or counts contradict each other; "
        "the other counts are priced, and an issue of the log names the field",
    ),
)


ISSUE_WORDS = {
    **{kind: words.format(models="the model", tariff="tariff's") for _, kind, words in _ASSUMED},
    "amount_without_price": "an amount that the price of the model does not charge for "
    "is not in the sum",
    "stated_cost_differs": "the cost that the log states differs by more than 1% from the price of "
    "the list",
}
"""Every kind of issue, in words."""


def _issues(
    tables: Tables, priced: Priced, stated: tuple[StatedCost, ...]
) -> tuple[LedgerIssue, ...]:
    found = []
    used: dict[int, int] = {}
    for (place, _), cell in tables.by_hour.items():
        used[place] = used.get(place, 0) + cell.n_requests
    for flag, kind, words in _ASSUMED:
        keys = [tables.keys[place] for place in used if tables.keys[place].assumed & flag]
        if keys:
            models = sorted({f"{key.provider}:{key.model}" for key in keys})
            tariffs = sorted({key.tariff for key in keys})
            text = words.format(models=_listed(models), tariff=_listed(tariffs))
            found.append(LedgerIssue(kind, _n(tables, flag), text))
    found += _unpriced_amounts(tables, priced)
    found += differences(stated)
    return tuple(found)


def _unpriced_amounts(tables: Tables, priced: Priced) -> list[LedgerIssue]:
    """Name the amounts that a log states and the price of their model does not charge for."""
    lost: dict[tuple[str, str], list[int]] = {}
    for (place, _), cell in tables.by_hour.items():
        key = tables.keys[place]
        if key.rates is None:
            continue
        for name, n in cell.amounts.items():
            if name not in DIMENSIONS:
                continue  # a fact
            # A part says nothing new where its whole has no rate either; requests are rarely sold.
            whole = DIMENSIONS[name].parent
            if not n or name == "requests" or whole in cell.amounts:
                continue
            if key.rates.charged_as(name) is None:
                entry = lost.setdefault((name, f"{key.provider}:{key.model}"), [0, 0])
                entry[0] += n
                entry[1] += cell.n_requests
    return [
        LedgerIssue(
            "amount_without_price",
            n_requests,
            f"{n / SCALE[name]:,.6g} {plain_name(name)} of {model} have no price in the list and "
            "are not in the sum",
        )
        for (name, model), (n, n_requests) in sorted(lost.items())
    ]


def _listed(names: Sequence[str]) -> str:
    shown = names[:_SHOWN]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


_SHOWN = 3
