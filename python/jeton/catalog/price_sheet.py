"""Everything that the list has on one model: rates by dimension, tariff, hour and prompt length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from jeton.catalog.model_names import ListedModel, find_listed
from jeton.dimensions import DIMENSIONS

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One rate.

    Attributes:
        dimension: The charged dimension, as in `jeton.dimensions`.
        tariff: ``standard``, or the tariff's name as logs have it.
        hours: Hours of the day (UTC) for which the rate holds; empty: all.
        above_input_tokens: It holds for prompts longer than this; 0: for all below the next step.
        per: Units that the rate is for.
        unit: Unit in plain words.
        usd: USD for so many units.
        since: Day from which the rate holds; None: no day is stated.
    """

    dimension: str
    tariff: str
    hours: str
    above_input_tokens: int
    per: int
    unit: str
    usd: Decimal
    since: date | None = None


@dataclass(frozen=True, slots=True)
class PriceSheet:
    """The rates of one model.

    Attributes:
        name: ``PROVIDER:MODEL``.
        asked: The name that was asked for.
        rule: Rule by which it was found; empty where the list has the name as it is.
        valid_on: Day for which the rates hold.
        rows: The rates.
        notes: The list's own remarks.
    """

    name: str
    asked: str
    rule: str
    valid_on: date
    rows: tuple[PriceRow, ...]
    notes: str = ""


def price_sheet(
    name: str, *, provider: str | None = None, on: date | None = None
) -> PriceSheet | None:
    """Return all rates of a model; None if the list has no such name.

    Args:
        name: Model as logs write it, or ``PROVIDER:MODEL``.
        provider: Provider as logs write it.
        on: Day for which the rates are wanted; today (UTC) by default. Rates that begin later are
            listed with their day.
    """
    listed = find_listed(name, provider)
    if listed is None:
        return None
    day = on or datetime.now(tz=UTC).date()
    rows: dict[PriceRow, None] = {}
    for price, tariff, hours, since in _prices(listed, day):
        for row in _rows(price, tariff, hours, since):
            rows.setdefault(row)
    return PriceSheet(
        name=listed.name,
        asked=name,
        rule=listed.rule,
        valid_on=day,
        rows=tuple(rows),
        notes=listed.model.price_comments or "",
    )


def tariff_name(when: Mapping[str, str]) -> str:
    """Return the name of a context of the list, as logs and options have it."""
    words = []
    for key, value in when.items():
        plain = key in ("processing", "service_tier", "speed") and value != "default"
        words.append(value if plain else f"{key}={value}")
    return "+".join(words)


def _prices(listed: ListedModel, day: date) -> list[tuple[ModelPrice, str, str, date | None]]:
    """Return (rates, tariff, hours, first day) of everything in force on a day or later."""
    model = listed.model
    found: list[tuple[ModelPrice, str, str, date | None]] = []
    conditional = model.prices if isinstance(model.prices, list) else []
    noon = datetime.combine(day, time(12), tzinfo=UTC)
    if not conditional:
        found.append((model.get_prices(noon), "standard", "", None))
    dated = [e for e in conditional if not hasattr(e.constraint, "end_time")]
    begun = [e for e in dated if _start(e.constraint) is None or _start(e.constraint) <= day]
    windows = [e for e in conditional if hasattr(e.constraint, "end_time")]
    if begun:
        hours = "other hours" if windows else ""
        found.append((begun[-1].prices, "standard", hours, _start(begun[-1].constraint)))
    found += [
        (entry.prices, "standard", "", _start(entry.constraint))
        for entry in dated
        if entry not in begun
    ]
    found += [(entry.prices, "standard", _hours(entry.constraint), None) for entry in windows]
    if listed.is_own:
        found += _variants(model, day)
    return found


def _variants(model: ModelInfo, day: date) -> list[tuple[ModelPrice, str, str, date | None]]:
    seen: set[str] = set()
    found = []
    for variant in model.price_variants or ():
        tariff, since = tariff_name(variant.when), _start(variant.constraint)
        # The first one in force is the one that counts.
        if variant.when == {"service_tier": "default"} or tariff in seen:
            continue
        if since is None or since <= day:
            seen.add(tariff)
        found.append((variant.prices, tariff, _hours(variant.constraint), since))
    return found


def _start(constraint: Any) -> Any:
    return getattr(constraint, "start_date", None)


def _hours(constraint: Any) -> str:
    first, last = getattr(constraint, "start_time", None), getattr(constraint, "end_time", None)
    return "" if first is None or last is None else f"{first:%H:%M}-{last:%H:%M}"


def _rows(price: ModelPrice, tariff: str, hours: str, since: date | None) -> list[PriceRow]:
    from genai_prices.data_units import unit_data

    found = []
    for name, unit in unit_data.items():
        rate = getattr(price, unit["price_key"], None)
        if rate is None:
            continue
        steps = [(0, rate)] if isinstance(rate, Decimal) else [(0, rate.base)]
        steps += [(tier.start, tier.price) for tier in getattr(rate, "tiers", ())]
        for start, usd in steps:
            found.append(
                PriceRow(
                    dimension=name,
                    tariff=tariff,
                    hours=hours,
                    above_input_tokens=start,
                    per=int(unit["per"]),
                    unit=DIMENSIONS[name].unit,
                    usd=usd,
                    since=since,
                )
            )
    return found
