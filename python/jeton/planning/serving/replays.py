"""Replays of drawn windows of a trace: their figures against an objective, and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Literal, TypeAlias

from jeton.economics.money import SECONDS_PER_HOUR, TOKENS_PER_MTOK
from jeton.economics.traffic.simulate import Server, replay
from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace
    from jeton.economics.admission import Policy
    from jeton.economics.traffic.engine import MemoryRecord, Outcome
    from jeton.economics.traffic.settings import EngineSettings


WINDOW_SECONDS = 60.0
"""Length of a window: bursts of seconds stay whole, and an hour has 60 of them. A judgement."""

_MIN_WINDOWS = 8
"""A shorter trace has shorter windows, so that there is something to draw from."""

MIN_REQUESTS = 20
"""Requests of a trace from which something can be learned about a queue."""

_MAX_DRAWN = 1_000_000


def drawn_windows(
    trace: Trace,
    *,
    n_requests: int,
    seed: int,
    window_seconds: float | None = None,
    with_blocks: bool = False,
) -> Trace:
    """Return traffic like a trace's: windows of it in a random order, each as often as drawn.

    Within a window, times, lengths and their order are the trace's own. So bursts shorter than a
    window stay, and what lies further apart becomes independent. Windows without a request are left
    out: the rate is scaled anyway, and a trace with a long gap has few others.

    Source: moving-block bootstrap, Kuensch, Annals of Statistics 17 (1989),
    doi:10.1214/aos/1176347265; here with windows that do not overlap.

    Args:
        trace: The trace.
        n_requests: Number of requests to keep, the first ones.
        seed: Seed of the draws.
        window_seconds: Length of a window; None: a minute, or an eighth of a short trace.
        with_blocks: Keep the blocks that say which prompts begin alike.

    Raises:
        UsageError: The trace is too short, all its requests came at once, or a number is below 1.
    """
    import numpy as np

    check_traffic(trace)
    if not 1 <= n_requests <= _MAX_DRAWN:
        raise UsageError(f"n_requests is {n_requests}; expected from 1 to {_MAX_DRAWN:,}")
    duration = trace.duration_seconds
    width = window_seconds or min(WINDOW_SECONDS, duration / _MIN_WINDOWS)
    if not 0 < width <= duration:
        raise UsageError(
            f"window_seconds is {width:g}; expected above 0 and at most the trace's {duration:g} s"
        )
    n_windows = int(duration / width + 1e-9)
    number = (trace.arrival_seconds // width).astype(np.int64)
    filled, first = np.unique(number[number < n_windows], return_index=True)
    last = np.searchsorted(number, filled, side="right")
    rng = np.random.default_rng(seed)
    rows: list[NDArray[np.int64]] = []
    repeats: list[NDArray[np.int64]] = []
    n_drawn = np.zeros(len(filled), dtype=np.int64)
    times: list[NDArray[np.float64]] = []
    n = place = 0
    while n < n_requests:
        drawn = int(rng.integers(len(filled)))
        chosen = np.arange(first[drawn], last[drawn])
        rows.append(chosen)
        repeats.append(np.full(len(chosen), n_drawn[drawn]))
        n_drawn[drawn] += 1
        times.append(trace.arrival_seconds[chosen] + (place - int(filled[drawn])) * width)
        n += len(chosen)
        place += 1
    index = np.concatenate(rows)[:n_requests]
    return trace.rows(
        index,
        arrivals=np.concatenate(times)[:n_requests],
        with_blocks=with_blocks,
        repeats=np.concatenate(repeats)[:n_requests],
    )


def check_traffic(trace: Trace) -> None:
    """Refuse a trace that says nothing of a queue.

    Raises:
        UsageError: It is too short, or all its requests came at once.
    """
    if len(trace) < MIN_REQUESTS:
        raise UsageError(
            f"{trace.path}: the trace has {len(trace):,} "
            f"{'request' if len(trace) == 1 else 'requests'}; expected at least {MIN_REQUESTS}, "
            "or nothing can be said of a queue\nhint: record a longer stretch of traffic"
        )
    if trace.duration_seconds <= 0:
        raise UsageError(
            f"{trace.path}: all {len(trace):,} requests of the trace have one time; expected times "
            "that say when each came\nhint: give a rate to draw times with (--rate), and a trace "
            "without times"
        )


Aim: TypeAlias = Literal["goodput", "ttft", "cost", "utilisation"]

AIMS: tuple[Aim, ...] = ("goodput", "ttft", "cost", "utilisation")

_MAX_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class LatencyObjective:
    """Limits that an answer keeps to be in time, and what is sought.

    Attributes:
        ttft_seconds: Longest time from arrival to the first token.
        tpot_seconds: Longest mean time between the tokens of an answer.
        aim: ``goodput``: most answers in time a second; ``ttft``: shortest time to the first token
            of 99 in 100; ``cost``: fewest dollars a million tokens of answers in time;
            ``utilisation``: the fullest cache.
    """

    ttft_seconds: float = 2.0
    tpot_seconds: float = 0.1
    aim: Aim = "goodput"

    def __post_init__(self) -> None:
        for name in ("ttft_seconds", "tpot_seconds"):
            value = getattr(self, name)
            if not 0 < value <= _MAX_SECONDS:
                raise UsageError(f"{name} is {value}; expected seconds above 0, at most a day")
        if self.aim not in AIMS:
            raise UsageError(f"the aim is {self.aim!r}; expected one of {', '.join(AIMS)}")


_BINS = 60
_WARM_UP_BINS = 6
"""A tenth of the traffic fills the server, before the memory in use is looked at."""


@dataclass(frozen=True, slots=True)
class ReplayFigures:
    """One replay.

    Attributes:
        requests_per_second: Requests that come, over the time in which they come.
        goodput_requests_per_second: Answers in time over that time.
        in_time_share: Share of the requests that are answered in time.
        utilisation_share: Share of the cache that holds tokens, while requests come, after the
            first tenth of that time.
        reserved_share: Share of it that is handed out.
        evictions_per_thousand: Preemptions for want of memory over a thousand requests.
        ttft_p50_seconds: From arrival to the first token, median; NaN without an answer.
        ttft_p99_seconds: 99% quantile.
        tpot_p99_seconds: Mean time between the tokens of an answer, 99% quantile over answers.
        tokens_per_second: Prompt and output tokens of all answers, from the first arrival to the
            last answer.
        usd_per_mtok: The group rented for that time, over these tokens; None without an answer.
        usd_per_mtok_in_time: That money over the tokens of answers in time.
        n_refused: Requests that fit neither context nor memory.
        running_p99: Requests side by side, 99% quantile over their starts.
        predicted_tokens_mean: Answer that the policy counted on; None: it foresaw none.
    """

    requests_per_second: float
    goodput_requests_per_second: float
    in_time_share: float
    utilisation_share: float
    reserved_share: float
    evictions_per_thousand: float
    ttft_p50_seconds: float
    ttft_p99_seconds: float
    tpot_p99_seconds: float
    tokens_per_second: float
    usd_per_mtok: Decimal | None
    usd_per_mtok_in_time: Decimal | None
    n_refused: int
    running_p99: int
    predicted_tokens_mean: float | None


@dataclass(frozen=True, slots=True)
class Timely:
    """Times of the requests of one replay.

    Attributes:
        ttft_seconds: Seconds to the first token (to the end where no token is given), of those
            answered.
        tpot_seconds: Seconds between tokens, of those with two tokens or more.
        in_time: True for each request that was answered within the limits.
    """

    ttft_seconds: NDArray[np.float64]
    tpot_seconds: NDArray[np.float64]
    in_time: NDArray[np.bool_]


def timely(trace: Trace, outcome: Outcome, objective: LatencyObjective) -> Timely:
    """Return which requests of a replay were answered in time."""
    import numpy as np

    arrived, first, finished = outcome.arrived, outcome.first_token, outcome.finished
    done = outcome.status == 0
    outputs = trace.output_tokens
    ttft = np.where(outputs > 0, first, finished) - arrived
    several = done & (outputs > 1)
    tpot = np.zeros(len(ttft))
    tpot[several] = (finished - first)[several] / (outputs[several] - 1)
    in_time = done & (ttft <= objective.ttft_seconds) & (tpot <= objective.tpot_seconds)
    return Timely(ttft[done], tpot[several], in_time)


def replay_figures(
    trace: Trace,
    server: Server,
    *,
    policy: Policy,
    settings: EngineSettings,
    objective: LatencyObjective,
) -> ReplayFigures:
    """Replay a trace, and measure it against an objective.

    Raises:
        UsageError: The weights do not fit, or a setting is out of range.
    """
    import numpy as np

    done = replay(trace, server, policy=policy, settings=settings, n_bins=_BINS)
    outcome = done.outcome
    found = timely(trace, outcome, objective)
    duration = max(trace.duration_seconds, 1e-9)
    n, n_good = len(trace), int(found.in_time.sum())
    tokens = trace.prompt_tokens + trace.output_tokens
    answered = outcome.status == 0
    n_tokens = int(tokens[answered].sum())
    usd = server.hourly / SECONDS_PER_HOUR * Decimal(repr(outcome.end_seconds))
    held, reserved = _memory(outcome.memory, server, duration)
    return ReplayFigures(
        requests_per_second=n / duration,
        goodput_requests_per_second=n_good / duration,
        in_time_share=n_good / n,
        utilisation_share=held,
        reserved_share=reserved,
        evictions_per_thousand=1000 * len(outcome.memory_out) / n,
        ttft_p50_seconds=_quantile(found.ttft_seconds, 0.5),
        ttft_p99_seconds=_quantile(found.ttft_seconds, 0.99),
        tpot_p99_seconds=_quantile(found.tpot_seconds, 0.99),
        tokens_per_second=n_tokens / outcome.end_seconds if outcome.end_seconds else 0.0,
        usd_per_mtok=_usd_per_mtok(usd, n_tokens),
        usd_per_mtok_in_time=_usd_per_mtok(usd, int(tokens[found.in_time].sum())),
        n_refused=int(n - answered.sum()),
        running_p99=_running(outcome),
        predicted_tokens_mean=float(np.mean(outcome.predicted)) if len(outcome.predicted) else None,
    )


def _usd_per_mtok(usd: Decimal, n_tokens: int) -> Decimal | None:
    return (usd * TOKENS_PER_MTOK / n_tokens).quantize(Decimal("1e-6")) if n_tokens else None


def _memory(recorder: MemoryRecord, server: Server, duration: float) -> tuple[float, float]:
    """Shares of the memory that hold tokens and that are handed out, while requests come."""
    last = min(len(recorder.seconds), max(_WARM_UP_BINS + 1, int(duration / recorder.width)))
    chosen = slice(min(_WARM_UP_BINS, last - 1), last)
    seconds = sum(recorder.seconds[chosen])
    if not seconds:
        return 0.0, 0.0
    whole = server.budget_bytes * seconds
    return sum(recorder.held[chosen]) / whole, sum(recorder.allocated[chosen]) / whole


def _quantile(values: NDArray[np.float64], share: float) -> float:
    """Quantile by nearest rank; NaN without values."""
    import numpy as np

    if not len(values):
        return float("nan")
    return float(np.quantile(values, share, method="inverted_cdf"))


def _running(outcome: Outcome) -> int:
    """The 99% quantile of the requests side by side, at the moments when one starts."""
    import numpy as np

    starts, ends = np.sort(outcome.runs[0]), np.sort(outcome.runs[1])
    if not len(starts):
        return 0
    at = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="right")
    return int(np.quantile(at, 0.99, method="inverted_cdf"))


CONFIDENCE = 0.95

_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Two-sided 95% quantiles of Student's t from 1 to 10 degrees of freedom (Abramowitz and Stegun,
table 26.10)."""


@dataclass(frozen=True, slots=True)
class SeedFigure:
    """A figure over seeds.

    Attributes:
        mean: Mean.
        low: Lower end of the 95% interval of the mean, by Student's t; None with one seed.
        high: Upper end.
    """

    mean: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, values: Sequence[float], *, least: float = 0.0) -> SeedFigure:
        """Return the figure of some values, one of each seed.

        The lower end is at least ``least``, since rates, shares, times and prices have no less. A
        value that is not finite, such as a time of which there was none, makes the mean NaN.
        """
        mean = fmean(values)
        if len(values) < 2 or not math.isfinite(mean):
            return cls(mean)
        half = _student(len(values) - 1) * stdev(values) / math.sqrt(len(values))
        return cls(mean, max(least, mean - half), mean + half)

    def to_dict(self) -> dict[str, float | None]:
        """As JSON has it; what is not finite is null."""
        return {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in (("mean", self.mean), ("low", self.low), ("high", self.high))
        }


def ratio_over_seeds(values: Sequence[float], over: Sequence[float]) -> SeedFigure | None:
    """Return the ratio of two figures that have the same seeds; None where one has no value.

    Formula: the mean and interval of the logarithms' differences, which are paired by seed.
    """
    if not all(value > 0 for value in (*values, *over)):
        return None
    logs = [math.log(a / b) for a, b in zip(values, over, strict=True)]
    found = SeedFigure.of(logs, least=-math.inf)
    if found.low is None or found.high is None:
        return SeedFigure(math.exp(found.mean))
    return SeedFigure(math.exp(found.mean), math.exp(found.low), math.exp(found.high))


def _student(freedom: int) -> float:
    """Two-sided quantile of Student's t (Abramowitz and Stegun, 26.7.5, two terms)."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
