"""Settings of engines that come closest to a policy, each found by replay or worked out.

Names are those of vLLM 0.11.2 (docs.vllm.ai, ``vllm.config.scheduler`` and "Engine Arguments"), of
SGLang (docs.sglang.io, "Hyperparameter Tuning" and "Server Arguments"), of ``trtllm-serve`` 1.0
("Useful Runtime Options", KvCacheConfig), and of ``llama-server`` (tools/server/README.md); read
2026-11-29.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jeton.economics.admission import Policy
from jeton.economics.serving.memory_budget import refusal
from jeton.economics.serving.memory_plan import changed_plan
from jeton.planning.serving.admission_results import EngineAdvice, PolicyFigures, SettingAdvice
from jeton.planning.serving.replays import (
    ReplayFigures,
    SeedFigure,
    ratio_over_seeds,
    replay_figures,
)
from jeton.planning.serving.servers import capacity_tokens
from jeton.progress import OnProgress, Progress

if TYPE_CHECKING:
    from jeton.corpus.traces import Trace
    from jeton.economics.traffic.settings import EngineSettings
    from jeton.economics.traffic.simulate import Server
    from jeton.planning.serving.replays import LatencyObjective

_STEP_TOKENS = (512, 1024, 2048, 4096, 8192, 16_384)
_REQUESTS = (16, 32, 64, 128, 256, 512, 1024)

_SGLANG_SHARE = 0.7
"""Share of a request's ``max_new_tokens`` that SGLang's scheduler counts on when it admits one; it
falls to 14% of that over 600 steps."""

_SGLANG_CLIP = 4096
"""Tokens of an answer beyond which SGLang's scheduler counts no further."""

_LEAST_CONSERVATIVE, _MOST_CONSERVATIVE = 0.1, 1.3
"""Ends of what is advised for SGLang: its tuning guide goes from 0.3 to 1.3."""

_FULL_SHARE = 0.8
"""From here on the cache is what is short: then a larger share of the memory helps."""

_MORE_MEMORY = 0.95

_CELLS = 256
"""Tokens that llama.cpp rounds its cache to."""

_NO_HARM = 0.99
"""A larger number is only advised where the smaller one costs a hundredth of the goodput."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Settings for engines.

    Attributes:
        capacity_tokens: Tokens that the cache holds.
        engines: Settings of each.
    """

    capacity_tokens: int
    engines: tuple[EngineAdvice, ...]


def advise(
    policy: Policy,
    figures: PolicyFigures,
    drawings: Sequence[Trace],
    others: Sequence[Trace],
    *,
    server: Server,
    settings: EngineSettings,
    objective: LatencyObjective,
    load: float,
    on_progress: OnProgress | None = None,
) -> tuple[Advice, SeedFigure]:
    """Return settings for engines, and the goodput of paging with them.

    Engines hand out pages as tokens come. So steps and requests side by side are tried under
    ``dynamic``, in the order of the policy's queue, on the drawings at the compared load.

    Args:
        policy: The best policy.
        figures: Its figures.
        drawings: Traffic at the compared load that settings are tried on, one of each seed.
        others: As much traffic that the goodput with them is measured on.
        server: The server.
        settings: Its engine's defaults.
        objective: Limits of the latency.
        load: The compared load.
        on_progress: Told about each try.
    """
    at = figures.at(load)
    paging = Policy(
        "dynamic", order=policy.order, ageing_tokens_per_second=policy.ageing_tokens_per_second
    )
    tries = _Tries(drawings, server, settings, objective, paging, on_progress)
    step = tries.best_step()
    seats = tries.best_seats(step)
    judged = _Tries(others, server, settings, objective, paging, on_progress)
    tuned = SeedFigure.of(judged.goodput(step, seats))
    usual = SeedFigure.of(judged.goodput(settings.step_tokens, settings.max_requests))
    capacity = capacity_tokens(server, settings)
    share = server.plan.share_on(server.gpu)
    is_full = at.utilisation_share.mean >= _FULL_SHARE
    more = _with_share(server, _MORE_MEMORY)
    wanted = _MORE_MEMORY if is_full and share < _MORE_MEMORY else share
    chosen = more if wanted == _MORE_MEMORY else server
    memory_reason = (
        f"the cache is {at.utilisation_share.mean:.0%} full of tokens at this load; "
        f"{capacity_tokens(more, settings):,} tokens fit instead of {capacity:,}"
        if wanted != share
        else f"{capacity:,} tokens fit, and {at.utilisation_share.mean:.0%} of them are in use at "
        "this load: more memory would change little"
        if not is_full
        else f"{capacity:,} tokens fit; a larger share leaves the engine itself too little"
    )
    step_reason = (
        f"of the sizes from {_STEP_TOKENS[0]:,} to {_STEP_TOKENS[-1]:,} that were replayed, "
        f"{tuned.mean:.3g} answers in time a second; the default of {settings.step_tokens:,} gives "
        f"{usual.mean:.3g}"
    )
    seats_reason = (
        f"the fewest requests side by side with the most answers in time; the default of "
        f"{settings.max_requests:,} gives {usual.mean:.3g} a second with its own step"
    )
    vllm = [
        SettingAdvice("max-num-seqs", str(seats), seats_reason),
        SettingAdvice("max-num-batched-tokens", str(step), step_reason),
        SettingAdvice("gpu-memory-utilization", f"{wanted:g}", memory_reason),
    ]
    lacks = []
    if policy.order == "shortest":
        vllm.append(
            SettingAdvice(
                "scheduling-policy",
                "priority",
                "the shortest predicted request goes first: send its predicted tokens less its age "
                "as `priority`, which is lowest first",
            )
        )
    if policy.name != "dynamic":
        lacks.append(
            f"vLLM reserves no tokens to come, as {policy.name} does: it preempts instead; "
            "jeton.planning.Admission before the server holds requests back"
        )
    return (
        Advice(
            capacity,
            (
                EngineAdvice("vllm", tuple(vllm), tuple(lacks)),
                _sglang(policy, figures, drawings[0], chosen, step, seats, memory_reason, load),
                _tensorrt_llm(policy, server, settings, step, seats, is_full=is_full),
                _llama_cpp(policy, drawings[0], server, settings, step, seats),
            ),
        ),
        tuned,
    )


class _Tries:
    """Replays of the drawings under other settings, each once."""

    def __init__(
        self,
        drawings: Sequence[Trace],
        server: Server,
        settings: EngineSettings,
        objective: LatencyObjective,
        policy: Policy,
        on_progress: OnProgress | None,
    ) -> None:
        self._drawings, self._server, self._settings = drawings, server, settings
        self._objective, self._policy, self._tell = objective, policy, on_progress
        self._found: dict[tuple[int, int], list[ReplayFigures]] = {}

    def goodput(self, step: int, seats: int) -> list[float]:
        """Answers in time a second, one of each seed."""
        key = step, seats
        if key not in self._found:
            if self._tell is not None:
                self._tell(Progress("replay", len(self._found), None, "steps", detail="settings"))
            plan = changed_plan(self._server.plan, max_batched_tokens=step, max_requests=seats)
            server = replace(self._server, plan=plan)
            if not server.budget.fits:
                return [0.0] * len(self._drawings)
            self._found[key] = [
                replay_figures(
                    drawing,
                    server,
                    policy=self._policy,
                    settings=replace(self._settings, step_tokens=step, max_requests=seats),
                    objective=self._objective,
                )
                for drawing in self._drawings
            ]
        return [run.goodput_requests_per_second for run in self._found[key]]

    def best_step(self) -> int:
        """The step with the most answers in time; the engine's default unless another is better."""
        usual, seats = self._settings.step_tokens, self._settings.max_requests
        found = {step: self.goodput(step, min(seats, step // 2)) for step in {*_STEP_TOKENS, usual}}
        best = max(sorted(found), key=lambda step: sum(found[step]))
        ratio = ratio_over_seeds(found[best], found[usual])
        if ratio is not None and ratio.low is not None and ratio.low <= 1:
            return usual
        return best

    def best_seats(self, step: int) -> int:
        """The fewest requests side by side that cost less than a hundredth of the goodput."""
        most = min(self._settings.max_requests, step // 2)
        choices = sorted({*(n for n in _REQUESTS if n < most), most})
        found = {seats: sum(self.goodput(step, seats)) for seats in choices}
        best = max(found.values())
        return next(seats for seats in choices if found[seats] >= _NO_HARM * best)


def _sglang(
    policy: Policy,
    figures: PolicyFigures,
    drawing: Trace,
    server: Server,
    step: int,
    seats: int,
    memory_reason: str,
    load: float,
) -> EngineAdvice:
    budget = server.budget
    static = (budget.weight_bytes + budget.kv_bytes) / budget.memory_bytes
    longest = int(drawing.output_tokens.max(initial=1))
    mean = float(drawing.output_tokens.mean())
    expected = figures.at(load).predicted_tokens_mean
    if policy.name in ("static", "maximum"):
        expected, said = float(longest), "the longest answer"
    elif policy.name == "dynamic" or expected is None:
        expected, said = mean, "the mean answer"
    else:
        said = f"{policy.name} counts on"
    ratio = expected / (_SGLANG_SHARE * min(longest, _SGLANG_CLIP))
    conservative = min(_MOST_CONSERVATIVE, max(_LEAST_CONSERVATIVE, ratio))
    settings = (
        SettingAdvice(
            "mem-fraction-static",
            f"{math.floor(static * 1000) / 1000:g}",
            f"weights and cache over the GPU's memory: ({budget.weight_bytes / 1e9:.1f} + "
            f"{budget.kv_bytes / 1e9:.1f}) / {budget.memory_bytes / 1e9:.1f} GB; {memory_reason}",
        ),
        SettingAdvice("max-running-requests", str(seats), "as vLLM's max-num-seqs"),
        SettingAdvice("chunked-prefill-size", str(step), "as vLLM's max-num-batched-tokens"),
        SettingAdvice(
            "schedule-conservativeness",
            f"{conservative:.2g}",
            f"{said}: {expected:,.0f} tokens; SGLang begins with {_SGLANG_SHARE:g} x "
            f"min(max_new_tokens, {_SGLANG_CLIP:,}) x this number, and the longest answer has "
            f"{longest:,} tokens",
        ),
        SettingAdvice(
            "schedule-policy",
            "fcfs",
            "first come, first served"
            if policy.order == "first-come"
            else "SGLang sorts by prefixes or arrival, not by predicted length",
        ),
    )
    lacks = []
    if policy.order == "shortest":
        lacks.append("SGLang has no order by predicted length: sort before the server")
    if policy.name in ("refine", "peak", "conformal", "prediction"):
        lacks.append(
            "SGLang counts on one share of max_new_tokens for all requests; the policy foresees "
            "each"
        )
    return EngineAdvice("sglang", settings, tuple(lacks))


def _tensorrt_llm(
    policy: Policy,
    server: Server,
    settings: EngineSettings,
    step: int,
    seats: int,
    *,
    is_full: bool,
) -> EngineAdvice:
    own = _with_engine(server, "tensorrt-llm")
    share = _MORE_MEMORY if is_full else own.plan.share_on(own.gpu)
    own = _with_share(own, share)
    if not own.budget.fits:
        return EngineAdvice("tensorrt-llm", (), (_no_room(own),))
    never_evicts = policy.name in ("static", "maximum")
    mode = "GUARANTEED_NO_EVICT" if never_evicts else "MAX_UTILIZATION"
    kept = "its longest answer is kept free" if never_evicts else "pages come as tokens do"
    lacks = [f"scheduler_config.capacity_scheduler_policy: {mode}, in the file of --config: {kept}"]
    if policy.name not in ("static", "maximum", "dynamic"):
        lacks.append("TensorRT-LLM foresees no answers: jeton.planning.Admission before it does")
    if policy.order == "shortest":
        lacks.append("TensorRT-LLM has no order by predicted length: sort before the server")
    return EngineAdvice(
        "tensorrt-llm",
        (
            SettingAdvice("max_batch_size", str(seats), "as vLLM's max-num-seqs"),
            SettingAdvice("max_num_tokens", str(step), "as vLLM's max-num-batched-tokens"),
            SettingAdvice(
                "kv_cache_free_gpu_memory_fraction",
                f"{share:g}",
                "share of the memory that is free after loading, not of the GPU: "
                f"{capacity_tokens(own, settings):,} tokens fit",
            ),
        ),
        tuple(lacks),
    )


def _llama_cpp(
    policy: Policy,
    drawing: Trace,
    server: Server,
    settings: EngineSettings,
    step: int,
    seats: int,
) -> EngineAdvice:
    own = _with_engine(server, "llama.cpp")
    if not own.budget.fits:
        return EngineAdvice("llama.cpp", (), (_no_room(own),))
    lengths = drawing.prompt_tokens + drawing.output_tokens
    mean, longest = max(1, round(float(lengths.mean()))), int(lengths.max(initial=1))
    fit = capacity_tokens(own, settings)
    slots = max(1, min(seats, fit // mean))
    cells = min(fit, slots * longest)
    return EngineAdvice(
        "llama.cpp",
        (
            SettingAdvice(
                "parallel",
                str(slots),
                f"requests of the mean {mean:,} tokens that the cache holds, {seats:,} at most",
            ),
            SettingAdvice(
                "ctx-size",
                str(cells // _CELLS * _CELLS or cells),
                f"tokens of all slots together; {fit:,} fit, and {slots:,} of the longest "
                f"{longest:,} need {slots * longest:,}",
            ),
            SettingAdvice(
                "kv-unified", "", "slots share the cache, so that one may be longer than the mean"
            ),
            SettingAdvice("batch-size", str(step), "as vLLM's max-num-batched-tokens"),
        ),
        (
            "llama.cpp neither reserves nor preempts: a request that finds the cache full fails",
            *(("llama.cpp takes requests as they come",) if policy.order == "shortest" else ()),
        ),
    )


def _with_engine(server: Server, engine: str) -> Server:
    """The server under another engine, whose log and settings it has not."""
    plan = changed_plan(
        server.plan,
        engine=engine,
        engine_version="",
        gpu_memory_utilization=None,
        measured=None,
        page_tokens=None,
    )
    return replace(server, plan=plan)


def _no_room(server: Server) -> str:
    return refusal(server.model, server.gpu, server.plan)


def _with_share(server: Server, share: float) -> Server:
    """The server with another share of the GPU's memory."""
    return replace(server, plan=changed_plan(server.plan, gpu_memory_utilization=share))
