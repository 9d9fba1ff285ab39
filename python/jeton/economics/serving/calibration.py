"""A plan that an engine's own log has corrected, and where log and formula differ."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.capacity import cached_tokens
from jeton.economics.serving.engine_log import EngineLog
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_plan import MeasuredMemory, MemoryPlan
from jeton.errors import UsageError

__all__ = ["LogDifference", "calibrated_plan", "log_differences"]

_FAR = 0.4
"""Weights that differ by more are another model's."""


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
        UsageError: The log contradicts the plan or the model.
    """
    if plan.engine != log.engine:
        if plan.engine != MemoryPlan().engine:
            raise UsageError(
                f"{log.source} is a log of {log.engine}, and the plan is for {plan.engine}\n"
                f"hint: --engine {log.engine}"
            )
        plan = replace(plan, engine=log.engine)
    tensor = log.tensor_parallel or plan.n_gpus or 1
    if plan.n_gpus is not None and plan.n_gpus != tensor:
        raise UsageError(
            f"{log.source} is of {tensor} GPUs, and --tensor-parallel is {plan.n_gpus}\n"
            "hint: leave it out, or give a log of that group"
        )
    cache = log.kv_dtype if plan.kv_dtype == "auto" else plan.kv_dtype
    settings = replace(
        plan,
        n_gpus=tensor,
        engine_version=plan.engine_version or log.version,
        kv_dtype=cache,
        gpu_memory_utilization=plan.gpu_memory_utilization or log.gpu_memory_utilization,
        max_batched_tokens=plan.max_batched_tokens or log.max_batched_tokens,
        max_requests=plan.max_requests or log.max_requests,
        max_context_tokens=plan.max_context_tokens or log.max_context_tokens,
    )
    as_logged = replace(
        settings,
        kv_dtype=log.kv_dtype,
        gpu_memory_utilization=log.gpu_memory_utilization or settings.gpu_memory_utilization,
    )
    formula = memory_budget(model, gpu, as_logged)
    held = log.weight_bytes
    if held is not None and abs(formula.weight_bytes / max(held, 1) - 1) > _FAR:
        raise UsageError(
            f"{log.source}: {held / 2**30:,.2f} GiB of weights on each GPU, and {model.name} has "
            f"{formula.weight_bytes / 2**30:,.2f}: the log is of another model or quantization"
            + (f" ({log.model})" if log.model else "")
            + "\nhint: give the model that the log is of"
        )
    outside = None if log.total_bytes is None else max(0, gpu.memory_bytes - log.total_bytes)
    if outside is not None and outside > gpu.memory_bytes // 2:
        raise UsageError(
            f"{log.source}: a GPU of {(log.total_bytes or 0) / 2**30:,.2f} GiB, and {gpu.name} has "
            f"{gpu.memory_bytes / 2**30:,.2f}: the log is of another GPU\n"
            "hint: give the GPU that the log is of"
        )
    usable = log.usable_bytes or formula.usable_bytes
    if log.total_bytes is not None and log.usable_bytes is None:
        usable = int(log.total_bytes * plan.rules.share(gpu, as_logged, tensor))
    beside = None
    if log.kv_bytes is not None:
        beside = usable - log.kv_bytes - (formula.weight_bytes if held is None else held)
    return replace(
        settings,
        measured=MeasuredMemory(
            name=log.source,
            engine=log.engine,
            model=log.model,
            tensor_parallel=tensor,
            weight_bytes=held,
            beside_bytes=beside,
            outside_bytes=outside,
            token_bytes=log.token_bytes,
            kv_dtype=log.kv_dtype,
        ),
    )


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
        found.append(LogDifference("cache", "bytes", log.kv_bytes, budget.kv_bytes))
    if log.kv_tokens is not None:
        tokens = cached_tokens(model, gpu, budget, own)
        found.append(LogDifference("cached tokens", "tokens", log.kv_tokens, tokens))
    return tuple(found)
