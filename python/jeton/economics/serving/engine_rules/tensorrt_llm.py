"""TensorRT-LLM: the cache takes a share of the memory that is free once the engine has run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.activations import prefill_activation_bytes
from jeton.economics.serving.engine_rules.base import DRIVER_BYTES, MIB, EngineRules, GpuMemory
from jeton.economics.serving.weights import WeightBytes

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

_ENGINE_BYTES = 1024 * MIB
"""Memory that the runtime, its workspaces and buffers for decoding take; a judgement."""


class TensorrtLlm(EngineRules):
    """Rules of TensorRT-LLM's PyTorch backend."""

    name: ClassVar[str] = "tensorrt-llm"
    version: ClassVar[str] = "1.0 to 1.2"
    source: ClassVar[str] = (
        "KvCacheConfig.free_gpu_memory_fraction (NVIDIA's memory documentation) and "
        "tensorrt_llm/_torch/pyexecutor/_util.py, read 2026-11-29"
    )
    utilization: ClassVar[float] = 0.9
    utilization_name: ClassVar[str] = "free_gpu_memory_fraction"
    page_tokens: ClassVar[int] = 32
    vendors: ClassVar[tuple[str, ...]] = ("NVIDIA",)

    def step_tokens(self, gpu: GpuFacts) -> int:
        """``max_num_tokens``."""
        return 8192

    def requests(self, gpu: GpuFacts) -> int:
        """``max_batch_size``."""
        return 2048

    def memory(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
    ) -> GpuMemory:
        """``f (M - driver - weights - activations - runtime)``: the share is of the free memory."""
        held = self.loaded_weights(model, plan, weights, tensor)
        share = self.share(gpu, plan, tensor)
        activations = engine = 0
        if plan.engine_share:
            activations = prefill_activation_bytes(
                model, plan.batched_tokens(gpu), n_scored_tokens=256, n_gpus=tensor
            )
            engine = _ENGINE_BYTES
        seen = gpu.memory_bytes - (DRIVER_BYTES if plan.engine_share else 0)
        free = seen - held - activations - engine
        usable = seen - int(max(free, 0) * (1 - share))
        return GpuMemory(usable, held, activations, engine)
