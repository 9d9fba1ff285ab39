"""Memory of the next minutes from logs and traces, with what became of past forecasts."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jeton._plain import counted
from jeton._shown import NotebookResult
from jeton.economics.prediction.memory_forecast import (
    N_STEPS,
    DemandErrors,
    KnownTraffic,
    KvMemory,
    MemoryForecast,
    demand_floor,
    forecast_memory,
)
from jeton.economics.serving.memory_budget import check_served
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.traffic.engine import DONE, TOO_LARGE, TOO_LONG, refused_requests
from jeton.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jeton.catalog.gpu_facts import GpuFacts
    from jeton.catalog.model_facts import ModelFacts
    from jeton.planning.prediction.history import RequestHistory

_CUTS: Final = 240
"""Past moments that a forecast is made at, over the whole trace."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPrediction(NotebookResult):
    """Memory of the next minutes, and how such forecasts did on the past.

    Attributes:
        model: Name of the model.
        gpu: Name of the GPU.
        n_gpus: GPUs of the group.
        n_requests: Requests that were read and can be served.
        n_too_long: Requests left out: longer than the model's context, which engines refuse.
        n_too_large: Requests left out: larger than the whole cache.
        n_without_output: Requests left out since their output is not known.
        n_out_of_order: Requests that came before one above them; they were sorted in.
        rejected: Rows that cannot be meant, by reason.
        seconds_per_token: Time of a token of an answer.
        forecast: Memory from the end of the trace on.
        n_judged: Forecasts of the later half whose outcome is known, times within the horizon.
        coverage_share: Share of them within the interval.
        median_error_share: Median of |foreseen - actual| over actual.
        past: Seconds of past moments, bytes foreseen for them at the horizon, lower and upper
            end, and bytes that came.
    """

    _page = "jeton.report.prediction:memory_html"
    _line = ("model", "gpu", "n_requests")

    model: str
    gpu: str
    n_gpus: int
    n_requests: int
    n_too_long: int
    n_too_large: int
    n_without_output: int
    n_out_of_order: int
    rejected: Mapping[str, int]
    seconds_per_token: float
    forecast: MemoryForecast
    n_judged: int
    coverage_share: float
    median_error_share: float
    past: tuple[tuple[float, float, float, float, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        from jeton._core import __version__

        return {
            "schema_version": "jeton.predict_memory/2",
            "jeton_version": __version__,
            **asdict(self),
            "rejected": dict(self.rejected),
            "in_words": self.forecast.in_words,
        }


def predict_memory(
    history: RequestHistory,
    model: ModelFacts,
    gpu: GpuFacts,
    *,
    horizon_seconds: float = 600.0,
    coverage: float = 0.9,
    plan: MemoryPlan | None = None,
    seconds_per_token: float | None = None,
    at_seconds: float | None = None,
) -> MemoryPrediction:
    """Foresee the memory of the next minutes, from the end of a trace or a moment in it.

    Forecasts are made at moments of the past, too, each from what was known then. The errors of
    those whose outcome was known give the interval; the moments of the later half judge it.

    Args:
        history: Requests with times.
        model: The model that serves them.
        gpu: The GPU.
        horizon_seconds: How far ahead.
        coverage: Share of cases that the interval is to hold.
        plan: How the model is held.
        seconds_per_token: Time of a token of an answer; None: computed from model, GPU and load.
        at_seconds: The moment, in seconds after the first request; None: the last arrival.

    Raises:
        UsageError: The log has no times or is too short, the model does not fit, or a number is
            out of range.
    """
    if not history.has_times:
        raise UsageError(
            "the log does not say when requests came\nhint: name the field (--time-field), or the "
            "rate of a trace without times (--rate)"
        )
    plan = plan or MemoryPlan()
    check_served(model, gpu, plan)
    status = refused_requests(model, gpu, plan, history.prompt_tokens, history.output_tokens)
    served = status == DONE
    if not served.any():
        raise UsageError(
            f"none of {counted(len(history), 'request')} fits {model.name}'s context of "
            f"{plan.context_tokens(model):,} tokens and the memory left on {gpu.name}\n"
            "hint: a model with a longer context, or more GPUs (--tensor-parallel)"
        )
    prompts, outputs = history.prompt_tokens[served], history.output_tokens[served]
    traffic = KnownTraffic(history.arrival_seconds[served], prompts, outputs)
    duration = float(history.arrival_seconds[-1])
    if duration <= 0:
        raise UsageError(
            f"{counted(len(history), 'request')} at one moment; expected arrivals over some time\n"
            "hint: give a log of an hour, or several times the horizon"
        )
    now = duration if at_seconds is None else at_seconds
    if not 0 < now <= duration:
        raise UsageError(
            f"the moment is {now:,.0f} s after the first request, and the last came after "
            f"{duration:,.0f} s; expected a moment between"
        )
    memory = KvMemory.of(
        model,
        gpu,
        plan=plan,
        requests_per_second=len(prompts) / duration,
        mean_prompt_tokens=float(prompts.mean()),
        mean_output_tokens=float(outputs.mean()),
        seconds_per_token=seconds_per_token,
    )
    errors = DemandErrors(coverage=coverage)
    past = _Past(traffic, memory, errors, horizon_seconds, now)
    past.run()
    forecast = forecast_memory(
        traffic, memory, now=now, horizon_seconds=horizon_seconds, errors=errors
    )
    return MemoryPrediction(
        model=model.name,
        gpu=gpu.name,
        n_gpus=memory.n_gpus,
        n_requests=len(prompts),
        n_too_long=int((status == TOO_LONG).sum()),
        n_too_large=int((status == TOO_LARGE).sum()),
        n_without_output=history.n_without_output,
        n_out_of_order=history.n_out_of_order,
        rejected=dict(history.rejected),
        seconds_per_token=memory.seconds_per_token,
        forecast=forecast,
        n_judged=len(past.held),
        coverage_share=float(np.mean(past.held)) if past.held else 0.0,
        median_error_share=float(np.median(past.shares)) if past.shares else 0.0,
        past=tuple(past.rows),
    )


class _Past:
    """Forecasts at moments of the past, each from what was known then."""

    def __init__(
        self,
        traffic: KnownTraffic,
        memory: KvMemory,
        errors: DemandErrors,
        horizon: float,
        now: float,
    ) -> None:
        self._traffic, self._memory, self._errors = traffic, memory, errors
        self._horizon, self._now = horizon, now
        self.held: list[bool] = []
        self.shares: list[float] = []
        self.rows: list[tuple[float, float, float, float, float]] = []

    def run(self) -> None:
        """Forecast, wait, compare."""
        first = min(self._horizon, self._now / 8)
        moments = np.linspace(first, self._now, _CUTS, endpoint=False).tolist()
        waiting: list[tuple[float, int, float, float | None, float | None, bool]] = []
        floor = demand_floor(self._memory)
        for moment in moments:
            known = [case for case in waiting if case[0] <= moment]
            waiting = [case for case in waiting if case[0] > moment]
            self._take(known, floor)
            try:
                found = forecast_memory(
                    self._traffic,
                    self._memory,
                    now=moment,
                    horizon_seconds=self._horizon,
                    errors=self._errors,
                )
            except UsageError:
                continue  # No request had ended by then.
            for step in range(N_STEPS):
                low = found.low_bytes[step] if found.low_bytes else None
                high = found.high_bytes[step] if found.high_bytes else None
                waiting.append(
                    (
                        moment + found.seconds[step],
                        step,
                        found.expected_bytes[step],
                        low,
                        high,
                        moment >= self._now / 2,
                    )
                )
        self._take([case for case in waiting if case[0] <= self._now], floor)

    def _take(
        self,
        known: list[tuple[float, int, float, float | None, float | None, bool]],
        floor: float,
    ) -> None:
        for target, step, expected, low, high, is_judged in sorted(known, key=lambda c: c[0]):
            actual = self._traffic.demand(target, self._memory)
            self._errors.learn(step, expected, actual, floor)
            if not is_judged or low is None or high is None:
                continue
            self.held.append(low - 1 <= actual <= high + 1)
            if actual > 0:
                self.shares.append(abs(expected - actual) / actual)
            if step == N_STEPS - 1 and math.isfinite(expected):
                self.rows.append((target, expected, low, high, actual))
