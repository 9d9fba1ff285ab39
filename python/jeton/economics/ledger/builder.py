"""Requests into sums: rows of columns are grouped by price, period and step, and added up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.catalog.model_map import ModelMap
from jeton.dimensions import NOT_BILLED
from jeton.economics.ledger.amounts import Amounts, SumTable, amounts_of, grouped_sums
from jeton.economics.ledger.cells import FREE_TARIFF, Assumed, PriceKey
from jeton.economics.ledger.prices import NoPrice, PriceBook, Prices
from jeton.economics.ledger.rates import PriceOf
from jeton.economics.ledger.result import Ledger
from jeton.economics.ledger.rows import STANDARD, UsageColumns, UsageRows
from jeton.economics.ledger.views import Tables, ledger_of_tables
from jeton.errors import UsageError

_HOUR_S = 3_600
_FIRST_S = -62_135_596_800
_LAST_S = 253_402_300_800

_Missing = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Names:
    models: Sequence[str]
    providers: Sequence[str]
    tariffs: Sequence[str]
    domains: Sequence[str]


class LedgerBuilder:
    """Takes rows in batches and makes a `Ledger` of them.

    Args:
        prices: Prices by name, or a function of model, day and tariff; None: the installed list.
        model_map: Names of one's own for models.
        strict: True if a request without a price is an error at the end, naming all such names.
        on: Day whose prices hold for requests without a time; today (UTC) by default.
    """

    def __init__(
        self,
        *,
        prices: Prices | None = None,
        model_map: ModelMap | Mapping[str, str] | None = None,
        strict: bool = False,
        on: date | None = None,
    ) -> None:
        if model_map is not None and not isinstance(model_map, ModelMap):
            model_map = ModelMap(model_map)
        self._book = PriceBook(prices, model_map)
        self._strict = strict
        self._on = on or datetime.now(tz=UTC).date()
        self._noon_s = datetime.combine(self._on, time(12), tzinfo=UTC).timestamp()
        self._keys: dict[tuple[Any, ...], int] = {}
        self._key_list: list[PriceKey] = []
        self._sources: dict[str, date] = {}
        self._by_hour = SumTable[tuple[int, int | None]]()
        self._by_domain = SumTable[tuple[int, str]]()
        self._missing = SumTable[tuple[_Missing, int | None]]()
        self._missing_list: list[_Missing] = []
        self._missing_places: dict[_Missing, int] = {}
        self._nearest: dict[_Missing, tuple[str, ...]] = {}
        self._first_s = math.inf
        self._last_s = -math.inf

    # -- taking rows ----------------------------------------------------------------------------

    def add(
        self,
        columns: UsageColumns,
        *,
        models: Sequence[str] | None = None,
        providers: Sequence[str] | None = None,
        tariffs: Sequence[str] | None = None,
        domains: Sequence[str] | None = None,
        sign: int = 1,
    ) -> None:
        """Add rows.

        Args:
            columns: The rows; `UsageRows` bring their names with them.
            models: Names that ``columns.model`` indexes.
            providers: Names that ``columns.provider`` indexes.
            tariffs: Names that ``columns.tariff`` indexes; the first is ``standard``.
            domains: Names that ``columns.domain`` indexes.
            sign: -1 takes rows out that were added before.
        """
        names = _Names(
            _own(columns, "models", models, ()),
            _own(columns, "providers", providers, ()),
            _own(columns, "tariffs", tariffs, (STANDARD,)),
            _own(columns, "domains", domains, ()),
        )
        if not len(columns):
            return
        self._take(columns, names, sign=sign)

    def usd_of_rows(
        self,
        columns: UsageColumns,
        *,
        models: Sequence[str],
        providers: Sequence[str],
        tariffs: Sequence[str],
    ) -> NDArray[np.float64]:
        """Return the dollars of each row by the rates of the ledger; NaN where it has no price.

        Nothing is added to the sums. For comparing rows: money that is shown is the exact sum.
        """
        usd = np.full(len(columns), math.nan)
        if not len(columns):
            return usd
        amounts = amounts_of(columns)
        names = _Names(models, providers, tariffs, ())
        _, timed, times = self._times(columns)
        several = np.asarray(columns.n_requests) > 1
        place = self._places(columns, names, amounts, times, ~timed | several)
        for number in np.unique(place[place >= 0]):
            rows = np.flatnonzero(place == number)
            rates = self._key_list[int(number)].rates
            units = {name: values[rows] for name, values in amounts.units.items()}
            usd[rows] = 0.0 if rates is None else rates.usd_of_rows(units, len(rows))
        return usd

    def merge(self, other: LedgerBuilder) -> None:
        """Add everything that another builder has taken."""
        places = [self._key_place(key) for key in other._key_list]
        hours = [(places[place], hour) for place, hour in other._by_hour.known()]
        self._by_hour.merge(hours, other._by_hour)
        domains = [(places[place], domain) for place, domain in other._by_domain.known()]
        self._by_domain.merge(domains, other._by_domain)
        self._missing.merge(other._missing.known(), other._missing)
        self._nearest.update(other._nearest)
        self._sources.update(other._sources)
        self._first_s = min(self._first_s, other._first_s)
        self._last_s = max(self._last_s, other._last_s)

    def build(
        self,
        *,
        joined: Mapping[str, int] | None = None,
        period: str = "",
        requests_per_day: int | float | Decimal | None = None,
    ) -> Ledger:
        """Return the ledger of everything that was taken.

        Args:
            joined: Records that were no requests of their own, by kind.
            period: Time that the log covers, where its own times do not tell (`parse_period`).
            requests_per_day: Traffic, where it is known; the log is then a sample of it.

        Raises:
            UnknownPriceError: If requests have no price and that is an error; names all.
            UsageError: If the period or the traffic cannot be read.
        """
        tables = Tables(
            keys=tuple(self._key_list),
            by_hour=dict(self._by_hour.cells()),
            by_domain=dict(self._by_domain.cells()),
            missing=dict(self._missing.cells()),
            nearest=self._nearest,
            first_s=self._first_s if math.isfinite(self._first_s) else None,
            last_s=self._last_s if math.isfinite(self._last_s) else None,
            sources=dict(self._sources),
            on=self._on,
            noon_s=self._noon_s,
            book=self._book,
        )
        ledger = ledger_of_tables(
            tables, joined=joined or {}, period=period, requests_per_day=requests_per_day
        )
        if self._strict:
            ledger.require_prices()
        return ledger

    def __getstate__(self) -> dict[str, Any]:
        """The sums; prices stay where they are, so that a copy can only be merged."""
        return {name: value for name, value in self.__dict__.items() if name != "_book"}

    # -- one batch ------------------------------------------------------------------------------

    def _take(self, columns: UsageColumns, names: _Names, *, sign: int) -> None:
        amounts = amounts_of(columns)
        seconds, timed, times = self._times(columns)
        hour = np.full(len(columns), _NO_HOUR, dtype=np.int64)
        hour[timed] = np.floor(seconds[timed] / _HOUR_S).astype(np.int64)
        if sign > 0 and timed.any():
            self._first_s = min(self._first_s, float(seconds[timed].min()))
            self._last_s = max(self._last_s, float(seconds[timed].max()))
        several = np.asarray(columns.n_requests) > 1
        place = self._places(columns, names, amounts, times, ~timed | several)
        self._sum_up(place, hour, columns, names, amounts, sign)

    def _times(
        self, columns: UsageColumns
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
        """Return the times as logged, whether they are any, and those that prices are taken at."""
        seconds = np.asarray(columns.time_s, dtype=np.float64)
        timed = (seconds >= _FIRST_S) & (seconds < _LAST_S)
        # Rows that stand for several requests say when they began, not when each was.
        times = np.where(timed, seconds, self._noon_s)
        several = np.asarray(columns.n_requests) > 1
        times = np.where(timed & several, np.floor(times / _DAY_S) * _DAY_S + _NOON_S, times)
        return seconds, timed, times

    def _places(
        self,
        columns: UsageColumns,
        names: _Names,
        amounts: Amounts,
        times: NDArray[np.float64],
        no_hour: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """Return for each row the place of its price; below 0 the place of a reason for none."""
        n = len(columns)
        place = np.zeros(n, dtype=np.int64)
        combined = (
            (np.asarray(columns.model, np.int64) + 1) << 40
            | (np.asarray(columns.provider, np.int64) + 1) << 16
            | np.asarray(columns.tariff, np.int64)
        )
        free = np.asarray(columns.from_gateway_cache, dtype=np.bool_)
        order = np.argsort(combined, kind="stable")
        found, starts = np.unique(combined[order], return_index=True)
        for own, rows in zip(found, np.split(order, starts[1:]), strict=True):
            model = _name(names.models, (int(own) >> 40) - 1)
            provider = _name(names.providers, (int(own) >> 16 & 0xFFFFFF) - 1)
            tariff = _name(names.tariffs, int(own) & 0xFFFF) or STANDARD
            is_free = free[rows]
            if tariff == NOT_BILLED:
                is_free = np.ones(len(rows), dtype=np.bool_)
            if is_free.any():
                word = NOT_BILLED if tariff == NOT_BILLED else FREE_TARIFF
                for payer, own_rows in _by_payer(amounts, rows[is_free]):
                    key = PriceKey("", model, model, word, Assumed.NOTHING, None, payer=payer)
                    place[own_rows] = self._key_place(key)
                rows = rows[~is_free]
            if not len(rows):
                continue
            price = self._book.find(model, provider, tariff)
            if isinstance(price, NoPrice):
                missing = (model, provider, f"{price.kind}\n{price.why}")
                self._nearest[missing] = price.nearest
                place[rows] = self._missing_place(missing)
                continue
            self._place_priced(place, rows, price, model, provider, tariff, amounts, times, no_hour)
        return place

    def _place_priced(
        self,
        place: NDArray[np.int64],
        rows: NDArray[np.intp],
        price: PriceOf,
        model: str,
        provider: str,
        tariff: str,
        amounts: Amounts,
        times: NDArray[np.float64],
        no_hour: NDArray[np.bool_],
    ) -> None:
        """Set the places of rows of one price, by period, step and what has to be assumed."""
        if price.source:
            self._sources.setdefault(price.source, price.source_date)
        if price.least_audio_ms:
            _raise_seconds(amounts, rows, price.least_audio_ms)
        base = Assumed.MAKER if price.is_of_maker else Assumed.NOTHING
        flags = np.full(len(rows), int(base), dtype=np.int64)
        if price.differs_by_hour:
            flags |= np.where(no_hour[rows], int(Assumed.TIME), 0)
        period = price.periods(times[rows])
        for code in np.unique(period):
            in_period = period == code
            own = rows[in_period]
            own_flags = flags[in_period]
            steps = price.steps(int(code))
            step = np.searchsorted(np.array(steps), amounts.prompt_tokens[own], side="left")
            if steps:
                # A sum below the first step has no request above it.
                may_step = amounts.is_mean_prompt[own] & (amounts.all_prompts[own] > steps[0])
                own_flags = own_flags | np.where(may_step, int(Assumed.STEP), 0)
            if price.lacks_tariff(int(code)):
                own_flags = own_flags | int(Assumed.TARIFF)
            if price.is_early(int(code)):
                own_flags = own_flags | int(Assumed.TARIFF_DATE)
            priced = price.rates(int(code), 0).usd_per_unit
            if any(name.startswith("cache_") and name in _KINDS_CACHED for name in priced):
                overlap = amounts.assumes_overlap[own]
                own_flags = own_flags | np.where(overlap, int(Assumed.OVERLAP), 0)
            wants_input, wants_output = "input_tokens" in priced, "output_tokens" in priced
            no_input = wants_input & ~amounts.knows_input[own]
            no_output = wants_output & ~amounts.knows_output[own]
            own_flags = own_flags | np.where(no_input, int(Assumed.INPUT), 0)
            own_flags = own_flags | np.where(no_output, int(Assumed.OUTPUT), 0)
            doubtful = amounts.fact("doubtful_requests")[own] > 0
            own_flags = own_flags | np.where(doubtful, int(Assumed.USAGE), 0)
            own_flags = own_flags | _payers(amounts, own) << _PAYER_BITS
            group = own_flags * (len(steps) + 1) + step
            for number in np.unique(group):
                flag, level = divmod(int(number), len(steps) + 1)
                payer, flag = divmod(flag, 1 << _PAYER_BITS)
                key = PriceKey(
                    price.provider, price.model, model, tariff, Assumed(flag),
                    price.rates(int(code), level),
                    provider,
                    _PAYERS[payer],
                )  # fmt: skip
                place[own[group == number]] = self._key_place(key)
            self._set_unusable(place, own, no_input, no_output, priced, amounts, model, provider)

    def _set_unusable(
        self,
        place: NDArray[np.int64],
        rows: NDArray[np.intp],
        no_input: NDArray[np.bool_],
        no_output: NDArray[np.bool_],
        priced: Mapping[str, Any],
        amounts: Amounts,
        model: str,
        provider: str,
    ) -> None:
        contradicts = amounts.contradicts[rows]
        if contradicts.any():
            missing = (model, provider, "counts_contradict\na part is larger than its whole")
            place[rows[contradicts]] = self._missing_place(missing)
        # Nothing is known of what the price charges for: no token, and no other amount either.
        wants_tokens = ("input_tokens" in priced) or ("output_tokens" in priced)
        unknown = wants_tokens & (no_input | ("input_tokens" not in priced))
        unknown &= no_output | ("output_tokens" not in priced)
        for name in priced:
            if name in amounts.units and name != "requests":
                unknown &= amounts.units[name][rows] == 0
        unknown &= ~contradicts
        if unknown.any():
            missing = (model, provider, "no_counts\nthe log does not say how many tokens")
            place[rows[unknown]] = self._missing_place(missing)

    def _sum_up(
        self,
        place: NDArray[np.int64],
        hour: NDArray[np.int64],
        columns: UsageColumns,
        names: _Names,
        amounts: Amounts,
        sign: int,
    ) -> None:
        counted = {**amounts.units, **amounts.facts}
        dims = list(counted)
        matrix = np.stack(list(counted.values()), axis=1) * sign
        is_priced = place >= 0
        own, priced = matrix[is_priced], place[is_priced]
        pairs, sums = grouped_sums(priced, hour[is_priced], own)
        hours = [(key, None if span == _NO_HOUR else span) for key, span in pairs]
        self._by_hour.add(hours, dims, sums)
        domain = np.asarray(columns.domain, dtype=np.int64)[is_priced]
        pairs, sums = grouped_sums(priced, domain, own)
        domains = [(key, _name(names.domains, number)) for key, number in pairs]
        self._by_domain.add(domains, dims, sums)
        if not is_priced.all():
            pairs, sums = grouped_sums(place[~is_priced], hour[~is_priced], matrix[~is_priced])
            reasons = [
                (self._missing_list[-1 - n], None if span == _NO_HOUR else span)
                for n, span in pairs
            ]
            self._missing.add(reasons, dims, sums)

    # -- places ---------------------------------------------------------------------------------

    def _key_place(self, key: PriceKey) -> int:
        rates = None if key.rates is None else tuple(key.rates.usd_per_unit.items())
        identity = (
            key.provider,
            key.model,
            key.logged_as,
            key.tariff,
            key.assumed,
            rates,
            key.logged_provider,
            key.payer,
        )
        place = self._keys.get(identity)
        if place is None:
            place = self._keys[identity] = len(self._key_list)
            self._key_list.append(key)
        return place

    def _missing_place(self, missing: _Missing) -> int:
        """Return a number below 0 for a reason why rows have no price."""
        place = self._missing_places.get(missing)
        if place is None:
            self._missing_list.append(missing)
            place = self._missing_places[missing] = -len(self._missing_list)
        return place


_PAYERS = ("", "log", "own key")
_PAYER_BITS = 16
"""Bits of the assumptions in the number of a group; the payer stands above them."""


def _payers(amounts: Amounts, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the place in `_PAYERS` of each row."""
    stated = amounts.fact("stated_requests")[rows] > 0
    return stated.astype(np.int64) + (amounts.fact("own_key_requests")[rows] > 0)


def _by_payer(amounts: Amounts, rows: NDArray[np.intp]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    payers = _payers(amounts, rows)
    for number in np.unique(payers):
        yield _PAYERS[int(number)], rows[payers == number]


_DAY_S = 86_400
_NOON_S = 43_200
_NO_HOUR = -(10**9)
_KINDS_CACHED = frozenset(f"cache_{kind}_read_tokens" for kind in ("audio", "image", "video"))


def _own(
    columns: UsageColumns, field: str, given: Sequence[str] | None, missing: Sequence[str]
) -> Sequence[str]:
    if given is not None:
        return given
    own: Sequence[str] = getattr(columns, field) if isinstance(columns, UsageRows) else missing
    return own


def _name(names: Sequence[str], number: int) -> str:
    if number < 0:
        return ""
    if number >= len(names):
        raise UsageError(f"a row refers to name {number}, but only {len(names)} are given")
    return names[number]


def _raise_seconds(amounts: Amounts, rows: NDArray[np.intp], least_ms: int) -> None:
    """Raise the seconds of each request to what is billed at least."""
    total, own = (amounts.units.get(k) for k in ("audio_seconds", "input_audio_seconds"))
    stated = total if total is not None else own
    if stated is None:
        return
    n_requests = amounts.units["requests"][rows]
    billed = np.where(stated[rows] > 0, np.maximum(stated[rows], least_ms * n_requests), 0)
    for name in ("audio_seconds", "input_audio_seconds"):
        values = amounts.units.get(name, np.zeros_like(stated)).copy()
        values[rows] = billed
        amounts.units[name] = values
