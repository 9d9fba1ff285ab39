"""A plan that an engine's own log has corrected, and where log and formula differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.model_list import listed_model
from jeton.economics.serving.capacity import cached_tokens
from jeton.economics.serving.engine_log import EngineLog
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_plan import MeasuredMemory, MemoryPlan
from jeton.errors import UsageError

_FAR = 0.4
"""Weights that differ by more are another model's."""
_SEEN = (0.95, 0.8)
"""Share of the driver's memory that a program sees at least; of SGLang's, which prints free memory,
less."""
_ROUNDING_BYTES = 40 << 20
"""Logs print hundredths of a GiB; a sum of four is off by no more."""
_PROBE_BYTES = 1 << 44
"""Bytes that tokens are counted in, to find what one takes."""


@dataclass(frozen=True, slots=True)
class LogDifference:
    """One figure of a log beside the formula's.

    Attributes:
        name: The figure.
        unit: ``bytes`` or ``tokens``.
        logged: As the engine printed it.
        formula: As it is worked out.
    """

    name: str
    unit: str
    logged: float
    formula: float

    @property
    def off_share(self) -> float:
        """Formula over log, less one."""
        return self.formula / self.logged - 1 if self.logged else 0.0


def calibrated_plan(
    log: EngineLog, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan
) -> MemoryPlan:
    """Return the plan with the log's settings where none are given, and its memory.

    Raises:
        UsageError: The log contradicts the plan, the model or the GPU.
    """
    if plan.engine != log.engine:
        if plan.engine != MemoryPlan().engine:
            raise UsageError(
                f"{log.source} is a log of {log.engine}, and the plan is for {plan.engine}\n"
                f"hint: --engine {log.engine}"
            )
        plan = replace(plan, engine=log.engine)
    tensor = log.tensor_parallel or plan.n_gpus or 1
    _check_settings(log, plan, tensor)
    _check_model(log, model)
    cache = log.kv_dtype if plan.kv_dtype == "auto" else plan.kv_dtype
    share = log.gpu_memory_utilization
    if share is None and log.usable_bytes and log.total_bytes:
        share = min(1.0, log.usable_bytes / log.total_bytes)
    settings = replace(
        plan,
        n_gpus=tensor,
        engine_version=plan.engine_version or log.version,
        kv_dtype=cache,
        gpu_memory_utilization=plan.gpu_memory_utilization or share,
        max_batched_tokens=plan.max_batched_tokens or log.max_batched_tokens,
        max_requests=plan.max_requests or log.max_requests,
        max_context_tokens=plan.max_context_tokens or log.max_context_tokens,
    )
    as_logged = replace(
        settings,
        kv_dtype=log.kv_dtype,
        gpu_memory_utilization=share or settings.gpu_memory_utilization,
    )
    formula = memory_budget(model, gpu, as_logged)
    _check_weights(log, model, formula.weight_bytes)
    _check_gpu(log, gpu)
    known = MeasuredMemory(
        name=log.source,
        engine=log.engine,
        tensor_parallel=tensor,
        weight_bytes=log.weight_bytes,
        outside_bytes=None if log.total_bytes is None else gpu.memory_bytes - log.total_bytes,
        n_starts=log.n_starts,
    )
    kv_bytes, cache_scale = _cache(log, model, gpu, as_logged, tensor)
    if kv_bytes is not None:
        held = formula.weight_bytes if log.weight_bytes is None else log.weight_bytes
        if not plan.rules.splits_heads:
            # The cache is as long as it was asked to be, and the rest is free.
            other = log.activation_bytes or formula.activation_bytes
            taken = held + other + formula.engine_bytes + kv_bytes
            known = replace(known, outside_bytes=max(0, gpu.memory_bytes - taken))
        usable = memory_budget(model, gpu, replace(as_logged, measured=known)).usable_bytes
        beside = usable - kv_bytes - held
        most = usable if plan.rules.name == "vllm" else gpu.memory_bytes
        if kv_bytes + held > most + _ROUNDING_BYTES:
            raise UsageError(
                f"{log.source}: {kv_bytes / 2**30:,.2f} GiB of cache and {held / 2**30:,.2f} of "
                f"weights are more than the {most / 2**30:,.2f} that {log.engine} takes of one "
                f"{gpu.name}: the log is of another GPU, model or share\n"
                "hint: give the GPU and the model of the log, or --gpu-memory-utilization"
            )
        known = replace(
            known,
            beside_bytes=beside,
            activation_bytes=min(log.activation_bytes or 0, max(0, beside)),
            cache_scale=cache_scale,
        )
    return replace(settings, measured=known)


def _check_settings(log: EngineLog, plan: MemoryPlan, tensor: int) -> None:
    if plan.n_gpus is not None and plan.n_gpus != tensor:
        raise UsageError(
            f"{log.source} is of {tensor} GPUs, and --tensor-parallel is {plan.n_gpus}\n"
            "hint: leave it out, or give a log of that group"
        )
    asked, logged = plan.max_context_tokens, log.max_context_tokens
    if asked is not None and logged is not None and asked != logged:
        raise UsageError(
            f"{log.source} is of max-model-len {logged:,}, and --max-model-len is {asked:,}\n"
            "hint: leave it out, or give a log of a server with it"
        )


def _check_model(log: EngineLog, model: ModelFacts) -> None:
    """Compare shapes where the catalog knows the log's model; fine-tunes share their base's."""
    name = log.model.rstrip("/").rsplit("/", 1)[-1]
    other = listed_model(name) if name else None
    if other is None:
        return
    theirs, ours = (
        (one.hidden_size, one.n_layers, one.n_heads, one.vocab_size) for one in (other, model)
    )
    if theirs != ours:
        raise UsageError(
            f"{log.source} is a log of {log.model}, and the model is {model.name}\n"
            "hint: give the model that the log is of"
        )


def _check_weights(log: EngineLog, model: ModelFacts, formula: int) -> None:
    held = log.weight_bytes
    if held is not None and abs(formula / max(held, 1) - 1) > _FAR:
        raise UsageError(
            f"{log.source}: {held / 2**30:,.2f} GiB of weights on each GPU, and {model.name} has "
            f"{formula / 2**30:,.2f}: the log is of another model or quantization"
            + (f" ({log.model})" if log.model else "")
            + "\nhint: give the model that the log is of"
        )


def _check_gpu(log: EngineLog, gpu: GpuFacts) -> None:
    """A program sees all but 2% of the driver's figure; SGLang prints what was free."""
    if log.total_bytes is None:
        return
    least = _SEEN[log.engine == "sglang"] * gpu.memory_bytes
    if not least <= log.total_bytes <= 1.005 * gpu.memory_bytes:
        raise UsageError(
            f"{log.source}: a GPU of {log.total_bytes / 2**30:,.2f} GiB, and {gpu.name} has "
            f"{gpu.memory_bytes / 2**30:,.2f}: the log is of another GPU\n"
            "hint: give the GPU that the log is of"
        )


def _cache(
    log: EngineLog, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, tensor: int
) -> tuple[int | None, Fraction]:
    """Return the bytes of the log's cache, and its tokens over the formula's in them."""
    kv_bytes, tokens = log.kv_bytes, log.kv_tokens

    def formula(size: int) -> int:
        return plan.rules.cache_tokens(model, size, plan, gpu, tensor)

    if not tokens or (kv_bytes is not None and kv_bytes <= 0):
        return kv_bytes, Fraction(1)
    if kv_bytes is None:
        most = formula(_PROBE_BYTES)
        if not most:
            return None, Fraction(1)
        kv_bytes = -(-tokens * _PROBE_BYTES // most)
    ours = formula(kv_bytes)
    return kv_bytes, Fraction(tokens, ours) if ours else Fraction(1)


def log_differences(
    log: EngineLog, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan
) -> tuple[LogDifference, ...]:
    """Return the log's figures beside the formula's, under the log's own settings."""
    measured = calibrated_plan(log, model, gpu, plan)
    own = replace(measured, measured=None, kv_dtype=log.kv_dtype)
    budget = memory_budget(model, gpu, own)
    found = []
    if log.weight_bytes is not None:
        found.append(
            LogDifference("weights", "bytes", log.weight_bytes, float(budget.weight_bytes))
        )
    if log.activation_bytes is not None:
        found.append(
            LogDifference("activations", "bytes", log.activation_bytes, budget.activation_bytes)
        )
    if log.kv_bytes is not None:
        cache = float(budget.kv_bytes)
        if not own.rules.splits_heads:
            context, tensor = own.context_tokens(model), budget.tensor_parallel
            cache = own.rules.sequence_bytes(model, context, own, gpu, tensor)
        found.append(LogDifference("cache", "bytes", log.kv_bytes, cache))
    if log.kv_tokens is not None:
        tokens = cached_tokens(model, gpu, budget, own)
        found.append(LogDifference("cached tokens", "tokens", log.kv_tokens, tokens))
    return tuple(found)
