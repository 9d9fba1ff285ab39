"""Endpoints as a router holds them: rates, times and limits as plain numbers, looked up once.

Rates come from the ledger's own price book, so that a choice and the bill agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np

from jeton import catalog
from jeton.catalog.api_price import USER_PROVIDER, ApiPrice, PriceTier
from jeton.catalog.model_names import find_listed
from jeton.catalog.prices import TARIFFS
from jeton.economics.ledger.prices import NoPrice, PriceBook
from jeton.economics.ledger.rates import PriceOf
from jeton.economics.money import TOKENS_PER_MTOK
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.memory_budget import DoesNotFitError, check_served
from jeton.economics.serving.own_gpu import OwnGpuCost, own_gpu_cost
from jeton.economics.traffic.step_times import StepTimes
from jeton.errors import UnknownPriceError, UsageError
from jeton.planning.routing.endpoints import Endpoint

_QUARTER_S: Final = 900
"""Prices by the hour change at full quarters: rates are looked up once for each."""


class QuickRates(NamedTuple):
    """Rates of one step of a price, in dollars for a token.

    Attributes:
        above_tokens: The step holds for prompts longer than this.
        fresh: A prompt token that is neither read from a cache nor written to one.
        read: A prompt token read from a cache.
        write: A prompt token written to a cache.
        output: A token of the answer.
        request: The request itself.
    """

    above_tokens: int
    fresh: float
    read: float
    write: float
    output: float
    request: float


_NO_QUARTER: Final = -(10**12)
_MAX_QUARTERS: Final = 4096
_MAX_TARIFFS: Final = 256

Seconds = Callable[[int], float]


class RateTable:
    """Rates of one price, looked up once for each quarter of an hour.

    Args:
        price: The price.
        noon_s: Moment of requests whose time is not known.
    """

    __slots__ = ("_by_quarter", "_noon_s", "_price")

    def __init__(self, price: PriceOf, noon_s: float) -> None:
        self._price = price
        self._noon_s = noon_s
        self._by_quarter: dict[int, tuple[QuickRates, ...]] = {}

    def rates(self, n_tokens: int, time_s: float) -> QuickRates:
        """Return the rates for a prompt of so many tokens at a time; NaN: noon of today."""
        quarter = int(time_s // _QUARTER_S) if time_s == time_s else _NO_QUARTER
        steps = self._by_quarter.get(quarter)
        if steps is None:
            if len(self._by_quarter) > _MAX_QUARTERS:
                self._by_quarter.clear()
            moment_s = self._noon_s if quarter == _NO_QUARTER else quarter * _QUARTER_S
            steps = self._by_quarter[quarter] = self._steps(float(moment_s))
        found = steps[0]
        if len(steps) > 1:
            for step in steps:
                if n_tokens > step.above_tokens:
                    found = step
        return found

    def _steps(self, moment_s: float) -> tuple[QuickRates, ...]:
        price = self._price
        period = int(price.periods(np.array([moment_s]))[0])
        starts = [0, *price.steps(period)]
        return tuple(
            _quick(start, price.rates(period, step).usd_per_unit)
            for step, start in enumerate(starts)
        )


@dataclass(slots=True, eq=False)
class Lane:
    """One endpoint, compiled.

    Attributes:
        endpoint: The endpoint.
        place: Its place among the endpoints.
        price_name: Name by which the ledger finds the price.
        tariff: Tariff of all requests; empty: each request's own.
        price: A price that is given; None: the list's.
        context_tokens: Limit of prompt and answer together; infinite where none is known.
        output_tokens: Limit of an answer; infinite where none is known.
        ttft_seconds: Time to the first token of a prompt of so many tokens; None: not known.
        token_seconds: Time of one token of an answer in a context of so many tokens.
        keeps_cache: True if cached prompt tokens cost less here.
        flat: The rates where they are the same for all prompts and times; None: they differ.
        output_ratio: Tokens of an answer here over those at the first endpoint.
        has_quality: True if the endpoint has scores.
    """

    endpoint: Endpoint
    place: int
    price_name: str
    tariff: str
    price: ApiPrice | None
    context_tokens: float
    output_tokens: float
    ttft_seconds: Seconds | None
    token_seconds: Seconds
    keeps_cache: bool
    flat: QuickRates | None
    output_ratio: float
    has_quality: bool
    _book: PriceBook
    _noon_s: float
    _table: RateTable
    _others: dict[str, RateTable]

    def rates(self, n_tokens: int, time_s: float, tariff: str = "") -> QuickRates:
        """Return the rates for a prompt of so many tokens.

        Args:
            n_tokens: Tokens of the prompt.
            time_s: When it was sent; NaN: noon of today.
            tariff: Tariff of the request; empty: the standard one. An endpoint's own comes first.
        """
        if tariff and not self.tariff and self.price is None:
            return self._other(tariff).rates(n_tokens, time_s)
        return self.flat or self._table.rates(n_tokens, time_s)

    def _other(self, tariff: str) -> RateTable:
        found = self._others.get(tariff)
        if found is None:
            price = self._book.find(self.price_name, self.endpoint.provider, tariff)
            found = self._table
            if not isinstance(price, NoPrice):
                found = RateTable(price, self._noon_s)
            if len(self._others) < _MAX_TARIFFS:
                self._others[tariff] = found
        return found

    def seconds(self, n_tokens: int, cached: int, output: float) -> float:
        """Return the time to the last token of an answer; NaN where it is not known."""
        if self.ttft_seconds is None:
            return math.nan
        middle = round(n_tokens + output / 2)
        return self.ttft_seconds(n_tokens - cached) + output * self.token_seconds(middle)

    @property
    def price_sum(self) -> float:
        """Input price and output price of a token, added: LiteLLM's measure of an endpoint."""
        base = self.rates(0, math.nan)
        return base.fresh + base.output


def _quick(start: int, rates: Mapping[str, Decimal]) -> QuickRates:
    def rate(*names: str) -> float:
        return next((float(rates[name]) for name in names if name in rates), 0.0)

    return QuickRates(
        start if start else -1,
        rate("input_tokens"),
        rate("cache_read_tokens", "input_tokens"),
        rate("cache_write_tokens", "input_tokens"),
        rate("output_tokens"),
        rate("requests"),
    )


def lane_of(endpoint: Endpoint, place: int, *, on: date | None = None) -> Lane:
    """Return an endpoint with its rates, times and limits.

    Args:
        endpoint: The endpoint.
        place: Its place among the endpoints.
        on: Day whose prices hold for requests without a time; today (UTC) by default.

    Raises:
        UnknownPriceError: It has neither a price nor a GPU.
        UsageError: Its limits contradict its model.
        CatalogError: Its GPU, or the model on it, is not known.
    """
    day = on or datetime.now(tz=UTC).date()
    noon_s = datetime.combine(day, time(12), tzinfo=UTC).timestamp()
    name, given = _named_price(endpoint, day)
    name, tariff = _without_tariff(name) if given is None else (name, "")
    tariff = endpoint.tariff or tariff
    book = PriceBook(None if given is None else lambda model, moment, tariff: given)
    found = book.find(name, endpoint.provider if given is None else "", tariff)
    if isinstance(found, NoPrice):
        raise _unknown(endpoint, name, found.why, found.nearest)
    ttft, token = _times(endpoint)
    lane = Lane(
        endpoint=endpoint,
        place=place,
        price_name=name,
        tariff=tariff,
        price=given,
        context_tokens=_context(endpoint, name if given is None else ""),
        output_tokens=float(endpoint.limits.output_tokens or math.inf),
        ttft_seconds=ttft,
        token_seconds=token,
        keeps_cache=False,
        flat=None,
        output_ratio=endpoint.output_ratio,
        has_quality=bool(endpoint.quality),
        _book=book,
        _noon_s=noon_s,
        _table=RateTable(found, noon_s),
        _others={},
    )
    period = int(found.periods(np.array([noon_s]))[0])
    rates = found.rates(period, 0).usd_per_unit
    for dimension in ("input_tokens", "output_tokens"):
        if dimension not in rates:
            raise _unknown(endpoint, name, f"it has no price for {dimension.replace('_', ' ')}", ())
    if not any(rates.values()):
        raise _unknown(endpoint, name, "its price is 0, which is taken as not known", ())
    base = lane.rates(0, math.nan)
    lane.keeps_cache = base.read < base.fresh
    if given is not None and len(given.tiers) == 1:
        lane.flat = base
    return lane


def _unknown(
    endpoint: Endpoint, name: str, why: str, nearest: tuple[str, ...]
) -> UnknownPriceError:
    return UnknownPriceError(
        name,
        nearest=nearest,
        hint=f"endpoint {endpoint.name!r}: {why}; state [endpoint.price], [endpoint.gpu] or "
        'price = "PROVIDER:MODEL"',
    )


def _named_price(endpoint: Endpoint, day: date) -> tuple[str, ApiPrice | None]:
    """Return the name that the ledger looks up, and the price where it is given."""
    price = endpoint.price
    if isinstance(price, ApiPrice):
        if price.usd_per_mtok_output is None:
            raise _unknown(endpoint, price.name, "it has no price for output tokens", ())
        return (endpoint.name, price) if price.provider == USER_PROVIDER else (price.name, None)
    if isinstance(price, str):
        if price.strip().casefold().startswith("usd:"):
            try:
                own = catalog.price(price, on=day)
            except UsageError as error:
                # A price may be left out elsewhere; an endpoint has to have one.
                said = str(error).partition("\n")[0]
                raise UsageError(
                    f"endpoint {endpoint.name!r}: {said}\nhint: state dollars a million tokens, "
                    "such as usd:0.40/1.60, or [endpoint.gpu]"
                ) from None
            if own.usd_per_mtok_output is None:
                raise _unknown(endpoint, price, "it has no price for output tokens", ())
            return endpoint.name, own
        return price, None
    if endpoint.gpu is not None:
        return endpoint.name, _gpu_price(endpoint, day)
    return endpoint.model, None


def _without_tariff(name: str) -> tuple[str, str]:
    """Return a name without its ``@TARIFF``, and the tariff."""
    base, at, tariff = name.rpartition("@")
    return (base, tariff) if at and tariff in TARIFFS else (name, "")


def _gpu_price(endpoint: Endpoint, day: date) -> ApiPrice:
    """Return dollars for a million tokens of prompt and of answer on GPUs of one's own.

    Formula: a prompt of the stated length takes ``t`` of the group at full load, so a token costs
    ``t x N x price / 3600 / tokens``; an answer costs what the request costs beyond its prompt.
    """
    own = endpoint.gpu
    assert own is not None
    gpu = catalog.gpu(own.name)
    whole = _gpu_cost(endpoint, own.output_tokens).usd_per_request
    one = _gpu_cost(endpoint, 0).usd_per_request
    per_input = one / own.input_tokens * TOKENS_PER_MTOK
    per_output = max(whole - one, Decimal(0)) / own.output_tokens * TOKENS_PER_MTOK
    places = Decimal("1e-9")
    tier = PriceTier(0, per_input.quantize(places), None, per_output.quantize(places))
    return ApiPrice(
        provider=USER_PROVIDER,
        model=endpoint.name,
        usd_per_mtok_input=tier.usd_per_mtok_input,
        usd_per_mtok_cached_input=None,
        usd_per_mtok_output=tier.usd_per_mtok_output,
        usd_per_request=Decimal(0),
        tiers=(tier,),
        price_date=gpu.price_low.date,
        valid_on=day,
        source=f"roofline of {endpoint.model} on {gpu.name} for requests of {own.input_tokens:,} + "
        f"{own.output_tokens:,} tokens; {gpu.price_low.source}",
    )


def _gpu_cost(endpoint: Endpoint, output_tokens: int) -> OwnGpuCost:
    """Return what a request of the stated prompt length costs at full load."""
    own = endpoint.gpu
    assert own is not None
    model, gpu = catalog.model(endpoint.model), catalog.gpu(own.name)
    plan = own.plan_for(model)
    check_served(model, gpu, plan, where=f"endpoint {endpoint.name!r}: ")
    try:
        cost = own_gpu_cost(
            model,
            gpu,
            RequestLengths((own.input_tokens,), (1,), float(output_tokens)),
            usd_per_hour=own.usd_per_hour,
            n_concurrent=own.concurrent_requests,
            prompts_in_batches=True,
            plan=plan,
        )
    except UsageError as error:
        raise UsageError(f"endpoint {endpoint.name!r}: {error}") from None
    most = min(cost.capacity.n_requests_safe, plan.requests(gpu))
    if cost.n_concurrent > most:
        raise DoesNotFitError(
            f"endpoint {endpoint.name!r}: concurrent_requests is {cost.n_concurrent:,}, and "
            f"{most:,} of {own.input_tokens:,} + {output_tokens:,} tokens run side by side on "
            f"{cost.capacity.n_gpus} x {gpu.name}\n"
            f"hint: concurrent_requests = {most}, more GPUs, or shorter requests"
        )
    return cost


def _context(endpoint: Endpoint, listed_name: str) -> float:
    """Return the limit of prompt and answer: as stated, else of the model, else none."""
    stated = endpoint.limits.context_tokens
    found: float
    if endpoint.gpu is not None:
        facts = catalog.model(endpoint.model)
        most = endpoint.gpu.plan_for(facts).context_tokens(facts)
        if stated is not None and stated > most:
            raise UsageError(
                f"endpoint {endpoint.name!r}: the limits contradict the model: context_tokens is "
                f"{stated:,}, and {endpoint.model} has a context of {most:,}"
            )
        found = stated or most
    elif stated is None and listed_name:
        listed = find_listed(listed_name, endpoint.provider or None)
        found = (listed.model.context_window if listed else None) or math.inf
    else:
        found = stated or math.inf
    if (endpoint.limits.output_tokens or 0) > found:
        raise UsageError(
            f"endpoint {endpoint.name!r}: the limits contradict one another: output_tokens is "
            f"{endpoint.limits.output_tokens:,}, and the context of {endpoint.model} has {found:,}"
        )
    return float(found)


def _times(endpoint: Endpoint) -> tuple[Seconds | None, Seconds]:
    """Return the time to the first token, and that of a token, by length."""
    profile = endpoint.latency
    if profile is not None:
        first, more = profile.ttft_seconds, profile.seconds_per_1k_input_tokens / 1000
        each = profile.seconds_per_output_token
        return (lambda n: first + more * n), (lambda context: each)
    if endpoint.gpu is None:
        return None, lambda context: math.nan
    own = endpoint.gpu
    model = catalog.model(endpoint.model)
    n_gpus = _gpu_cost(endpoint, own.output_tokens).capacity.budget.tensor_parallel
    times = StepTimes.of(model, catalog.gpu(own.name), plan=own.plan_for(model), n_gpus=n_gpus)
    beside = own.concurrent_requests or 1

    def ttft(n: int) -> float:
        return times.seconds(times.reading(1, n)) if n else 0.0

    def token(context: int) -> float:
        return times.seconds(times.decoding(beside, context))

    return ttft, token
