"""Figures of one replay against an objective: answers in time, memory, waits, money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from jeton.economics.money import SECONDS_PER_HOUR, TOKENS_PER_MTOK
from jeton.economics.traffic.simulate import Server, replay

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace
    from jeton.economics.admission import Policy
    from jeton.economics.traffic.outcome import MemoryRecord, Outcome
    from jeton.economics.traffic.settings import EngineSettings
    from jeton.planning.serving.objective import LatencyObjective

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
