"""llama.cpp: GPUs share the layers, and the cache is as long as it is asked to be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.engine_rules.base import DRIVER_BYTES, MIB, EngineRules, GpuMemory
from jeton.economics.serving.weights import WeightBytes

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

_CONTEXT_BYTES = 250 * MIB
"""The CUDA context and cuBLAS's workspace."""

_BATCH_TOKENS = 512

_NO_GGUF = ("fp8", "fp8-block", "nvfp4", "int4", "int8", "nf4", "nf4-dq")
"""Formats of weights that no GGUF file has."""


class LlamaCpp(EngineRules):
    """Rules of llama.cpp's server, with all layers on GPUs."""

    name: ClassVar[str] = "llama.cpp"
    version: ClassVar[str] = "b5000 to b9500"
    source: ClassVar[str] = "src/llama-kv-cache.cpp and src/llama-context.cpp, read 2026-11-29"
    utilization: ClassVar[float] = 1.0
    utilization_name: ClassVar[str] = "fit-target"
    page_tokens: ClassVar[int] = 256
    splits_heads: ClassVar[bool] = False

    def step_tokens(self, gpu: GpuFacts) -> int:
        """``--ubatch-size``."""
        return _BATCH_TOKENS

    def requests(self, gpu: GpuFacts) -> int:
        """``--parallel``."""
        return 4

    def group_error(self, model: ModelFacts, plan: MemoryPlan, tensor: int) -> str:
        """Layers are shared, not heads: any number of GPUs up to the layers' is taken."""
        if tensor > model.n_layers:
            return f"{model.n_layers} layers are fewer than {tensor} GPUs"
        return ""

    def start_error(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, tensor: int, left: int
    ) -> str:
        """Weights in a format of GGUF are needed; a longer context than the model's is taken."""
        words = super().start_error(
            model, gpu, replace(plan, max_context_tokens=None), tensor, left
        )
        if words:
            return words
        for part in plan.weight_bytes(model).parts:
            if part.written in _NO_GGUF:
                return f"no GGUF file has {part.written}; --weights q8_0 or q4_k_m would do"
        return ""

    def group_sizes(self, model: ModelFacts, plan: MemoryPlan) -> list[int]:
        """Every number of GPUs up to the layers'."""
        return list(range(1, min(model.n_layers, 64) + 1))

    def memory(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
    ) -> GpuMemory:
        """``M - driver - weights / N - compute buffer - context``.

        The compute buffer holds the scores of a batch over the vocabulary in fp32, and its widest
        layer. The input table stays in the host's memory, where it is no head.
        """
        rows = plan.vocab_size or model.vocab_size
        n = min(plan.batched_tokens(gpu), _BATCH_TOKENS)
        table = 0 if weights.tied else weights.input_embedding
        share = self.share(gpu, plan, tensor)
        seen = gpu.memory_bytes - (DRIVER_BYTES if plan.engine_share else 0)
        activations = engine = 0
        if plan.engine_share:
            activations = n * 4 * (rows + 2 * model.hidden_size)
            engine = _CONTEXT_BYTES
        return GpuMemory(
            int(seen * share), -(-(weights.total - table) // tensor), activations, engine
        )
