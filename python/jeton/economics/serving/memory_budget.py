"""Memory of a group of GPUs, as weights, activations and the engine leave it for requests.

Every function that says what fits asks here. A group of GPUs splits weights and heads (tensor
parallelism); what cannot be split is held as a copy by each: norms, routers, latents, and a
key-value head where there are more GPUs than heads.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import AttentionKind, ModelFacts
from jeton.economics.serving.activations import prefill_activation_bytes
from jeton.economics.serving.memory import WeightBytes, full_page_bytes, kv_bytes, state_bytes
from jeton.economics.serving.memory_plan import MemoryPlan

__all__ = [
    "DRIVER_BYTES",
    "ENGINE_BYTES",
    "GRAPH_BYTES",
    "GROUP_BYTES",
    "MemoryBudget",
    "kv_copies",
    "memory_budget",
    "request_group_bytes",
]

_MIB = 1 << 20

DRIVER_BYTES = 400 * _MIB
"""Memory that CUDA keeps of what the driver reports, before any program begins. Measured as the
difference of nvidia-smi's total and what a program sees: 438 MiB on an H100 (81,559 MiB and 79.22
GiB, vllm-project/vllm#10511), 430 on an RTX 3090 (24,576 MiB and 23.58 GiB, #10517)."""

ENGINE_BYTES = 200 * _MIB
"""Memory that the engine takes outside of its tensors: libraries' workspaces, the context.
Measured: 0.16 GiB (H100, #12126), 0.20 and 0.35 GiB (RTX 3090, #14447 and #10517)."""

GROUP_BYTES = 100 * _MIB
"""Memory that each GPU of a group takes besides, to talk to the others: with the engine's 0.25 GiB
on two RTX 4090 (vllm-project/vllm#13061)."""

GRAPH_BYTES = 200 * _MIB
"""CUDA graphs of decoding: 0.1 GiB and 0.11 GiB measured, 0.14 to 0.58 estimated by vLLM 0.21 and
later, which take them off (wtdcode/vllm-backport#34, aivrar/vllm-windows-build#4)."""

_MOST_GPUS = 1024


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Memory of each GPU of a group, in bytes of one GPU unless said otherwise.

    Attributes:
        n_gpus: GPUs of the group.
        memory_bytes: Memory as the driver reports it.
        usable_bytes: Bytes that the engine may take: the share that it was given.
        weight_bytes: Weights, copies included.
        activation_bytes: Activations at the widest point of a step.
        engine_bytes: CUDA graphs and what the engine takes outside of its tensors.
        kv_bytes: Bytes left for requests; negative where the model does not fit.
        group_kv_bytes: Bytes of all GPUs together; 0 where the model does not fit.
        group_weight_bytes: The model's weights, without copies.
        kv_copies: How often the group holds each key-value head.
        needed_gpus: The fewest GPUs that hold the model under the same plan; None: no number of
            them does.
    """

    n_gpus: int
    memory_bytes: int
    usable_bytes: int
    weight_bytes: int
    activation_bytes: int
    engine_bytes: int
    kv_bytes: int
    group_kv_bytes: int
    group_weight_bytes: int
    kv_copies: Fraction
    needed_gpus: int | None

    @property
    def fits(self) -> bool:
        """True where the model leaves room for requests."""
        return self.kv_bytes > 0

    @property
    def in_words(self) -> str:
        """The subtraction for one GPU, with its numbers."""
        copies = "" if self.n_gpus == 1 else f", {self.n_gpus} GPUs"
        return (
            f"{self.usable_bytes / 1e9:,.2f} GB usable - {self.weight_bytes / 1e9:,.2f} weights - "
            f"{self.activation_bytes / 1e9:,.2f} activations - {self.engine_bytes / 1e9:,.2f} "
            f"engine on each{copies}"
        )


def memory_budget(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan | None = None) -> MemoryBudget:
    """Return what a group of GPUs has left for requests.

    Formula, for each of N GPUs: ``u (M - driver) - W/N - copies - activations - graphs - engine``,
    with M as the driver reports it and the share u. Without a number of GPUs: the fewest that
    leave room, among the divisors of the query heads, which tensor parallelism needs.

    Source: vLLM's start-up (``vllm/v1/worker/gpu_worker.py``, ``determine_available_memory``);
    compared with published logs in ``docs/guides/serving-memory.md``.
    """
    return _budget(model, gpu, plan or MemoryPlan())


@lru_cache(maxsize=256)
def _budget(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan) -> MemoryBudget:
    weights = plan.weight_bytes(model)
    needed = next(
        (n for n in _group_sizes(model) if _left(model, gpu, plan, weights, n)[-1] > 0), None
    )
    group = plan.n_gpus or needed or 1
    usable, held, activations, engine, left = _left(model, gpu, plan, weights, group)
    return MemoryBudget(
        n_gpus=group,
        memory_bytes=gpu.memory_bytes,
        usable_bytes=usable,
        weight_bytes=held,
        activation_bytes=activations,
        engine_bytes=engine,
        kv_bytes=left,
        group_kv_bytes=max(0, group * left),
        group_weight_bytes=weights.total,
        kv_copies=kv_copies(model, group),
        needed_gpus=needed,
    )


def _group_sizes(model: ModelFacts) -> list[int]:
    """Numbers of GPUs that a group may have."""
    if model.n_attention_layers == 0:
        return [1 << power for power in range(11)]
    return [n for n in range(1, min(model.n_heads, _MOST_GPUS) + 1) if model.n_heads % n == 0]


def _left(
    model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, weights: WeightBytes, n_gpus: int
) -> tuple[int, int, int, int, int]:
    memory = gpu.memory_bytes - (DRIVER_BYTES if plan.engine_share else 0)
    usable = int(memory * plan.gpu_memory_utilization)
    held = weights.total
    if n_gpus > 1:
        split = weights.total - weights.replicated - weights.key_values
        heads = weights.key_values * kv_copies(model, n_gpus)
        held = -(-split // n_gpus) + weights.replicated + int(heads / n_gpus)
    activations = engine = 0
    if plan.engine_share:
        activations = prefill_activation_bytes(
            model,
            plan.batched_tokens(gpu),
            n_scored_tokens=plan.requests(gpu),
            n_gpus=n_gpus,
            vocab_size=plan.vocab_size,
        )
        engine = ENGINE_BYTES + GRAPH_BYTES + (GROUP_BYTES if n_gpus > 1 else 0)
    return usable, held, activations, engine, usable - held - activations - engine


def kv_copies(model: ModelFacts, n_gpus: int) -> Fraction:
    """Return how often a group of GPUs holds each key-value head.

    Formula: ``N ceil(g / N) / g``: heads are not split, so with fewer heads than GPUs each is held
    ``N / g`` times. A latent belongs to all heads at once: every GPU holds it.

    Source: vLLM, ``ModelConfig.get_num_kv_heads``; latents: tenstorrent/tt-xla#5861.
    """
    if model.attention is AttentionKind.LATENT:
        return Fraction(n_gpus)
    heads = max(model.n_kv_heads, 1)
    return Fraction(n_gpus * -(-heads // n_gpus), heads)


def request_group_bytes(
    model: ModelFacts, n_tokens: float, *, plan: MemoryPlan, n_gpus: int
) -> float:
    """Return what a sequence takes on all GPUs of a group together, copies included.

    Formula: the KV cache `kv_copies` times, windows kept full where the plan says so, and the
    recurrent state once; 0 without tokens.

    Source: `jeton.economics.serving.memory`.

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    bytes_of = full_page_bytes if plan.full_pages else kv_bytes
    cache = bytes_of(model, n_tokens, dtype_bytes=plan.kv_element)
    copies = kv_copies(model, n_gpus)
    if copies != 1:
        exact = cache * copies if isinstance(cache, int) else cache * float(copies)
        cache = int(exact) if isinstance(exact, Fraction) else exact
    return cache + (state_bytes(model) if n_tokens else 0)
