"""Which policy of admission serves a trace best: each is replayed over loads and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from jeton._plain import counted
from jeton.economics.admission import Policy
from jeton.errors import UsageError
from jeton.planning.serving.admission_results import AdmissionPlan, PolicyFigures
from jeton.planning.serving.choosing import (
    beaten_by,
    best_policy,
    compared_load,
    policy_figures,
)
from jeton.planning.serving.engine_settings import advise
from jeton.planning.serving.replays import (
    WINDOW_SECONDS,
    LatencyObjective,
    ReplayFigures,
    check_traffic,
    drawn_windows,
    replay_figures,
)
from jeton.planning.serving.servers import engine_defaults, server_of
from jeton.progress import OnProgress, Progress

if TYPE_CHECKING:
    from jeton.corpus.traces import Trace
    from jeton.economics.serving.memory_plan import MemoryPlan
    from jeton.economics.traffic.settings import EngineSettings
    from jeton.economics.traffic.simulate import Server

DEFAULT_POLICIES: tuple[Policy, ...] = (
    Policy("dynamic"),
    Policy("maximum"),
    Policy("static"),
    Policy("mean"),
    Policy("p95"),
    Policy("prediction"),
    Policy("conformal"),
    Policy("refine"),
    Policy("peak"),
    Policy("dynamic", order="shortest"),
    Policy("conformal", order="shortest"),
    Policy("peak", order="shortest"),
)
"""Policies that are compared, the simplest to have first: where two are equal, it is named."""

_AROUND_KNEE = (0.6, 0.8, 1.0, 1.2, 1.5)
"""Loads that are tried, over the load at which paging has the most answers in time."""

_SCANNED_LOADS = (1.2, 1.0, 0.85, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.06, 0.03, 0.01)
"""Loads at which that knee is looked for: rates over the rate that the server sustains."""

_AT_ONCE = 1e6
"""Density of traffic at which an hour comes within milliseconds: the GPU is never short of work."""

_MAX_SEEDS = 1000
_MAX_LOAD = 100.0


def plan_admission(
    trace: Trace,
    *,
    model: str,
    gpu: str,
    objective: LatencyObjective | None = None,
    policies: Sequence[Policy] = DEFAULT_POLICIES,
    loads: Sequence[float] | None = None,
    seeds: int = 8,
    n_requests: int = 1500,
    window_seconds: float | None = None,
    plan: MemoryPlan | None = None,
    prefix_cache: bool = False,
    step_overhead_seconds: float = 0.0,
    usd_per_hour: Decimal | None = None,
    on_progress: OnProgress | None = None,
) -> AdmissionPlan:
    """Find the policy of admission that serves a trace best on a server.

    Each seed is one drawing of the trace's windows. It is replayed under each policy at each load,
    so that policies are compared on the same requests. As many other drawings choose the best
    policy, the compared load and the settings, so that no figure is from the drawings that chose.

    Args:
        trace: Arrivals and lengths.
        model: The model, as `jeton.catalog.model` finds it.
        gpu: The GPU, as `jeton.catalog.gpu` finds it.
        objective: Limits of the latency and what is sought; by default 2 s to the first token,
            0.1 s between tokens, and the most answers in time.
        policies: Policies; where two cannot be told apart, the one that stands first is named.
        loads: Rates of the requests over the rate that the server sustains; None: around the load
            at which paging has the most answers in time.
        seeds: Drawings that figures are from; as many others choose.
        n_requests: Requests of a drawing.
        window_seconds: Length of the windows that are drawn; None: a minute.
        plan: How the model is held on the GPUs.
        prefix_cache: Prompts that begin alike share memory, where the trace says which do.
        step_overhead_seconds: Time of each step beside the roofline.
        usd_per_hour: Price of one GPU and hour; None: the catalog's low list price.
        on_progress: Told about each replay.

    Returns:
        Figures of each policy, the best, and settings for vLLM and SGLang.

    Raises:
        UsageError: The trace is too short, the model does not fit, or a number is out of range.
        UnknownModelError: The catalog has no such model.
        UnknownGpuError: The catalog has no such GPU.

    Example:
        >>> from jeton.corpus.traces import Trace
        >>> from jeton.planning import plan_admission
        >>> n = 200
        >>> trace = Trace.of([i / 8 for i in range(n)], [900] * n, [40 + i % 50 for i in range(n)])
        >>> found = plan_admission(trace, model="llama-3-8b", gpu="a10g", seeds=2, n_requests=200)
        >>> found.policy("dynamic").best_goodput.mean > 1
        True
    """
    objective = objective or LatencyObjective()
    chosen = _checked(policies, loads, seeds)
    check_traffic(trace)
    server = server_of(model, gpu, plan=plan, usd_per_hour=usd_per_hour)
    settings = engine_defaults(
        server, prefix_cache=prefix_cache, step_overhead_seconds=step_overhead_seconds
    )
    # The best of many has had some luck: other drawings than those that chose it tell its figures.
    reported, choosing = (
        [
            drawn_windows(
                trace,
                n_requests=n_requests,
                seed=first + seed,
                window_seconds=window_seconds,
                with_blocks=prefix_cache,
            )
            for seed in range(seeds)
        ]
        for first in (0, seeds)
    )
    fixed = [_with_lengths(policy, trace, server) for policy in chosen]
    saturation = saturation_rate(choosing[0], server, settings, objective)
    if loads is None:
        loads = _loads_around_knee(choosing[:2], saturation, server, settings, objective)
    replays = _Replays(fixed, loads, saturation, server, settings, objective, on_progress)
    found, runs = replays.of(choosing), replays.of(reported)
    load = compared_load(found, loads)
    figures = policy_figures(chosen, runs, found, loads, objective)
    best, reasons = best_policy(chosen, found, loads, load, objective)
    advice, tuned = advise(
        fixed[best],
        figures[best],
        *(
            [_at_load(one, loads[load], saturation) for one in part]
            for part in (choosing, reported)
        ),
        server=server,
        settings=settings,
        objective=objective,
        load=loads[load],
        on_progress=on_progress,
    )
    given = server.usd_per_hour
    price = server.gpu.price_low
    return AdmissionPlan(
        trace=trace.path,
        n_trace_requests=len(trace),
        n_out_of_order=trace.n_out_of_order,
        rejected=dict(trace.rejected),
        model=server.model.name,
        gpu=server.gpu.name,
        n_gpus=server.group,
        usd_per_hour=price.usd_per_hour if given is None else given,
        usd_source=f"{price.source}, {price.date.isoformat()}" if given is None else "given",
        capacity_tokens=advice.capacity_tokens,
        max_requests=settings.max_requests,
        step_tokens=settings.step_tokens,
        objective=objective,
        seeds=seeds,
        n_requests=n_requests,
        window_seconds=window_seconds or min(WINDOW_SECONDS, trace.duration_seconds / 8),
        saturation_requests_per_second=saturation,
        loads=tuple(loads),
        load=loads[load],
        policies=tuple(figures),
        best=figures[best].label,
        reasons=reasons,
        beaten_by=beaten_by(chosen, runs, found, best, load, objective),
        advice=advice.engines,
        tuned_goodput=tuned,
        notes=_notes(trace, figures[best], loads[load], seeds),
    )


class _Replays:
    """Replays of drawings under every policy, at every load."""

    def __init__(
        self,
        policies: Sequence[Policy],
        loads: Sequence[float],
        saturation: float,
        server: Server,
        settings: EngineSettings,
        objective: LatencyObjective,
        on_progress: OnProgress | None,
    ) -> None:
        self._policies, self._loads, self._saturation = policies, loads, saturation
        self._server, self._settings, self._objective = server, settings, objective
        self._tell = on_progress
        self._n_done = 0

    def of(self, drawings: Sequence[Trace]) -> list[list[list[ReplayFigures]]]:
        """Figures by policy, load and drawing."""
        return [
            [
                [self._replay(policy, load, drawing, len(drawings)) for drawing in drawings]
                for load in self._loads
            ]
            for policy in self._policies
        ]

    def _replay(self, policy: Policy, load: float, drawing: Trace, n: int) -> ReplayFigures:
        if self._tell is not None:
            total = 2 * len(self._policies) * len(self._loads) * n
            self._tell(Progress("replay", self._n_done, total, "steps", detail=policy.label))
        self._n_done += 1
        return replay_figures(
            _at_load(drawing, load, self._saturation),
            self._server,
            policy=policy,
            settings=self._settings,
            objective=self._objective,
        )


def _at_load(drawing: Trace, load: float, saturation: float) -> Trace:
    """A drawing as dense as a load is."""
    return drawing.part(rate_factor=load * saturation / drawing.requests_per_second)


def saturation_rate(
    drawing: Trace, server: Server, settings: EngineSettings, objective: LatencyObjective
) -> float:
    """Requests a second that are answered with never a want of work, pages handed out as needed.

    Raises:
        UsageError: No request of the trace fits the server.
    """
    run = replay_figures(
        drawing.part(rate_factor=_AT_ONCE),
        server,
        policy=Policy("dynamic"),
        settings=settings,
        objective=objective,
    )
    tokens = float((drawing.prompt_tokens + drawing.output_tokens).mean())
    if run.n_refused == len(drawing) or not run.tokens_per_second:
        raise UsageError(
            f"{drawing.path}: no request of the trace fits {server.model.name} on {server.group} x "
            f"{server.gpu.name}; the mean one has {tokens:,.0f} tokens\n"
            "hint: a larger GPU, more of them (--tensor-parallel), or a model with a longer context"
        )
    return run.tokens_per_second / tokens


def _loads_around_knee(
    drawings: Sequence[Trace],
    saturation: float,
    server: Server,
    settings: EngineSettings,
    objective: LatencyObjective,
) -> tuple[float, ...]:
    """Loads around that at which paging has the most answers in time a second."""
    best, knee = -1.0, _SCANNED_LOADS[0]
    for load in _SCANNED_LOADS:
        goodput = sum(
            replay_figures(
                _at_load(drawing, load, saturation),
                server,
                policy=Policy("dynamic"),
                settings=settings,
                objective=objective,
            ).goodput_requests_per_second
            for drawing in drawings
        )
        if goodput > best:
            best, knee = goodput, load
        # At a lower rate no more can be in time than come.
        if load * saturation * len(drawings) < best:
            break
    return tuple(round(knee * share, 4) for share in _AROUND_KNEE)


def _checked(
    policies: Sequence[Policy], loads: Sequence[float] | None, seeds: int
) -> tuple[Policy, ...]:
    """The policies, if they and the numbers can be meant."""
    if not policies:
        raise UsageError("no policy is given; expected at least one")
    labels = [policy.label for policy in policies]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"the policy {twice!r} is given twice; expected each once")
    if not 1 <= seeds <= _MAX_SEEDS:
        raise UsageError(f"seeds is {seeds}; expected from 1 to {_MAX_SEEDS:,}")
    if loads is None:
        return tuple(policies)
    if not loads or not all(0 < load <= _MAX_LOAD for load in loads):
        raise UsageError(
            f"loads are {', '.join(f'{load:g}' for load in loads) or 'none'}; expected numbers "
            f"above 0, at most {_MAX_LOAD:g}"
        )
    if list(loads) != sorted(set(loads)):
        raise UsageError(
            f"loads are {', '.join(f'{load:g}' for load in loads)}; expected each once, ascending"
        )
    return tuple(policies)


def _with_lengths(policy: Policy, trace: Trace, server: Server) -> Policy:
    """The policy with the lengths of the whole trace, so that all drawings reserve alike."""
    from dataclasses import replace

    totals = trace.prompt_tokens + trace.output_tokens
    fits = totals <= server.model.context_tokens
    if policy.name == "static" and policy.reserved_tokens is None:
        return replace(policy, reserved_tokens=int(totals.max(initial=1, where=fits)))
    if policy.name == "maximum" and policy.max_output_tokens is None:
        longest = int(trace.output_tokens.max(initial=1, where=fits))
        return replace(policy, max_output_tokens=max(1, longest))
    return policy


def _notes(trace: Trace, best: PolicyFigures, load: float, seeds: int) -> tuple[str, ...]:
    notes = [
        f"the policy, the compared load and the settings were chosen on {seeds:,} drawings; "
        f"figures are from {seeds:,} others"
    ]
    if trace.n_out_of_order:
        notes.append(
            f"{counted(trace.n_out_of_order, 'request')} came before one above: the clock ran "
            "backwards; sorted in"
        )
    if trace.rejected:
        reasons = ", ".join(f"{n:,} with {reason}" for reason, n in trace.rejected.items())
        notes.append(f"rows that cannot be meant were left out: {reasons}")
    if not trace.has_times:
        notes.append("the trace has no times; they were drawn as a Poisson process")
    refused = best.at(load).n_refused
    if refused:
        notes.append(f"{counted(refused, 'request')} of all drawings beyond context or memory")
    return tuple(notes)
