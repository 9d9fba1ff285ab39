"""Memory of the next minutes: the KV cache that traffic asks for, and when it is full.

Demand is what requests would hold if none of them waited: a prompt and the answer so far, from its
arrival to its last token. Where it exceeds what the GPUs have left, requests wait or are preempted.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jeton.economics.serving.latency import decode_seconds
from jeton.economics.serving.memory import request_group_bytes
from jeton.economics.serving.memory_budget import check_served, memory_budget
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jeton.catalog.gpu_facts import GpuFacts
    from jeton.catalog.model_facts import ModelFacts

N_STEPS = 10
"""Times within the horizon that memory is foreseen for."""

BEYOND = 6
"""Horizons that the trend is followed for, to tell when memory is full."""

_SAMPLE = 250
"""Recent requests that lengths are taken from, spread evenly over the last ones."""
_RECENT = 4000
_AGES = 12
"""Ages at which the memory of a request that is to come is looked at."""
_TREND_BINS = 12
_TREND_SCORE = 3.0
"""Standard errors that the slope of arrivals has to exceed before it is believed."""
_LEAST_SPAN = 300.0
"""Seconds of arrivals that the rate and its slope are taken from, at the least."""
_ERRORS = 120
"""Past errors that an interval is made of."""
_STEP = 0.05
_TABLE_TOKENS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class KvMemory:
    """Memory of the KV cache of a group of GPUs.

    Attributes:
        capacity_bytes: Bytes that the group has left for requests.
        tokens: float64, lengths of a sequence.
        bytes_of: float64, bytes of a sequence of each length; straight lines between.
        n_gpus: GPUs of the group.
        seconds_per_token: Time of a token of an answer under the traffic that is foreseen.
    """

    capacity_bytes: int
    tokens: NDArray[np.float64]
    bytes_of: NDArray[np.float64]
    n_gpus: int
    seconds_per_token: float

    @classmethod
    def of(
        cls,
        model: ModelFacts,
        gpu: GpuFacts,
        *,
        plan: MemoryPlan | None = None,
        requests_per_second: float = 0.0,
        mean_prompt_tokens: float = 512.0,
        mean_output_tokens: float = 128.0,
        seconds_per_token: float | None = None,
    ) -> KvMemory:
        """Return the memory of a model on GPUs, and the speed that traffic has there.

        Formula: the time of a token is that of a decoding step of n requests, where n is rate x
        output x that time (Little's law), iterated.

        Args:
            model: The model.
            gpu: The GPU.
            plan: How the model is held.
            requests_per_second: Rate of the traffic.
            mean_prompt_tokens: Tokens of its prompts.
            mean_output_tokens: Tokens of its answers.
            seconds_per_token: Time of a token, measured; None: computed.

        Raises:
            UsageError: The model does not fit, or a number is out of range.
        """
        plan = plan or MemoryPlan()
        budget = memory_budget(model, gpu, plan)
        check_served(model, gpu, plan)
        if seconds_per_token is not None and not 0 < seconds_per_token < 3600:
            raise UsageError(f"seconds_per_token is {seconds_per_token}; expected above 0")
        grouped = changed_plan(plan, n_gpus=budget.tensor_parallel)
        if seconds_per_token is None:
            context = int(mean_prompt_tokens + mean_output_tokens / 2) + 1
            most = plan.requests(gpu)
            n_requests = 1
            for _ in range(20):
                seconds_per_token = decode_seconds(
                    model, gpu, context_tokens=context, n_requests=n_requests, plan=grouped
                )
                wanted = requests_per_second * mean_output_tokens * seconds_per_token
                n_requests = max(1, min(most, round(wanted)))
        assert seconds_per_token is not None
        tokens = np.unique(
            np.concatenate([np.arange(0, 64, 16), np.geomspace(64, 1 << 24, 64).astype(np.int64)])
        )
        sizes = [
            request_group_bytes(model, int(n), plan=plan, n_gpus=budget.n_gpus) for n in tokens
        ]
        page = plan.page / 2
        return cls(
            capacity_bytes=budget.group_kv_bytes,
            tokens=np.maximum(0.0, tokens - page),
            bytes_of=np.array(sizes, dtype=np.float64),
            n_gpus=budget.n_gpus,
            seconds_per_token=seconds_per_token,
        )

    def bytes(self, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bytes of sequences; the last page is half full on average."""
        return np.interp(tokens, self.tokens, self.bytes_of)


@dataclass(frozen=True, slots=True, eq=False)
class KnownTraffic:
    """Requests as far as they are known.

    Attributes:
        arrival_seconds: float64 (n,), ascending.
        prompt_tokens: int64 (n,).
        output_tokens: int64 (n,), tokens of the whole answer; only ended ones are looked at.
    """

    arrival_seconds: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]

    def __post_init__(self) -> None:
        n = len(self.arrival_seconds)
        if n == 0 or not n == len(self.prompt_tokens) == len(self.output_tokens):
            raise UsageError(
                f"traffic has {n} arrivals, {len(self.prompt_tokens)} prompts and "
                f"{len(self.output_tokens)} outputs; expected as many of each, and at least one"
            )
        if (np.diff(self.arrival_seconds) < 0).any():
            raise UsageError(
                "arrivals go backwards in time; expected ascending seconds\nhint: sort by arrival"
            )
        if int(self.prompt_tokens.min()) < 0 or int(self.output_tokens.min()) < 0:
            raise UsageError("a request has a negative length; expected tokens from 0")

    def demand(self, at: float, memory: KvMemory) -> float:
        """Bytes that requests hold at a time, if none of them waits."""
        ages, given = self._under_way(at, memory.seconds_per_token)
        return float(memory.bytes(self.prompt_tokens[ages] + given).sum())

    def _under_way(
        self, at: float, seconds_per_token: float
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Rows of the requests under way, and the tokens they were given."""
        end = int(np.searchsorted(self.arrival_seconds, at, side="right"))
        longest = float(self.output_tokens[:end].max(initial=0)) * seconds_per_token
        start = int(np.searchsorted(self.arrival_seconds, at - longest, side="left"))
        given = (at - self.arrival_seconds[start:end]) / seconds_per_token
        is_on = given < self.output_tokens[start:end]
        return start + np.flatnonzero(is_on), given[is_on]


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """Memory of the next minutes; all lists run along ``seconds``.

    Attributes:
        capacity_bytes: Bytes that the group has left for requests.
        now_bytes: Bytes that are held now.
        n_under_way: Requests under way.
        requests_per_second: Rate of arrivals now.
        trend_per_minute: Change of that rate in a minute; 0 where none is believed.
        horizon_seconds: The horizon.
        seconds: Seconds from now on, those beyond the horizon at the end.
        expected_bytes: Bytes that are expected.
        low_bytes: Lower ends; empty where no errors are known.
        high_bytes: Upper ends.
        coverage: Share of cases that the interval is to hold.
        full_seconds: Seconds until memory is full; None: not within six horizons.
        full_earliest_seconds: Seconds until it may be full: by the upper ends.
        full_latest_seconds: Seconds until it is full by the lower ends.
    """

    capacity_bytes: int
    now_bytes: float
    n_under_way: int
    requests_per_second: float
    trend_per_minute: float
    horizon_seconds: float
    seconds: tuple[float, ...]
    expected_bytes: tuple[float, ...]
    low_bytes: tuple[float, ...]
    high_bytes: tuple[float, ...]
    coverage: float
    full_seconds: float | None
    full_earliest_seconds: float | None
    full_latest_seconds: float | None

    @property
    def in_words(self) -> str:
        """When memory is full, as an alarm says it."""
        if self.full_seconds is None:
            if self.full_earliest_seconds is not None:
                soon = _minutes(self.full_earliest_seconds)
                return f"not full at this trend; at the upper end in {soon}"
            return f"not full within {_minutes(self.horizon_seconds)} at this trend"
        if self.full_seconds == 0:
            return "OOM now"
        words = f"OOM in {_minutes(self.full_seconds)}"
        if self.full_seconds > self.horizon_seconds:
            words = f"not full within {_minutes(self.horizon_seconds)}; at this trend {words}"
        if self.high_bytes:
            first = _number(self.full_earliest_seconds or 0.0)
            last = (
                _number(self.full_latest_seconds)
                if self.full_latest_seconds is not None
                else f"over {_number(BEYOND * self.horizon_seconds)}"
            )
            words += f", {first}-{last}"
        return words

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        from dataclasses import asdict

        return {**asdict(self), "in_words": self.in_words}


def _number(seconds: float) -> str:
    return f"{seconds / 60:.0f}" if seconds >= 90 else f"{seconds / 60:.1f}"


def _minutes(seconds: float) -> str:
    return f"{_number(seconds)} min"


class DemandErrors:
    """Errors of past forecasts by lead time, and the intervals that follow from them.

    An interval is the forecast times quantiles of the past ratios (split conformal, with ranks for
    finite samples); the miss rate aimed at is corrected online (arXiv:2106.00072).

    Args:
        coverage: Share of cases that an interval is to hold.
    """

    __slots__ = ("_coverage", "_miss", "_ratios")

    def __init__(self, *, coverage: float = 0.9) -> None:
        if not 0 < coverage < 1:
            raise UsageError(f"coverage is {coverage}; expected between 0 and 1")
        self._coverage = coverage
        self._ratios: list[deque[float]] = [deque(maxlen=_ERRORS) for _ in range(N_STEPS)]
        self._miss = [1 - coverage] * N_STEPS

    @property
    def coverage(self) -> float:
        """Share of cases that an interval is to hold."""
        return self._coverage

    def learn(self, step: int, expected_bytes: float, actual_bytes: float, floor: float) -> None:
        """Take in what became of a forecast."""
        ends = self.ends(step)
        ratio = math.log((actual_bytes + floor) / (expected_bytes + floor))
        if ends is not None:
            missed = not ends[0] <= ratio <= ends[1]
            wanted = 1 - self._coverage
            moved = self._miss[step] + _STEP * (wanted - missed)
            self._miss[step] = min(0.5, max(0.0, moved))
        self._ratios[step].append(ratio)

    def ends(self, step: int) -> tuple[float, float] | None:
        """Logarithms of the ratios at both ends; None with too few errors."""
        ordered = sorted(self._ratios[min(step, N_STEPS - 1)])
        n = len(ordered)
        miss = self._miss[min(step, N_STEPS - 1)]
        if n < 2 / (1 - self._coverage) - 1 - 1e-9:
            return None
        rank = max(1, math.floor((n + 1) * miss / 2))
        return ordered[rank - 1], ordered[n - rank]


def forecast_memory(
    traffic: KnownTraffic,
    memory: KvMemory,
    *,
    now: float,
    horizon_seconds: float = 600.0,
    errors: DemandErrors | None = None,
) -> MemoryForecast:
    """Foresee the memory of the next minutes.

    Formula: requests under way grow by a token each ``seconds_per_token`` and end as answers of
    their length so far did; new ones come at the rate of the last horizon, with its slope where
    that is more than chance, and have recent lengths.

    Args:
        traffic: Requests; those that have not ended by ``now`` show only how far they are, later
            ones nothing.
        memory: Memory of the GPUs.
        now: Seconds, on the clock of the arrivals.
        horizon_seconds: How far ahead.
        errors: Errors of past forecasts (`jeton.planning.prediction.predict_memory` makes
            them from a trace); None: no interval.

    Raises:
        UsageError: The horizon is not above 0, or no request had ended by ``now``.
    """
    if not 0 < horizon_seconds < 1e7:
        raise UsageError(f"horizon_seconds is {horizon_seconds}; expected above 0")
    speed = memory.seconds_per_token
    inside = np.arange(1, N_STEPS + 1) * (horizon_seconds / N_STEPS)
    beyond = np.arange(2, BEYOND + 1) * horizon_seconds
    seconds = np.concatenate([inside, beyond])
    rows, given = traffic._under_way(now, speed)
    prompts, outputs = _recent_lengths(traffic, now, speed)
    rate, slope = _arrivals(traffic.arrival_seconds, now, horizon_seconds)
    expected = _of_coming(memory, prompts, outputs, rate, slope, seconds)
    expected += _of_under_way(memory, traffic.prompt_tokens[rows], given, outputs, seconds)
    low, high = _interval(expected, memory, errors)
    now_bytes = float(memory.bytes(traffic.prompt_tokens[rows] + given).sum())
    times = np.concatenate([[0.0], seconds])
    path = np.concatenate([[now_bytes], expected])
    full = _crossing(times, path, memory.capacity_bytes)
    early = late = None
    if len(high):
        early = _crossing(times, np.concatenate([[now_bytes], high]), memory.capacity_bytes)
        late = _crossing(times, np.concatenate([[now_bytes], low]), memory.capacity_bytes)
    return MemoryForecast(
        capacity_bytes=memory.capacity_bytes,
        now_bytes=now_bytes,
        n_under_way=len(rows),
        requests_per_second=rate,
        trend_per_minute=slope * 60,
        horizon_seconds=horizon_seconds,
        seconds=tuple(seconds.tolist()),
        expected_bytes=tuple(expected.tolist()),
        low_bytes=tuple(low.tolist()),
        high_bytes=tuple(high.tolist()),
        coverage=errors.coverage if errors is not None else 0.0,
        full_seconds=full,
        full_earliest_seconds=early,
        full_latest_seconds=late,
    )


def _recent_lengths(
    traffic: KnownTraffic, now: float, speed: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Prompts and answers of requests that have ended of late."""
    end = int(np.searchsorted(traffic.arrival_seconds, now, side="right"))
    start = max(0, end - _RECENT)
    ended = traffic.arrival_seconds[start:end] + traffic.output_tokens[start:end] * speed <= now
    rows = start + np.flatnonzero(ended)
    if not len(rows):
        raise UsageError(
            f"no request had ended {now:,.0f} s after the first\nhint: a later time, or a longer "
            "log"
        )
    chosen = rows[np.linspace(0, len(rows) - 1, min(_SAMPLE, len(rows))).astype(np.intp)]
    return (
        traffic.prompt_tokens[chosen].astype(np.float64),
        traffic.output_tokens[chosen].astype(np.float64),
    )


def _arrivals(times: NDArray[np.float64], now: float, horizon: float) -> tuple[float, float]:
    """Rate of arrivals now, and its slope in a second; the slope is 0 where it may be chance."""
    span = min(max(horizon, _LEAST_SPAN), now - float(times[0]))
    if span <= 0:
        return 0.0, 0.0
    edges = np.linspace(now - span, now, _TREND_BINS + 1)
    counts = np.diff(np.searchsorted(times, edges, side="right")).astype(np.float64)
    width = span / _TREND_BINS
    rate = float(counts.sum() / span)
    places = (np.arange(_TREND_BINS) + 0.5) * width
    away = places - places.mean()
    slope = float((away * counts).sum() / (away**2).sum() / width)
    rest = counts - counts.mean() - slope * width * away
    variance = max(float((rest**2).sum()) / (_TREND_BINS - 2), float(counts.mean()))
    error = math.sqrt(variance / float((away**2).sum())) / width
    if error <= 0 or abs(slope) < _TREND_SCORE * error:
        return rate, 0.0
    return max(0.0, rate + slope * span / 2), slope


def _of_coming(
    memory: KvMemory,
    prompts: NDArray[np.float64],
    outputs: NDArray[np.float64],
    rate: float,
    slope: float,
    seconds: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Bytes of requests that are to come, at each time."""
    lives = outputs * memory.seconds_per_token
    found = np.zeros(len(seconds))
    nodes, weights = np.polynomial.legendre.leggauss(_AGES)
    for place, at in enumerate(seconds.tolist()):
        spans = np.minimum(lives, at)[:, None]
        ages = spans * (nodes + 1) / 2
        size = memory.bytes(prompts[:, None] + ages / memory.seconds_per_token)
        rates = np.maximum(0.0, rate + slope * (at - ages))
        found[place] = float(((size * rates) @ weights * spans[:, 0] / 2).mean())
    return found


def _of_under_way(
    memory: KvMemory,
    prompts: NDArray[np.int64],
    given: NDArray[np.float64],
    outputs: NDArray[np.float64],
    seconds: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Bytes of requests under way, at each time, by their chance to be so still."""
    ordered = np.sort(outputs)
    n = len(ordered)
    longer = n - np.searchsorted(ordered, given, side="right")
    found = np.zeros(len(seconds))
    for place, at in enumerate(seconds.tolist()):
        tokens = given + at / memory.seconds_per_token
        still = n - np.searchsorted(ordered, tokens, side="right")
        chance = np.divide(still, longer, out=np.zeros(len(given)), where=longer > 0)
        found[place] = float((memory.bytes(prompts + tokens) * chance).sum())
    return found


def _interval(
    expected: NDArray[np.float64], memory: KvMemory, errors: DemandErrors | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper ends; empty without enough errors."""
    empty = np.zeros(0)
    if errors is None:
        return empty, empty
    floor = demand_floor(memory)
    pairs = [(float(size), errors.ends(step)) for step, size in enumerate(expected)]
    if any(end is None for _, end in pairs):
        return empty, empty
    low = [(x + floor) * math.exp(end[0]) - floor for x, end in pairs if end]
    high = [(x + floor) * math.exp(end[1]) - floor for x, end in pairs if end]
    # Past forecasts may all have been too high, or too low; this one is within its interval.
    return np.clip(np.array(low), 0.0, expected), np.maximum(np.array(high), expected)


def demand_floor(memory: KvMemory) -> float:
    """Bytes added to both sides of a ratio, so that idle moments have one: a long request's."""
    return float(memory.bytes(np.array([float(_TABLE_TOKENS)]))[0])


def _crossing(
    times: NDArray[np.float64], values: NDArray[np.float64], limit: float
) -> float | None:
    """The first time at which values reach a limit; straight lines between."""
    above = np.flatnonzero(values >= limit)
    if not len(above):
        return None
    place = int(above[0])
    if place == 0:
        return 0.0
    before, after = float(values[place - 1]), float(values[place])
    share = (limit - before) / (after - before)
    return float(times[place - 1] + share * (times[place] - times[place - 1]))
