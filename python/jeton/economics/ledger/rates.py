"""Prices as pricing needs them: periods, steps by prompt length, and rates by dimension.

A price of the list may begin on a day, hold for hours of the day, step up with the length of the
prompt and differ by tariff. `PriceOf` answers for whole arrays which period and step each request
has; `Rates` are the numbers that hold for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton.catalog.api_price import ApiPrice, PriceTier
from jeton.catalog.premiums import premium_of
from jeton.dimensions import DIMENSIONS, SCALE, holds

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

    from jeton.catalog.model_names import ListedModel

_RATE_STEP = Decimal("1e-20")
"""Rates by the hour, split into milliseconds, are rounded here once: 1e-13 of the smallest rate.
Sums are then exact whatever they are taken over."""

_DAY_S = 86_400
_MIN_TIME_S = -62_135_596_800
_MAX_TIME_S = 253_402_300_799


class Rates:
    """Rates that hold for one price, period and step.

    Attributes:
        usd_per_unit: USD for one stored unit, by dimension; parts priced apart have their own.
        above_input_tokens: The rates hold for prompts longer than this; 0: for all.
    """

    def __init__(self, usd_per_unit: Mapping[str, Decimal], above_input_tokens: int = 0) -> None:
        self.usd_per_unit = usd_per_unit
        self.above_input_tokens = above_input_tokens
        narrow = sorted(usd_per_unit, key=lambda n: (-len(DIMENSIONS[n].attributes), n))
        # Narrow ones first: what a wide one is left with is known when its parts are.
        self._order = [
            (name, [part for part in narrow[:place] if holds(name, part)])
            for place, name in enumerate(narrow)
        ]

    def times(self, factor: Decimal) -> Rates:
        """Return the rates with those of tokens multiplied; fees for searches stay."""
        if factor == 1:
            return self
        tokens = {n for n in self.usd_per_unit if DIMENSIONS[n].unit == "tokens"}
        return Rates(
            {n: r * factor if n in tokens else r for n, r in self.usd_per_unit.items()},
            self.above_input_tokens,
        )

    def leaves(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """Split amounts so that every unit stands under the narrowest dimension with a rate."""
        found: dict[str, int] = {}
        for name, parts in self._order:
            left = amounts.get(name, 0)
            for part in parts:
                left -= found[part]
            found[name] = left
        return {name: n for name, n in found.items() if n}

    def usd_of_rows(
        self, units: Mapping[str, NDArray[np.int64]], n_rows: int
    ) -> NDArray[np.float64]:
        """Return the dollars of each row of amounts, as floats; the sum is for `leaves` to make."""
        found: dict[str, NDArray[np.int64]] = {}
        usd = np.zeros(n_rows)
        for name, parts in self._order:
            left = units.get(name)
            if left is None:
                left = np.zeros(n_rows, dtype=np.int64)
            for part in parts:
                left = left - found[part]
            found[name] = left
            usd += left * float(self.usd_per_unit[name])
        return usd

    def charged_as(self, dimension: str) -> str | None:
        """Return the dimension whose rate holds for another: itself, or the nearest above."""
        above = [name for name in self.usd_per_unit if holds(name, dimension)]
        return max(above, key=lambda name: len(DIMENSIONS[name].attributes), default=None)


class ListPrice:
    """A price of the installed list."""

    def __init__(self, listed: ListedModel, contexts: Sequence[Mapping[str, str]]) -> None:
        model = listed.model
        self.provider = listed.provider.id
        self.model = model.id
        self.is_of_maker = bool(listed.asked_provider)
        self.source = ""
        self.source_date = date.min  # the list's own date is one for all its prices
        groq_whisper = ("whisper-large-v3", "whisper-large-v3-turbo")
        # Groq bills at least ten seconds of audio a request, as the list's own reckoning has it.
        self.least_audio_ms = 10_000 if self.provider == "groq" and model.id in groq_whisper else 0
        self._model = model
        self._contexts = contexts
        self._context = {key: value for context in contexts for key, value in context.items()}
        conditional = model.prices if isinstance(model.prices, list) else []
        self._constraints = [entry.constraint for entry in conditional]
        # Variants hold only in the provider's own list, as the list's own reckoning has it.
        variants = (model.price_variants or []) if listed.is_own and self._context else []
        self._variants = [
            v for v in variants if all(self._context.get(k) == own for k, own in v.when.items())
        ]
        constraints = [*self._constraints, *(v.constraint for v in self._variants)]
        self.differs_by_hour = any(hasattr(c, "end_time") for c in constraints)
        self._factor = Decimal(1)
        self._premium_from_s = 0.0
        premium = premium_of(self.provider, model.id, self._context)
        if premium is not None:
            self._factor, self._premium_from_s = premium.factor, premium.from_s
            self._contexts = [c for c in contexts if "inference_geo" not in c]
        self._moments: dict[int, float] = {}
        self._first_s = 0.0
        self._prices: dict[int, tuple[ModelPrice, tuple[int, ...]]] = {}
        self._rates: dict[tuple[int, int], Rates] = {}

    @property
    def has_rates(self) -> bool:
        """True if the list has any price for the model; a price of zero is one."""
        prices = self._model.prices
        entries = [e.prices for e in prices] if isinstance(prices, list) else [prices]
        return any(v is not None for own in entries for v in own.__dict__.values())

    def periods(self, time_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return a number for each request that tells which prices are in force."""
        times = np.clip(time_s, _MIN_TIME_S, _MAX_TIME_S)
        code = np.zeros(len(times), dtype=np.int64)
        for place, constraint in enumerate(self._constraints):
            code[_active(constraint, times)] = place
        if self._premium_from_s:
            code += (times >= self._premium_from_s).astype(np.int64) << _PREMIUM_BIT
        for place, variant in enumerate(self._variants):
            active = _active(variant.constraint, times)
            early = self._is_early(variant.constraint, times, active)
            code += (active | early).astype(np.int64) << (_VARIANT_BITS + place)
            code += early.astype(np.int64) << _EARLY_BIT if early.any() else 0
        for number, first in zip(*np.unique(code, return_index=True), strict=True):
            self._moments.setdefault(int(number), float(times[first]))
        return code

    def _is_early(
        self, constraint: Any, time_s: NDArray[np.float64], active: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Tell which moments precede the list's price of a tariff, at equal standard rates.

        The list dates a tariff by the day on which it learnt of it; the discount is older.
        """
        early = np.zeros(len(time_s), dtype=np.bool_)
        start = getattr(constraint, "start_date", None)
        if start is None or active.all():
            return early
        first = datetime.combine(start, time(), tzinfo=UTC)
        standard = self._model.get_prices(first, None)
        days = np.floor(time_s / _DAY_S)
        for day in np.unique(days[~active]):
            moment = datetime.fromtimestamp(float(day) * _DAY_S, tz=UTC)
            early |= (days == day) & (self._model.get_prices(moment, None) == standard)
        early &= ~active
        if early.any():
            self._first_s = max(self._first_s, first.timestamp())
        return early

    def is_early(self, period: int) -> bool:
        """True if the list has the tariff's price only from a later day: that one is taken."""
        return bool(period >> _EARLY_BIT & 3)

    def steps(self, period: int) -> Sequence[int]:
        """Prompt lengths above which other rates hold, in order."""
        return self._price(period)[1]

    def rates(self, period: int, step: int) -> Rates:
        """Return the rates of a period after so many steps."""
        found = self._rates.get((period, step))
        if found is None:
            price, starts = self._price(period)
            found = _list_rates(price, starts[step - 1] if step else 0)
            if self._moments[period] >= self._premium_from_s:
                found = found.times(self._factor)
            self._rates[period, step] = found
        return found

    def lacks_tariff(self, period: int) -> bool:
        """True if a part of the tariff has no price in the list at that time."""
        active = [
            variant
            for place, variant in enumerate(self._variants)
            if period >> (_VARIANT_BITS + place) & 1
        ]
        return not all(
            any(v.when.items() <= context.items() for v in active) for context in self._contexts
        )

    def _price(self, period: int) -> tuple[ModelPrice, tuple[int, ...]]:
        found = self._prices.get(period)
        if found is None:
            second = self._moments[period]
            if self.is_early(period):
                second = self._first_s + second % _DAY_S
            moment = datetime.fromtimestamp(second, tz=UTC)
            context = self._context if self._variants else None
            price = self._model.get_prices(moment, context)
            starts = {
                tier.start
                for rate in price.__dict__.values()
                for tier in getattr(rate, "tiers", ())
            }
            found = self._prices[period] = (price, tuple(sorted(starts)))
        return found


_PREMIUM_BIT = 40
_EARLY_BIT = 41
_VARIANT_BITS = 8
"""Bits of a period's number for the conditional prices (the list has at most 5 a model)."""


def _active(constraint: Any, time_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell for each moment whether a constraint of the list holds."""
    if constraint is None:
        return np.ones(len(time_s), dtype=np.bool_)
    start = getattr(constraint, "start_date", None)
    if start is not None:
        return np.asarray(time_s >= datetime.combine(start, time(), tzinfo=UTC).timestamp())
    first, last = getattr(constraint, "start_time", None), getattr(constraint, "end_time", None)
    if first is not None and last is not None:
        second = time_s % _DAY_S
        begins, ends = _second_of_day(first), _second_of_day(last)
        if ends < begins:
            return np.asarray((second >= begins) | (second < ends))
        return np.asarray((second >= begins) & (second < ends))
    # A kind of constraint that this version does not know is asked itself, once a moment.
    moments, inverse = np.unique(time_s, return_inverse=True)
    asked = [constraint.active(datetime.fromtimestamp(float(t), tz=UTC)) for t in moments]
    return np.array(asked, dtype=np.bool_)[inverse.reshape(-1)]


def _second_of_day(value: time) -> float:
    if value.tzinfo is not None:
        value = datetime.combine(date(1970, 1, 2), value).astimezone(UTC).time()
    return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6


def _list_rates(price: ModelPrice, above_input_tokens: int) -> Rates:
    from genai_prices.data_units import unit_data

    prompt_tokens = above_input_tokens + 1 if above_input_tokens else 0
    found = {}
    for name, unit in unit_data.items():
        rate = getattr(price, unit["price_key"], None)
        if rate is None:
            continue
        if not isinstance(rate, Decimal):
            tier = next((t for t in reversed(rate.tiers) if prompt_tokens > t.start), None)
            rate = rate.base if tier is None else tier.price
        found[name] = _per_stored_unit(rate, int(unit["per"]) * SCALE[name])
    return Rates(found, above_input_tokens)


def _per_stored_unit(rate: Decimal, per: int) -> Decimal:
    # Powers of ten divide exactly; hours do not.
    return rate / per if set(str(per)) <= {"0", "1"} else (rate / per).quantize(_RATE_STEP)


class GivenPrice:
    """A price that the caller gives: one, or one a day."""

    def __init__(self, model: str, find: Callable[[date | None], ApiPrice]) -> None:
        first = find(None)
        self.provider = first.provider
        self.model = first.model if first.provider != "user" else model
        self.is_of_maker = False
        self.least_audio_ms = 0
        self.differs_by_hour = False
        self._find = find
        self._by_day: dict[int, ApiPrice] = {}
        self.source = first.source
        self.source_date = first.price_date

    def periods(self, time_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the day of each request."""
        days = np.floor(np.clip(time_s, _MIN_TIME_S, _MAX_TIME_S) / _DAY_S).astype(np.int64)
        codes = days.copy()
        for day in np.unique(days):
            price = self._find(datetime.fromtimestamp(int(day) * _DAY_S, tz=UTC).date())
            known = next((d for d, own in self._by_day.items() if own.tiers == price.tiers), None)
            if known is None:
                self._by_day[int(day)] = price
            else:
                codes[days == day] = known
        return codes

    def steps(self, period: int) -> Sequence[int]:
        """Prompt lengths above which other rates hold, in order."""
        return [tier.above_input_tokens for tier in self._by_day[period].tiers[1:]]

    def rates(self, period: int, step: int) -> Rates:
        """Return the rates of a day after so many steps."""
        price = self._by_day[period]
        tier = price.tiers[step]
        if price._list_price is not None:
            return _list_rates(price._list_price, tier.above_input_tokens if step else 0)
        million = Decimal(1_000_000)
        found = {
            "input_tokens": tier.usd_per_mtok_input / million,
            "cache_read_tokens": tier.cache_read_rate / million,
            "cache_write_tokens": tier.cache_write_rate / million,
            "cache_write_1h_tokens": tier.cache_write_1h_rate / million,
        }
        if tier.usd_per_mtok_output is not None:
            found["output_tokens"] = tier.usd_per_mtok_output / million
        if price.usd_per_request:
            found["requests"] = price.usd_per_request
        return Rates(found, tier.above_input_tokens if step else 0)

    def is_early(self, period: int) -> bool:
        """Always False: a price is given for the day that was asked for."""
        return False

    def lacks_tariff(self, period: int) -> bool:
        """Always False: a price is given for the tariff that was asked for."""
        return False


def free_price(provider: str, model: str) -> GivenPrice:
    """Return the price of a model that costs nothing."""
    zero, on = Decimal(0), date.min
    tier = PriceTier(0, zero, None, zero)
    price = ApiPrice(
        provider, model, zero, None, zero, zero, (tier,), on, on, "free by the name of its variant"
    )
    return GivenPrice(model, lambda day: price)


PriceOf = ListPrice | GivenPrice
"""A price of one model at one provider and tariff, over time and prompt lengths."""
