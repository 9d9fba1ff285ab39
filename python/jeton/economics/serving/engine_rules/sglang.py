"""SGLang: activations and CUDA graphs lie outside of the share that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.engine_rules.base import DRIVER_BYTES, GIB, MIB, EngineRules, GpuMemory
from jeton.economics.serving.weights import WeightBytes

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

_CONTEXT_BYTES = 700 * MIB
"""Memory that is gone before weights are loaded, for the CUDA context."""

_GROUP_BYTES = 1300 * MIB
"""As much more in a group, for NCCL and the buffers of custom all-reduce: 2.27 GiB in all of an
H100 (vllm-project/vllm#21348)."""


class Sglang(EngineRules):
    """Rules of SGLang's runtime."""

    name: ClassVar[str] = "sglang"
    version: ClassVar[str] = "0.4.8 to 0.5"
    source: ClassVar[str] = (
        "python/sglang/srt/server_args.py (_handle_gpu_memory_settings) and "
        "model_runner.profile_max_num_token, read 2026-11-29"
    )
    utilization: ClassVar[float] = 0.88
    utilization_name: ClassVar[str] = "mem-fraction-static"
    page_tokens: ClassVar[int] = 1
    vendors: ClassVar[tuple[str, ...]] = ("NVIDIA", "AMD", "Google")

    def step_tokens(self, gpu: GpuFacts) -> int:
        """``chunked-prefill-size`` by the GPU's memory."""
        gib = gpu.memory_bytes / GIB
        return 2048 if gib < 35 else 4096 if gib < 60 else 8192 if gib < 160 else 16_384

    def requests(self, gpu: GpuFacts) -> int:
        """``max-running-requests``: SGLang derives it from the cache, 4,096 at most."""
        return 4096

    def default_share(self, gpu: GpuFacts, plan: MemoryPlan, tensor: int) -> float:
        """``(M - reserved) / M``: 512 MiB, 1.5 a token of a step, 2 a captured request, groups.

        On GPUs above 60 GiB at least 10 GiB are reserved.
        """
        mib = gpu.memory_bytes / MIB
        reserved = 512 + 1.5 * max(plan.batched_tokens(gpu), 2048) + 2 * _captured(mib, tensor)
        reserved += tensor * plan.pipeline_parallel / 8 * 1024
        if mib > 60 * 1024:
            reserved = max(reserved, 10 * 1024)
        return max(0.01, round((mib - reserved) / mib, 3))

    def memory(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
    ) -> GpuMemory:
        """``f (M - driver - context) - weights``."""
        held = self.loaded_weights(model, plan, weights, tensor)
        share = self.share(gpu, plan, tensor)
        gone = DRIVER_BYTES + _CONTEXT_BYTES + (_GROUP_BYTES if tensor > 1 else 0)
        seen = gpu.memory_bytes - (gone if plan.engine_share else 0)
        return GpuMemory(int(seen * share), held, 0, 0)


def _captured(mib: float, tensor: int) -> int:
    """Return the requests of the largest captured graph (``cuda-graph-max-bs``)."""
    few = tensor < 4
    if mib < 20 * 1024:
        return 8
    if mib < 35 * 1024:
        return 24 if few else 80
    if mib < 60 * 1024:
        return 32 if few else 160
    return 256 if few and mib < 160 * 1024 else 512
