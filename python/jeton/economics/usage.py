"""What was used: tokens by model, day and tariff, in one convention whatever the provider's.

Prompt tokens include those read from a cache and those written to it; output tokens include
reasoning. `usage_records` adds up arrays of requests; `jeton.economics.bill_files` reads the
exports of providers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from jeton.catalog.api_price import ApiPrice
from jeton.errors import UnknownPriceError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Prices", "UsageRecord", "find_price", "usage_records"]


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Tokens of one request, or of many that are priced alike.

    Attributes:
        model: The model's name as the provider or the log writes it.
        input_tokens: Prompt tokens, those read from and written to a cache included.
        output_tokens: Generated tokens, reasoning included.
        cache_read_tokens: Prompt tokens read from a cache.
        cache_write_tokens: Prompt tokens written to a cache (all lifetimes).
        cache_write_1h_tokens: Those of them that are kept for an hour instead of minutes.
        reasoning_tokens: Those of the output that are reasoning.
        n_requests: Requests that the record adds up.
        day: Day of use (UTC); None if not known.
        tariff: ``standard``, ``batch``, ``flex`` or ``priority``.
        above_input_tokens: Start of the price tier that holds for all requests of the record; None
            picks the tier by ``input_tokens / n_requests``, which is exact for one request.
    """

    model: str
    input_tokens: int
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    n_requests: int = 1
    day: date | None = None
    tariff: str = "standard"
    above_input_tokens: int | None = None

    @property
    def is_consistent(self) -> bool:
        """Whether no count is negative and no part is larger than its whole."""
        counts = (
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.cache_write_1h_tokens,
            self.reasoning_tokens,
            self.output_tokens,
            self.n_requests,
        )
        return (
            min(counts) >= 0
            and self.cache_read_tokens + self.cache_write_tokens <= self.input_tokens
            and self.cache_write_1h_tokens <= self.cache_write_tokens
            and self.reasoning_tokens <= self.output_tokens
        )


Prices = Mapping[str, ApiPrice] | Callable[[str, date | None, str], ApiPrice]
"""Prices by model name (and ``NAME@TARIFF`` for another tariff than the standard one), or a
function of model, day and tariff such as `jeton.economics.bill.catalog_price`."""


def find_price(prices: Prices, model: str, day: date | None, tariff: str = "standard") -> ApiPrice:
    """Return a model's price.

    Raises:
        UnknownPriceError: If there is none; carries the nearest names.
    """
    if callable(prices):
        return prices(model, day, tariff)
    name = model if tariff == "standard" else f"{model}@{tariff}"
    found = prices.get(name)
    if found is None:
        from jeton._nearest import nearest

        raise UnknownPriceError(name, nearest=nearest(name, prices))
    return found


def usage_records(
    *,
    models: Sequence[str],
    model: NDArray[np.integer],
    input_tokens: NDArray[np.integer],
    output_tokens: NDArray[np.integer],
    cache_read_tokens: NDArray[np.integer] | None = None,
    cache_write_tokens: NDArray[np.integer] | None = None,
    reasoning_tokens: NDArray[np.integer] | None = None,
    time_s: NDArray[np.floating] | None = None,
    prices: Prices | None = None,
    tariff: str = "standard",
) -> tuple[tuple[UsageRecord, ...], int]:
    """Add up requests by model, day (UTC) and price tier; exact, whatever the number of requests.

    Args:
        models: Names that ``model`` indexes.
        model: int (n,), index of each request's model; -1 if not known.
        input_tokens: int (n,), tokens, cached ones included; -1 if not known.
        output_tokens: int (n,), tokens, reasoning included; -1 if not known.
        cache_read_tokens: int (n,), tokens; -1 counts as none.
        cache_write_tokens: int (n,), tokens; -1 counts as none.
        reasoning_tokens: int (n,), tokens; -1 counts as none.
        time_s: float (n,), seconds since 1970-01-01 UTC; NaN if not known.
        prices: Only for the steps of prices that depend on a prompt's length; None: none do.
        tariff: Tariff of all requests.

    Returns:
        The records in a fixed order (model, day, tier), and the number of requests that could not
        be used: without a model or without counts, with a part larger than its whole, or with
        more than `MOST_TOKENS`.

    Raises:
        UsageError: If the arrays differ in length.
        UnknownPriceError: If a model's price is asked for and not known.
    """
    import numpy as np

    n = len(model)
    columns = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cache_read_tokens": cache_read_tokens,
        "cache_write_tokens": cache_write_tokens,
        "reasoning_tokens": reasoning_tokens,
    }
    for name, column in (*columns.items(), ("time_s", time_s)):
        if column is not None and len(column) != n:
            raise UsageError(f"{name} has {len(column)} values for {n} requests; expected as many")
    filled = {
        name: np.zeros(n, np.int64)
        if column is None
        else np.maximum(np.asarray(column, dtype=np.int64), 0)
        for name, column in columns.items()
    }
    model_index = np.asarray(model, dtype=np.int64)
    cached = filled["cache_read_tokens"] + filled["cache_write_tokens"]
    usable = (
        (model_index >= 0)
        & (model_index < len(models))
        & (np.asarray(input_tokens) >= 0)
        & (np.asarray(output_tokens) >= 0)
        & (filled["input_tokens"] <= MOST_TOKENS)
        & (filled["output_tokens"] <= MOST_TOKENS)
        & (cached <= filled["input_tokens"])
        & (filled["reasoning_tokens"] <= filled["output_tokens"])
    )
    day = np.full(n, _NO_DAY, dtype=np.int64)
    if time_s is not None:
        seconds = np.asarray(time_s, dtype=np.float64)
        # Years 1 to 9999, which is what a date can hold; anything else is no time.
        known = (seconds > _FIRST_SECOND) & (seconds < _LAST_SECOND)
        day[known] = np.floor(seconds[known] / 86_400).astype(np.int64)
    tier = _tiers(models, model_index, filled["input_tokens"], usable, prices, tariff)
    # One key for each group, from the ranks of day and tier; then sums of runs, exact in integers.
    days, day_rank = np.unique(day, return_inverse=True)
    tiers, tier_rank = np.unique(tier, return_inverse=True)
    key = (model_index * len(days) + day_rank.reshape(-1)) * len(tiers) + tier_rank.reshape(-1)
    order = np.flatnonzero(usable)
    order = order[np.argsort(key[order], kind="stable")]
    groups, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
    sums = {
        name: np.add.reduceat(column[order], starts) if len(order) else column[:0]
        for name, column in filled.items()
    }
    records = tuple(
        UsageRecord(
            model=models[int(group) // len(tiers) // len(days)],
            n_requests=int(counts[place]),
            day=_date(int(days[int(group) // len(tiers) % len(days)])),
            tariff=tariff,
            above_input_tokens=int(tiers[int(group) % len(tiers)]),
            **{name: int(column[place]) for name, column in sums.items()},
        )
        for place, group in enumerate(groups)
    )
    return records, int(n - usable.sum())


def _date(day: int) -> date | None:
    return None if day == _NO_DAY else datetime.fromtimestamp(day * 86_400, tz=UTC).date()


MOST_TOKENS = 10**9
"""More tokens in one request than this are no count but a mistake: a thousand times the longest
context that anyone offers. It also keeps sums of 64 bits from running over."""

_NO_DAY = -(10**7)
"""Below any day that a date can hold."""
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_800


def _tiers(
    models: Sequence[str],
    model: NDArray[np.int64],
    input_tokens: NDArray[np.int64],
    usable: NDArray[np.bool_],
    prices: Prices | None,
    tariff: str,
) -> NDArray[np.int64]:
    """Return the start of each request's price tier."""
    import numpy as np

    tier = np.zeros(len(model), dtype=np.int64)
    if prices is None:
        return tier
    for index in np.unique(model[usable]):
        starts = [t.above_input_tokens for t in _tiers_of(prices, models[int(index)], tariff)]
        own = usable & (model == index)
        # A tier holds above its start: a prompt of exactly its start has the tier below.
        place = np.searchsorted(np.array(starts), input_tokens[own], side="left") - 1
        tier[own] = np.array(starts)[np.maximum(place, 0)]
    return tier


def _tiers_of(prices: Prices, model: str, tariff: str) -> tuple[_Tier, ...]:
    return find_price(prices, model, None, tariff).tiers


if TYPE_CHECKING:
    from jeton.catalog.api_price import PriceTier as _Tier
