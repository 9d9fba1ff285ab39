"""Rules of an engine: groups that it takes or refuses, and how it divides a GPU's memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.layers import FullAttention, Mixture
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.memory import (
    kv_bytes_per_token,
    kv_copies,
    request_group_bytes,
    state_bytes,
)
from jeton.economics.serving.weights import WeightBytes

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

MIB = 1 << 20
GIB = 1 << 30

DRIVER_BYTES = 400 * MIB
"""Memory that CUDA keeps of what the driver reports, before any program begins. Measured as the
difference of nvidia-smi's total and what a program sees: 438 MiB on an H100 (81,559 MiB and 79.22
GiB, vllm-project/vllm#10511), 430 on an RTX 3090 (24,576 MiB and 23.58 GiB, #10517)."""

_MOST_GPUS = 1024


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """One GPU's memory, bytes.

    Attributes:
        usable: Bytes that the engine may take.
        weights: Weights, copies included.
        activations: Activations at the widest point of a step; 0 where they are outside of the
            share that the engine takes.
        engine: CUDA graphs, workspaces, and what talks to other GPUs.
    """

    usable: int
    weights: int
    activations: int
    engine: int

    @property
    def left(self) -> int:
        """Bytes left for requests; negative where the model does not fit."""
        return self.usable - self.weights - self.activations - self.engine


class EngineRules(ABC):
    """Rules of one engine: a file, and a line in `ENGINES`."""

    name: ClassVar[str]
    version: ClassVar[str]
    source: ClassVar[str]
    utilization: ClassVar[float]
    utilization_name: ClassVar[str]
    page_tokens: ClassVar[int]
    vendors: ClassVar[tuple[str, ...]] = ("NVIDIA", "AMD")
    splits_heads: ClassVar[bool] = True

    @abstractmethod
    def step_tokens(self, gpu: GpuFacts) -> int:
        """Return the tokens of a step at most, by default on a GPU."""

    @abstractmethod
    def requests(self, gpu: GpuFacts) -> int:
        """Return the requests side by side at most, by default on a GPU."""

    @abstractmethod
    def memory(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
    ) -> GpuMemory:
        """Return how one GPU's memory is divided in a group of ``tensor`` GPUs a stage."""

    def loaded_weights(
        self, model: ModelFacts, plan: MemoryPlan, weights: WeightBytes, tensor: int
    ) -> int:
        """Return the weights on each GPU, copies included, before the engine pads any."""
        return weights.on_each_of(
            tensor,
            kv_copies(model, tensor),
            stages=plan.pipeline_parallel,
            expert_gpus=tensor * plan.data_parallel if plan.expert_parallel else 0,
            with_drafts=plan.draft_tokens > 0,
        )

    def default_share(self, gpu: GpuFacts, plan: MemoryPlan, tensor: int) -> float:
        """Return the share of the memory that is taken where none is stated."""
        return self.utilization

    def share(self, gpu: GpuFacts, plan: MemoryPlan, tensor: int) -> float:
        """Return the share of the memory that the engine takes."""
        given = plan.gpu_memory_utilization
        return self.default_share(gpu, plan, tensor) if given is None else given

    def group_error(self, model: ModelFacts, plan: MemoryPlan, tensor: int) -> str:
        """Return why the engine refuses a group; empty: it takes it.

        Source: vLLM, ``ModelConfig.verify_with_parallel_config``; SGLang, ``ModelConfig``.
        """
        if plan.expert_parallel and model.experts is None:
            return f"{model.name} has no experts, and expert parallelism is asked for"
        drafts = any(part.role == "mtp" for part in model.extra_parts)
        if plan.draft_tokens and not drafts:
            return f"{model.name} has no layers that draft, and draft tokens are asked for"
        heads = [m.query_heads for one in model.layers for m in one.mixers if m.query_heads]
        for n in dict.fromkeys(heads):
            if n % tensor:
                return f"{n} attention heads are not divisible by tensor parallel size {tensor}"
        for one in model.layers:
            for mixer in one.mixers:
                if isinstance(mixer, FullAttention):
                    kv = mixer.n_kv_heads
                    if kv % tensor and tensor % kv:
                        return (
                            f"{kv} key-value heads and tensor parallel size {tensor}: neither "
                            "divides the other"
                        )
        if plan.pipeline_parallel > model.n_layers:
            return f"{model.n_layers} layers are fewer than {plan.pipeline_parallel} stages"
        return self._experts_error(model, plan, tensor)

    def start_error(
        self, model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, tensor: int, left: int
    ) -> str:
        """Return why the engine does not start on a group that it takes; empty: it starts.

        Args:
            model: The model.
            gpu: The GPU.
            plan: The engine's settings.
            tensor: GPUs of a stage.
            left: Bytes left for requests on each GPU.
        """
        if gpu.vendor not in self.vendors:
            return f"it does not run on {gpu.vendor}'s {gpu.name}"
        asked = plan.max_context_tokens
        if asked is not None and asked > model.context_tokens:
            return (
                f"max-model-len {asked:,} is beyond the model's context, {model.context_tokens:,}"
            )
        return ""

    def longest_tokens(
        self, model: ModelFacts, plan: MemoryPlan, gpu: GpuFacts, tensor: int, room: float
    ) -> int:
        """Return the tokens of the longest sequence that takes no more than the room in bytes.

        The room is that of all GPUs of a replica. No sequence is longer than the context.
        """
        # Windows and states make growth sub-linear, never negative: bisection is exact.
        low, high = 0, plan.context_tokens(model) + 1
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.sequence_bytes(model, middle, plan, gpu, tensor) <= room
            low, high = (middle, high) if fits else (low, middle)
        return low

    def _experts_error(self, model: ModelFacts, plan: MemoryPlan, tensor: int) -> str:
        experts = model.experts
        if experts is None:
            return ""
        ranks = tensor * plan.data_parallel
        if plan.expert_parallel and experts.n_routed % ranks and ranks > experts.n_routed:
            return f"{experts.n_routed} experts are fewer than {ranks} GPUs"
        if not plan.expert_parallel and self._has_blocks(model, plan, experts):
            part = experts.width // tensor
            if experts.width % tensor or part % 128:
                return (
                    f"an expert's width of {experts.width:,} over tensor parallel size {tensor} is "
                    "no multiple of the 128 x 128 blocks of its fp8 weights; "
                    "with --expert-parallel experts stay whole"
                )
        return ""

    def _has_blocks(self, model: ModelFacts, plan: MemoryPlan, experts: Mixture) -> bool:
        if plan.weights != "published":
            return plan.weights == "fp8-block"
        rules = model.quantization
        if rules is None:
            return model.weights == "fp8-block"
        return any(one.written and one.written.name == "fp8-block" for one in rules.rules)

    def group_sizes(self, model: ModelFacts, plan: MemoryPlan) -> list[int]:
        """Return the numbers of GPUs that the engine takes for a stage."""
        most = min(model.n_heads, _MOST_GPUS)
        if not model.n_attention_layers:
            return [1 << power for power in range(11)]
        return [n for n in range(1, most + 1) if not self.group_error(model, plan, n)]

    def cache_tokens(
        self, model: ModelFacts, left: int, plan: MemoryPlan, gpu: GpuFacts, tensor: int
    ) -> int:
        """Return the tokens that the cache holds, as the engine prints them, for one replica.

        Formula: pages of what is left, over what a token takes on one GPU.
        """
        per_token = Fraction(
            kv_bytes_per_token(model, dtype_bytes=plan.element(model), n_gpus=tensor),
            tensor * plan.pipeline_parallel,
        )
        if per_token <= 0 or left <= 0:
            return 0
        page = max(plan.page, 1)
        return int(left // (per_token * page)) * page

    def sequence_bytes(
        self, model: ModelFacts, n_tokens: int, plan: MemoryPlan, gpu: GpuFacts, tensor: int
    ) -> float:
        """Return what a sequence takes on all GPUs of a replica, in whole pages."""
        page = max(plan.page, 1)
        return request_group_bytes(model, -(-n_tokens // page) * page, plan=plan, n_gpus=tensor)

    def state_of(self, model: ModelFacts, plan: MemoryPlan) -> int:
        """Return the bytes of a sequence's states."""
        given = plan.state_bytes_per_request
        return state_bytes(model) if given is None else given
