"""Replay a trace on a GPU under a policy, and sum up what happened."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.admission import Policy
from jeton.economics.money import SECONDS_PER_HOUR, TOKENS_PER_MTOK
from jeton.economics.serving.latency import DECODE_BANDWIDTH_SHARE, PREFILL_FLOPS_SHARE
from jeton.economics.serving.memory_budget import (
    MemoryBudget,
    check_served,
    memory_budget,
)
from jeton.economics.serving.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.economics.traffic.engine import (
    TOO_LARGE,
    TOO_LONG,
    Outcome,
    PageBytes,
    PromptBlocks,
    run_engine,
)
from jeton.economics.traffic.result import Spread, TrafficRun, TrafficSeries, prediction_error
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.step_times import StepTimes
from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace

N_BINS = 60
"""Stretches of a series over the trace: a minute each of an hour. A run that goes on longer has up
to twice as many."""

_USD = Decimal("1e-12")
_QUANTILE_STEPS = 40
_NOTHING = Spread(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, init=False)
class Server:
    """A model on a group of GPUs.

    Attributes:
        model: The model.
        gpu: The GPU.
        plan: How the model is held: formats, GPUs of the group, and what the engine keeps. Its
            fields can be given by name, too.
        flops_share: Share of the arithmetic rate that is reached.
        bandwidth_share: Share of the bandwidth that is reached.
        usd_per_hour: Price of one GPU and hour; None: the catalog's low list price.
    """

    model: ModelFacts
    gpu: GpuFacts
    plan: MemoryPlan
    flops_share: float
    bandwidth_share: float
    usd_per_hour: Decimal | None

    def __init__(
        self,
        model: ModelFacts,
        gpu: GpuFacts,
        *,
        plan: MemoryPlan | None = None,
        flops_share: float = PREFILL_FLOPS_SHARE,
        bandwidth_share: float = DECODE_BANDWIDTH_SHARE,
        usd_per_hour: Decimal | None = None,
        **changes: Unpack[PlanChanges],
    ) -> None:
        for name, value in (
            ("model", model),
            ("gpu", gpu),
            ("plan", changed_plan(plan, **changes)),
            ("flops_share", flops_share),
            ("bandwidth_share", bandwidth_share),
            ("usd_per_hour", usd_per_hour),
        ):
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> MemoryBudget:
        """Memory of each GPU, part by part."""
        return memory_budget(self.model, self.gpu, self.plan)

    @property
    def group_plan(self) -> MemoryPlan:
        """The plan with the number of GPUs that was found."""
        return changed_plan(self.plan, n_gpus=self.budget.tensor_parallel)

    @property
    def weights(self) -> int:
        """Bytes of the weights, without copies."""
        return self.budget.group_weight_bytes

    @property
    def group(self) -> int:
        """GPUs of the group."""
        return self.budget.n_gpus

    @property
    def budget_bytes(self) -> int:
        """Memory for requests on the whole group."""
        return self.budget.group_kv_bytes

    def with_vocabulary(self, vocab_size: int | None) -> Server:
        """Return the server of a model with another vocabulary; None: its own."""
        return replace(self, plan=changed_plan(self.plan, vocab_size=vocab_size))

    def check_fits(self) -> None:
        """Raise where the group does not hold the model.

        Raises:
            DoesNotFitError: It does not; says how many GPUs would.
        """
        check_served(self.model, self.gpu, self.plan)

    @property
    def hourly(self) -> Decimal:
        """USD of the whole group and one hour."""
        one = self.gpu.price_low.usd_per_hour if self.usd_per_hour is None else self.usd_per_hour
        return one * self.group


def simulate_traffic(
    trace: Trace,
    server: Server,
    *,
    policy: Policy | None = None,
    settings: EngineSettings | None = None,
    tokenizer: str = "",
    tokens_ratio: float = 1.0,
    n_bins: int = N_BINS,
) -> TrafficRun:
    """Replay a trace on a server and return what happened.

    Deterministic: the same trace and settings give the same run, bit for bit.

    Source: continuous batching: Orca (Yu et al., OSDI 2022); pages, preemption and recomputation:
    arXiv:2309.06180; chunked prefill: arXiv:2308.16369; time of a step: roofline
    (`jeton.economics.serving.latency`), so times are estimates as long as its shares are.

    Args:
        trace: Arrivals and lengths, in this tokenizer's tokens.
        server: Model and GPUs.
        policy: How memory is handed out; by default ``dynamic``.
        settings: The engine's other settings.
        tokenizer: Name, for the result.
        tokens_ratio: Tokens over those recorded, for the result.
        n_bins: Stretches of the series over the trace's duration.

    Raises:
        UsageError: The weights alone do not fit, or a setting is out of range.
    """
    policy, settings = policy or Policy("dynamic"), settings or EngineSettings()
    done = replay(trace, server, policy=policy, settings=settings, n_bins=n_bins)
    return _run_of(
        trace,
        server,
        done.policy,
        done.outcome,
        tokenizer=tokenizer,
        tokens_ratio=tokens_ratio,
    )


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay request by request, before anything is summed up.

    Attributes:
        outcome: Outcome of each request, and the memory over time.
        policy: The policy, with the length that it reserved.
    """

    outcome: Outcome
    policy: Policy


def replay(
    trace: Trace,
    server: Server,
    *,
    policy: Policy,
    settings: EngineSettings,
    n_bins: int = N_BINS,
) -> Replay:
    """Replay a trace on a server and return the outcome of each request.

    Raises:
        UsageError: As for `simulate_traffic`.
    """
    server.check_fits()
    if n_bins < 1:
        raise UsageError(f"n_bins is {n_bins}; expected at least 1")
    pages = PageBytes(
        server.model,
        page_tokens=settings.page_tokens,
        plan=server.group_plan,
    )
    context = server.plan.context_tokens(server.model)
    if policy.name == "static" and policy.reserved_tokens is None:
        totals = trace.prompt_tokens + trace.output_tokens
        longest = int(totals.max(initial=1, where=totals <= context))
        policy = replace(policy, reserved_tokens=longest)
    group_of, groups = groups_of(trace)
    outcome = run_engine(
        trace.arrival_seconds,
        trace.prompt_tokens,
        trace.output_tokens,
        times=step_times(server, overhead_seconds=settings.step_overhead_seconds),
        pages=pages,
        budget_bytes=server.budget_bytes,
        policy=policy,
        settings=settings,
        bin_seconds=max(trace.duration_seconds, 1.0) / n_bins,
        context_tokens=context,
        blocks=PromptBlocks.of(trace, pages, server.model) if settings.prefix_cache else None,
        group_of=group_of,
        groups=groups,
    )
    return Replay(outcome, policy)


def groups_of(trace: Trace) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
    """The domain of each request, as a forecast of lengths wants it, and the names of all."""
    import numpy as np

    # Domain -1, which the trace does not name, is the group without fields.
    known: NDArray[np.int64] = (
        trace.domain.astype(np.int64) if trace.domains else np.full(len(trace), -1, dtype=np.int64)
    )
    return known + 1, [(), *((name,) for name in trace.domains)]


def step_times(server: Server, *, overhead_seconds: float = 0.0) -> StepTimes:
    """The coefficients of a server's steps."""
    return StepTimes.of(
        server.model,
        server.gpu,
        plan=server.group_plan,
        flops_share=server.flops_share,
        bandwidth_share=server.bandwidth_share,
        overhead_seconds=overhead_seconds,
    )


def spread(values: NDArray[np.float64] | NDArray[np.int64]) -> Spread:
    """Mean and quantiles (nearest rank); zeros without values."""
    import numpy as np

    n = len(values)
    if n == 0:
        return _NOTHING
    ordered = np.sort(values)
    p50, p95, p99 = (
        float(ordered[max(0, math.ceil(share * n - 1e-9) - 1)]) for share in (0.5, 0.95, 0.99)
    )
    return Spread(float(ordered.mean()), p50, p95, p99, float(ordered[-1]))


def _run_of(
    trace: Trace,
    server: Server,
    policy: Policy,
    out: Outcome,
    *,
    tokenizer: str,
    tokens_ratio: float,
) -> TrafficRun:
    import numpy as np

    arrived, admitted, first, finished = out.arrived, out.admitted, out.first_token, out.finished
    status, recorder = out.status, out.memory
    done = status == 0
    outputs = trace.output_tokens
    ttft = (first - arrived)[~np.isnan(first)]
    several = done & (outputs > 1)
    tpot = (finished - first)[several] / (outputs[several] - 1)
    n_done = int(done.sum())
    end = out.end_seconds
    busy = out.prompt_seconds + out.decode_seconds
    n_tokens = int((trace.prompt_tokens + outputs)[done].sum())
    last_arrival = float(arrived.max())
    usd_per_second = server.hourly / SECONDS_PER_HOUR
    usd = usd_busy = usd_mtok = None
    if n_done:
        usd = _money(usd_per_second, end / n_done)
        usd_busy = _money(usd_per_second, busy / n_done)
        usd_mtok = _money(usd_per_second * TOKENS_PER_MTOK, end / n_tokens)
    allocated, held = sum(recorder.allocated), sum(recorder.held)
    budget = server.budget_bytes
    return TrafficRun(
        tokenizer=tokenizer,
        policy=policy.name,
        tokens_ratio=tokens_ratio,
        reserved_tokens=policy.reserved_tokens if policy.name == "static" else None,
        n_answered=n_done,
        n_too_long=int((status == TOO_LONG).sum()),
        n_too_large=int((status == TOO_LARGE).sum()),
        end_seconds=end,
        busy_share=min(1.0, busy / end) if end else 0.0,
        prompt_share=min(1.0, out.prompt_seconds / end) if end else 0.0,
        requests_per_second=n_done / end if end else 0.0,
        output_tokens_per_second=out.output_tokens / end if end else 0.0,
        tokens_per_second=n_tokens / end if end else 0.0,
        ttft_seconds=spread(ttft),
        tpot_seconds=spread(tpot),
        wait_seconds=spread((admitted - arrived)[done]),
        latency_seconds=spread((finished - arrived)[done]),
        n_backlog=int((done & ~(finished <= last_arrival)).sum()),
        n_preemptions=len(out.memory_out),
        n_preempted_requests=int((out.n_preempted > 0).sum()),
        first_memory_out_seconds=float(out.memory_out[0]) if len(out.memory_out) else None,
        recomputed_tokens=out.recomputed_tokens,
        cached_tokens=out.cached_tokens,
        blocked_seconds=out.blocked_seconds,
        budget_bytes=budget,
        peak_bytes=max(recorder.peak),
        mean_allocated_share=allocated / budget / busy if busy else 0.0,
        mean_held_share=held / budget / busy if busy else 0.0,
        waste_share=max(0.0, 1 - held / allocated) if allocated else 0.0,
        prediction=prediction_error(out.predicted, out.predicted_actual, quantile=policy.quantile),
        usd_per_request=usd,
        usd_per_request_busy=usd_busy,
        usd_per_mtok=usd_mtok,
        ttft_quantiles_seconds=_quantiles(ttft),
        series=_series(out),
    )


def _money(usd_per_second: Decimal, seconds: float) -> Decimal:
    return (usd_per_second * Decimal(repr(seconds))).quantize(_USD)


def _quantiles(values: NDArray[np.float64]) -> tuple[float, ...]:
    import numpy as np

    if len(values) == 0:
        return ()
    ordered = np.sort(values)
    places = [
        max(0, math.ceil(i / _QUANTILE_STEPS * len(ordered) - 1e-9) - 1)
        for i in range(_QUANTILE_STEPS + 1)
    ]
    return tuple(float(ordered[place]) for place in places)


def _series(out: Outcome) -> TrafficSeries:
    import numpy as np

    recorder = out.memory
    # The trace may be a small part of the run: as many stretches as a plot shows.
    seconds = np.array(recorder.seconds)
    allocated, held = np.array(recorder.allocated), np.array(recorder.held)
    peak = np.array(recorder.peak, dtype=np.float64)
    width, n = recorder.width, len(seconds)
    join = -(-n // (2 * N_BINS))
    if join > 1:
        room = -n % join
        seconds, allocated, held, peak = (
            np.pad(values, (0, room)).reshape(-1, join)
            for values in (seconds, allocated, held, peak)
        )
        seconds, allocated, held = seconds.sum(axis=1), allocated.sum(axis=1), held.sum(axis=1)
        peak = peak.max(axis=1)
        width *= join
    edges: NDArray[np.float64] = np.arange(len(seconds) + 1, dtype=np.float64) * width
    covered = np.maximum(seconds, 1e-300)
    return TrafficSeries(
        seconds=width,
        allocated_bytes=_whole(allocated / covered),
        peak_bytes=_whole(peak),
        held_bytes=_whole(held / covered),
        waiting=_number_over_time(out.waits, edges),
        running=_number_over_time(out.runs, edges),
        n_memory_out=tuple(int(k) for k in np.histogram(out.memory_out, bins=edges)[0]),
    )


def _whole(values: NDArray[np.float64]) -> tuple[int, ...]:
    return tuple(round(float(value)) for value in values)


def _number_over_time(
    stretches: tuple[NDArray[np.float64], NDArray[np.float64]], edges: NDArray[np.float64]
) -> tuple[float, ...]:
    """Mean number of stretches (from, to) that cover a moment, between each two edges.

    Formula: with ``I(t) = sum of max(0, t - x)`` over the ends x, the number's integral up to t is
    ``I_from(t) - I_to(t)``.
    """
    import numpy as np

    total = np.zeros(len(edges))
    for sign, times in ((1.0, stretches[0]), (-1.0, stretches[1])):
        ordered = np.sort(times)
        sums = np.concatenate(([0.0], np.cumsum(ordered)))
        n = np.searchsorted(ordered, edges, side="right")
        total += sign * (edges * n - sums[n])
    means = np.maximum(np.diff(total), 0.0) / np.diff(edges)
    # Sums of millions of seconds leave dust where nothing waits.
    return tuple(round(float(value), 6) for value in means)
