"""How long prefill and decoding take on a GPU, and how many requests fit beside the weights.

A roofline: time is the larger of arithmetic over its rate and bytes over bandwidth, each at a
share of the datasheet that real serving reaches. The shares are assumptions (below), so times are
estimates unless a measured share is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.compute import decode_flops_per_token, prefill_flops
from jeton.economics.serving.memory import read_group_bytes
from jeton.economics.serving.memory_budget import MemoryBudget, memory_budget
from jeton.economics.serving.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.errors import UsageError

BATCHED_PROMPT_TOKENS = 8_192
"""Tokens of prompts that an engine reads together at full load: vLLM's default for servers on large
GPUs (`max_num_batched_tokens`, 0.11)."""

PREFILL_FLOPS_SHARE = 0.5
"""Share of the dense 16-bit rate that prefill reaches. Between the 38-43% that training Llama 3
reached on H100s (arXiv:2407.21783 table 4) and the 76% of large-batch prefill on TPU v4
(arXiv:2211.05102). Assumed, not measured here."""

DECODE_BANDWIDTH_SHARE = 0.6
"""Share of the memory bandwidth that decoding reaches. Databricks reported 55 to 60% for
Llama-2-70B in batches of one on A100s and H100s ("LLM Inference Performance Engineering: Best
Practices", 2023-10-12). Assumed, not measured here."""


@dataclass(frozen=True, slots=True)
class GpuFit:
    """Fit of a model on a number of GPUs.

    Attributes:
        n_gpus: GPUs taken as one group: 1, or the fewest that hold the model.
        n_requests: Requests that fit beside the model on the group.
        budget: The memory of each GPU, part by part.
        kv_bytes_per_request: Bytes of one request on the whole group, copies included.
    """

    n_gpus: int
    n_requests: int
    budget: MemoryBudget
    kv_bytes_per_request: float

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights, without copies."""
        return self.budget.group_weight_bytes

    @property
    def needs_more_gpus(self) -> bool:
        """True if one GPU does not hold the model."""
        return self.budget.needed_gpus != 1


def fit_requests(
    model: ModelFacts,
    gpu: GpuFacts,
    *,
    kv_bytes_per_request: float,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> GpuFit:
    """Return how many requests fit beside the model, on the fewest GPUs that hold it.

    Formula: ``floor(left / (k c))`` with what the group has left (`memory_budget`), k bytes of KV
    cache per request and c copies of each key-value head (`kv_copies`).

    Source: arXiv:2309.06180 (paged KV cache: memory is handed out as used, so the mean of a
    distribution of lengths is what counts).

    Args:
        model: The model.
        gpu: The GPU.
        kv_bytes_per_request: Bytes of one request's cache, without copies.
        plan: How the model is held; None: as published, on the engine's defaults.
        changes: Fields of the plan that are different.

    Raises:
        UsageError: If ``kv_bytes_per_request`` is not above 0, or the plan is out of range.
    """
    if kv_bytes_per_request <= 0:
        raise UsageError(
            f"a request has {kv_bytes_per_request} bytes of KV cache; expected a number above 0"
        )
    budget = memory_budget(model, gpu, changed_plan(plan, **changes))
    size = kv_bytes_per_request
    if budget.kv_copies != 1:
        size *= float(budget.kv_copies)
    return GpuFit(
        n_gpus=budget.n_gpus,
        n_requests=int(budget.group_kv_bytes // size),
        budget=budget,
        kv_bytes_per_request=size,
    )


def read_weight_bytes(
    model: ModelFacts,
    n_tokens: float,
    *,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> float:
    """Return the weight bytes that one step over ``n_tokens`` tokens reads from memory.

    Formula: everything but the input table (of which only rows are read); of the routed experts
    the share ``1 - (1 - k/E)^n`` that n tokens choose, if each chooses k of E evenly.

    Source: arXiv:2211.05102 (weights are read once a step); the expert share is the expectation
    under even routing, which is an assumption.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    weights = changed_plan(plan, **changes).weight_bytes(model)
    idle = 0.0
    if model.experts is not None:
        idle_share = (1 - model.experts.n_active / model.experts.n_routed) ** n_tokens
        idle = weights.experts * idle_share
    # Tied or not, the head is read as one table.
    return weights.rest - idle + (weights.output_head or weights.input_embedding)


def prefill_seconds(
    model: ModelFacts,
    gpu: GpuFacts,
    n_tokens: int,
    *,
    batch_tokens: int = 0,
    flops_share: float = PREFILL_FLOPS_SHARE,
    bandwidth_share: float = DECODE_BANDWIDTH_SHARE,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> float:
    """Return the seconds of reading one prompt, alone on the plan's GPUs (one if it has none).

    Formula: ``max(F / (N P u), W / (N B s))`` with F FLOPs, P FLOP/s, W weight bytes read, B bytes
    per second, u and s the shares reached. Rate and memory scale with N; communication is left
    out, so more than one GPU gives a lower bound. Read in batches of T tokens, the prompt takes its
    share ``min(1, n / T)`` of W.

    Source: roofline model, doi:10.1145/1498765.1498785; shares: the constants above; batching:
    arXiv:2308.16369.

    Raises:
        UsageError: If a share is outside (0, 1] or ``n_gpus`` is below 1.
    """
    plan = changed_plan(plan, **changes)
    together = max(n_tokens, batch_tokens)
    share = n_tokens / together if together else 0.0
    flops = prefill_flops(model, n_tokens, vocab_size=plan.vocab_size).total
    weights = read_weight_bytes(model, together, plan=plan)
    return roofline_seconds(gpu, plan, weights * share, flops, flops_share, bandwidth_share)


def decode_seconds(
    model: ModelFacts,
    gpu: GpuFacts,
    *,
    context_tokens: int,
    n_requests: int = 1,
    flops_share: float = PREFILL_FLOPS_SHARE,
    bandwidth_share: float = DECODE_BANDWIDTH_SHARE,
    plan: MemoryPlan | None = None,
    **changes: Unpack[PlanChanges],
) -> float:
    """Return the seconds of one decoding step, which gives each of ``n_requests`` one token.

    Formula: ``max((W + R K) / (N B s), R F / (N P u))`` with R requests, K bytes of KV cache each
    (copies included) and F FLOPs per token; the rest as `prefill_seconds`. With both shares 1 and
    no context it is the floor: Llama-3-8B in bf16 on 3.35 TB/s needs 4.5 ms a token.

    Source: arXiv:2211.05102 section 2; shares: the constants above.

    Raises:
        UsageError: If a share is outside (0, 1], or a number of GPUs or requests is below 1.
    """
    plan = changed_plan(plan, **changes)
    if n_requests < 1:
        raise UsageError(f"n_requests is {n_requests}; expected at least 1")
    weights = read_weight_bytes(model, n_requests, plan=plan)
    read = weights + n_requests * read_group_bytes(model, context_tokens, plan=plan)
    flops = n_requests * decode_flops_per_token(model, context_tokens, vocab_size=plan.vocab_size)
    return roofline_seconds(gpu, plan, read, flops, flops_share, bandwidth_share)


def roofline_seconds(
    gpu: GpuFacts,
    plan: MemoryPlan,
    n_bytes: float,
    n_flops: float,
    flops_share: float,
    bandwidth_share: float,
) -> float:
    """Return the seconds in which the plan's GPUs read bytes and compute at once.

    Formula: the larger of FLOPs over their rate and bytes over bandwidth.

    Source: roofline model, doi:10.1145/1498765.1498785.

    Raises:
        UsageError: If a share is outside (0, 1].
    """
    for share in (flops_share, bandwidth_share):
        if not 0 < share <= 1:
            raise UsageError(f"a share of the datasheet's rate is {share}; expected 0 < share <= 1")
    return max(
        n_flops / (plan.all_gpus * gpu.bf16_dense_flops_per_s * flops_share),
        n_bytes / (plan.all_gpus * gpu.memory_bandwidth_bytes_per_s * bandwidth_share),
    )
