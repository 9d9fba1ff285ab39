"""Look up what an API charges, by name and day, in the installed `genai-prices` list.

Names are ``MODEL`` (the provider is the one `genai-prices` takes it for), ``PROVIDER:MODEL``, or a
price of one's own: ``usd:0.40`` or ``usd:0.40/1.60`` (USD per million input / output tokens). A
listed price is the standard tariff's; ``NAME@batch``, ``@flex`` or ``@priority`` is another one's,
where the list has it.
"""

from __future__ import annotations

import re
import warnings
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from jeton._nearest import fold, nearest
from jeton.catalog.api_price import USER_PROVIDER, ApiPrice, PriceTier
from jeton.errors import StalePriceWarning, UnknownPriceError, UsageError

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices

STALE_AFTER_DAYS = 180
"""A list older than this is warned about. Half a year is a judgement, not a measurement: long
enough not to nag, short enough that a price change rarely stays unnoticed for longer."""

_PRICE_HOUR = time(12, tzinfo=UTC)
"""Time of day at which a price with day and night tariffs is read; the source then says so."""

TARIFFS = {
    "batch": {"processing": "batch"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
    "fast": {"service_tier": "fast", "speed": "fast"},
}
"""Tariffs beside the standard one, as the list names them in its price variants."""

_CUSTOM_PREFIX = "usd:"

_LEAST_USD, _MOST_USD = Decimal("0.000001"), Decimal(1_000_000)
"""Limits of a price per million tokens: a dollar for a million times a million, or a dollar each.
"""

_USD_PLACES = 12
"""Decimal places of such a price."""
_CHECKED_ON = re.compile(r"(?:verified|checked|as of|observed)\b[^.;]{0,60}?(20\d\d-\d\d-\d\d)")


def price(name: str, *, on: date | None = None) -> ApiPrice:
    """Return what an API charges for a model.

    Args:
        name: ``MODEL``, ``PROVIDER:MODEL``, either with ``@TARIFF``, or ``usd:INPUT[/OUTPUT]``.
        on: Day for which the price is wanted; today (UTC) by default.

    Raises:
        UnknownPriceError: If the model is unknown or its list has no input price (a free or
            unpriced model counts as unknown, never as zero) or lists no such tariff; carries the
            nearest names.
        UsageError: If a ``usd:`` price is not a number above zero.

    Warns:
        StalePriceWarning: If the installed list is more than `STALE_AFTER_DAYS` older than ``on``.
    """
    day = on or datetime.now(tz=UTC).date()
    if name.strip().casefold().startswith(_CUSTOM_PREFIX):
        return _custom_price(name.strip(), day)
    base_name, tariff = _tariff(name.strip())
    found = _find(base_name)
    if found is None:
        raise UnknownPriceError(name, nearest=nearest_prices(base_name))
    provider, model = found
    rates = _rates(model, datetime.combine(day, _PRICE_HOUR), tariff)
    if rates is None:
        raise UnknownPriceError(
            name,
            nearest=_tariffs_of(f"{provider.id}:{model.id}", model),
            hint=f"the list has no {tariff} tariff for {provider.id}:{model.id}",
        )
    result = _listed_price(provider, model, rates, day, tariff)
    if result is None:
        raise UnknownPriceError(
            name,
            nearest=[n for n in nearest_prices(name) if n != f"{provider.id}:{model.id}"],
            hint=f"{provider.id} lists {model.id} without an input price; "
            "a price of your own is written usd:INPUT/OUTPUT, in USD per million tokens",
        )
    if (day - result.price_date).days > STALE_AFTER_DAYS:
        warnings.warn(
            f"the price list is of {result.price_date.isoformat()}, {day.isoformat()} was asked "
            "for\nhint: pip install --upgrade genai-prices",
            StalePriceWarning,
            stacklevel=2,
        )
    return result


def _tariff(name: str) -> tuple[str, str]:
    """Split ``NAME@TARIFF``; a model id may have an ``@`` of its own."""
    base, at, tariff = name.rpartition("@")
    if at and tariff.casefold() in (*TARIFFS, "standard"):
        return base, tariff.casefold()
    return name, "standard"


def _rates(model: ModelInfo, moment: datetime, tariff: str) -> ModelPrice | None:
    """Return the rates of a tariff; None if the list has none that differs from the standard."""
    if tariff == "standard":
        return model.get_prices(moment)
    context = TARIFFS[tariff]
    listed = any(
        variant.when.items() <= context.items()
        and (variant.constraint is None or variant.constraint.active(moment))
        for variant in model.price_variants or ()
    )
    return model.get_prices(moment, context) if listed else None


def _tariffs_of(name: str, model: ModelInfo) -> list[str]:
    """Return the names of the tariffs that a model has."""
    listed = [variant.when for variant in model.price_variants or ()]
    own = [t for t, context in TARIFFS.items() if any(w.items() <= context.items() for w in listed)]
    return [name, *(f"{name}@{tariff}" for tariff in own)]


def price_names() -> tuple[str, ...]:
    """Return every ``PROVIDER:MODEL`` of the installed list that has an input price, sorted."""
    from genai_prices.data_snapshot import get_snapshot

    names = {
        f"{provider.id}:{model.id}"
        for provider in get_snapshot().providers
        for model in provider.models
        if _has_input_price(model)
    }
    return tuple(sorted(names))


def _has_input_price(model: ModelInfo) -> bool:
    if isinstance(model.prices, list):
        return any(_base(entry.prices.input_mtok) for entry in model.prices)
    return bool(_base(model.prices.input_mtok))


def _find(name: str) -> tuple[Provider, ModelInfo] | None:
    """Find provider and model: a known provider before ``:``, else by the rules for names."""
    from jeton.catalog.model_names import find_listed

    found = find_listed(name)
    return None if found is None else (found.provider, found.model)


def nearest_prices(name: str) -> tuple[str, ...]:
    """Return the nearest names, spelt so that they can be used as they stand."""
    names = price_names()
    if name.casefold().startswith("ft:"):
        # A fine-tuned model is nearest to what it was tuned from.
        name = name.split(":")[1]
    if ":" in name and fold(name.partition(":")[0]) in {n.partition(":")[0] for n in names}:
        return nearest(name, names)
    full_names: dict[str, list[str]] = {}
    for full in names:
        full_names.setdefault(full.partition(":")[2], []).append(full)
    offered = []
    for model_id in nearest(name, full_names):
        found = _find(model_id)
        usable = found is not None and _has_input_price(found[1]) and found[1].id == model_id
        offered.append(model_id if usable else full_names[model_id][0])
    return tuple(offered)


def _listed_price(
    provider: Provider, model: ModelInfo, rates: ModelPrice, day: date, tariff: str = "standard"
) -> ApiPrice | None:
    """Return a list price; None if it has no input price or a rate that is not understood."""
    if not _base(rates.input_mtok):
        return None
    starts = {0}
    for rate in (
        rates.input_mtok,
        rates.cache_read_mtok,
        rates.output_mtok,
        rates.cache_write_mtok,
        rates.cache_write_1h_mtok,
    ):
        starts.update(tier.start for tier in getattr(rate, "tiers", ()))
    tiers = tuple(
        PriceTier(
            above_input_tokens=start,
            usd_per_mtok_input=_rate_above(rates.input_mtok, start) or Decimal(0),
            usd_per_mtok_cached_input=_rate_above(rates.cache_read_mtok, start),
            usd_per_mtok_output=_rate_above(rates.output_mtok, start),
            usd_per_mtok_cache_write=_rate_above(rates.cache_write_mtok, start),
            usd_per_mtok_cache_write_1h=_rate_above(rates.cache_write_1h_mtok, start),
        )
        for start in sorted(starts)
    )
    kind = "price" if tariff == "standard" else f"{tariff} price"
    parts = [
        list_name(),
        f"{kind} of {provider.id} for {model.id} in force on {day.isoformat()}",
    ]
    if isinstance(model.prices, list) and any(
        type(entry.constraint).__name__ == "TimeOfDateConstraint" for entry in model.prices
    ):
        parts.append("it differs by time of day, this is at 12:00 UTC")
    if not any(model is own for own in provider.models):
        parts.append("taken over from the price of the model's maker")
    if provider.pricing_urls:
        parts.append(provider.pricing_urls[0])
    return ApiPrice(
        provider=provider.id,
        model=model.id,
        usd_per_mtok_input=tiers[0].usd_per_mtok_input,
        usd_per_mtok_cached_input=tiers[0].usd_per_mtok_cached_input,
        usd_per_mtok_output=tiers[0].usd_per_mtok_output,
        usd_per_request=(_base(rates.requests_kcount) or Decimal(0)) / 1000,
        tiers=tiers,
        price_date=list_date(),
        valid_on=day,
        source="; ".join(parts),
        tariff=tariff,
        _list_price=rates,
    )


def _base(rate: Decimal | TieredPrices | None) -> Decimal | None:
    return rate if rate is None or isinstance(rate, Decimal) else rate.base


def _rate_above(rate: Decimal | TieredPrices | None, start: int) -> Decimal | None:
    """Return the rate for a prompt just longer than ``start`` (tiers begin above their start)."""
    if rate is None or isinstance(rate, Decimal):
        return rate
    if start == 0 and not any(tier.start == 0 for tier in rate.tiers):
        return rate.base
    return next((t.price for t in reversed(rate.tiers) if start >= t.start), rate.base)


def list_name() -> str:
    """Return the name of the installed list, with its version and date."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}, list of {list_date().isoformat()}"


def list_date() -> date:
    """Return how new the installed list is.

    The package carries no date of its own, so this is the newest day on which one of its entries
    says it was checked (days in the future, announced changes, do not count); a list that was
    updated in the running process has the time of the update.
    """
    from genai_prices.data_snapshot import get_snapshot

    snapshot = get_snapshot()
    if snapshot.from_auto_update:
        return snapshot.timestamp.date()
    global _newest
    day = datetime.now(tz=UTC).date()
    # Asked for once per day and model of a bill, and the notes are many: the last answer is kept.
    kept = _newest
    if kept is None or kept[0] is not snapshot or kept[1] != day:
        kept = _newest = (snapshot, day, _newest_note(snapshot, day))
    return kept[2]


_newest: tuple[DataSnapshot, date, date] | None = None
"""The list that was asked about last, the day, and the answer."""


def _newest_note(snapshot: DataSnapshot, day: date) -> date:
    """Return the newest day up to ``day`` on which a note of the list says it was checked."""
    today = day.isoformat()
    days: set[str] = set()
    for provider in snapshot.providers:
        days.update(_CHECKED_ON.findall(provider.price_comments or ""))
        for model in provider.models:
            days.update(_CHECKED_ON.findall(model.price_comments or ""))
    newest = max((day for day in days if day <= today), default=None)
    # A list that states no day at all cannot be dated; it is taken to be as old as can be.
    return date.min if newest is None else date.fromisoformat(newest)


def _custom_price(name: str, day: date) -> ApiPrice:
    """Read ``usd:INPUT`` or ``usd:INPUT/OUTPUT``, in USD per million tokens."""
    text = name[len(_CUSTOM_PREFIX) :]
    input_text, slash, output_text = text.partition("/")
    rates = [_usd(input_text, name)] + ([_usd(output_text, name)] if slash else [])
    if rates[0] == 0:
        raise UsageError(
            f"the price {name!r} has no cost per input token; expected a number above zero\n"
            "hint: leave the price out if no money is at stake"
        )
    tier = PriceTier(
        above_input_tokens=0,
        usd_per_mtok_input=rates[0],
        usd_per_mtok_cached_input=None,
        usd_per_mtok_output=rates[1] if slash else None,
    )
    return ApiPrice(
        provider=USER_PROVIDER,
        model=name,
        usd_per_mtok_input=tier.usd_per_mtok_input,
        usd_per_mtok_cached_input=None,
        usd_per_mtok_output=tier.usd_per_mtok_output,
        usd_per_request=Decimal(0),
        tiers=(tier,),
        price_date=day,
        valid_on=day,
        source=f"given by the user as {name} on {day.isoformat()}",
    )


def _usd(text: str, name: str) -> Decimal:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0:
        raise UsageError(
            f"cannot read {text!r} in the price {name!r}; expected USD per million tokens\n"
            "hint: usd:0.40 for input alone, usd:0.40/1.60 for input and output"
        )
    if value and not _LEAST_USD <= value <= _MOST_USD:
        raise UsageError(
            f"{text.strip()[:40]!r} in the price {name[:80]!r} is no price; expected 0 or "
            f"{_LEAST_USD} to {_MOST_USD:,} USD per million tokens\n"
            "hint: usd:0.40 for input alone, usd:0.40/1.60 for input and output"
        )
    # More digits than any sum keeps would only be rounded later.
    rounded = round(value, _USD_PLACES)
    return value if rounded == value else rounded
