"""A model on a GPU, summed up: what is left, the longest context, and what to say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import AttentionKind, ModelFacts
from jeton.economics.serving.activations import prefill_activation_bytes
from jeton.economics.serving.capacity import cached_tokens, longest_context
from jeton.economics.serving.memory import (
    full_page_bytes,
    kv_bytes,
    kv_bytes_per_token,
)
from jeton.economics.serving.memory_budget import MemoryBudget, memory_budget, refusal
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.economics.serving.parameters import count_parameters
from jeton.errors import UsageError


@dataclass(frozen=True, slots=True)
class MemoryFit:
    """A model on a group of GPUs.

    Attributes:
        gpu: Name of the GPU.
        budget: Memory of each GPU, part by part.
        kv_cache_tokens: Tokens that the group caches, in one request or in many.
        longest_context_tokens: Tokens of one request that has the group to itself, at most the
            model's context.
        request_tokens: Length of the requests that are counted.
        n_requests: Requests of that length at once: those that fit in whole pages, at most those
            that the engine runs side by side; 0 where they are longer than the context.
        notes: Facts that are easily overlooked, one sentence each.
        batch_tokens: Tokens of one batch that fit, of a model that writes no text; None: it
            writes. Requests are then the texts of a batch.
    """

    gpu: str
    budget: MemoryBudget
    kv_cache_tokens: int
    longest_context_tokens: int
    request_tokens: int
    n_requests: int
    notes: tuple[str, ...]
    batch_tokens: int | None = None

    @property
    def group(self) -> str:
        """Number and name of the GPUs."""
        return f"{self.budget.n_gpus} x {self.gpu}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; sizes are bytes of each GPU."""
        budget = self.budget
        return {
            "gpu": self.gpu,
            "n_gpus": budget.n_gpus,
            "gpus_needed": budget.needed_gpus,
            "fits": budget.fits,
            "refused": budget.refused or None,
            "basis": budget.basis,
            "memory_bytes": budget.memory_bytes,
            "usable_bytes": budget.usable_bytes,
            "weight_bytes": budget.weight_bytes,
            "activation_bytes": budget.activation_bytes,
            "engine_bytes": budget.engine_bytes,
            "kv_bytes": budget.kv_bytes,
            "kv_copies": float(budget.kv_copies),
            "kv_cache_tokens": self.kv_cache_tokens,
            "longest_context_tokens": self.longest_context_tokens,
            "request_tokens": self.request_tokens,
            "n_requests": self.n_requests,
            "batch_tokens": self.batch_tokens,
            "notes": list(self.notes),
        }


def fit_on(model: ModelFacts, gpu: GpuFacts, plan: MemoryPlan, *, request_tokens: int) -> MemoryFit:
    """Return what a model leaves on a GPU, or on the fewest that hold it.

    Source: `jeton.economics.serving.memory_budget`.

    Raises:
        UsageError: If ``request_tokens`` is negative.
    """
    if request_tokens < 0:
        raise UsageError(f"request_tokens is {request_tokens}; expected at least 0")
    budget = memory_budget(model, gpu, plan)
    held = changed_plan(plan, n_gpus=budget.tensor_parallel)
    context = plan.context_tokens(model)
    size = plan.rules.sequence_bytes(model, request_tokens, held, gpu, budget.tensor_parallel)
    n_fit = int(budget.group_kv_bytes / budget.n_replicas // size) if size and budget.fits else 0
    n_taken = min(n_fit, plan.requests(gpu)) * budget.n_replicas
    batch = None if model.generates else _batch_tokens(model, budget)
    if batch is not None:
        n_fit = n_taken = batch // max(request_tokens, 1)
    return MemoryFit(
        gpu=gpu.name,
        budget=budget,
        kv_cache_tokens=cached_tokens(model, gpu, budget, held),
        longest_context_tokens=longest_context(model, gpu, plan=held),
        request_tokens=request_tokens,
        n_requests=0 if request_tokens > context else n_taken,
        notes=_notes(model, gpu, plan, budget, request_tokens, n_fit),
        batch_tokens=batch,
    )


def _batch_tokens(model: ModelFacts, budget: MemoryBudget) -> int:
    """Return the tokens of a batch whose activations fill what is left beside the weights."""
    if not budget.fits:
        return 0
    room = budget.kv_bytes + budget.activation_bytes
    some = 1 << 20
    each = prefill_activation_bytes(model, some, n_scored_tokens=0, n_gpus=budget.tensor_parallel)
    return room * some // each * budget.n_replicas


def _notes(
    model: ModelFacts,
    gpu: GpuFacts,
    plan: MemoryPlan,
    budget: MemoryBudget,
    request_tokens: int,
    n_fit: int,
) -> tuple[str, ...]:
    notes = []
    weights = f"{budget.group_weight_bytes / 1e9:,.1f} GB of weights"
    context, most = plan.context_tokens(model), plan.requests(gpu)
    if plan.weight_bytes(model).basis == "name":
        notes.append(
            f"weights are a guess from the name: a checkpoint keeps some parts in 16 bits; its "
            f"folder, its config.json or --weights says which ({model.weights_source})"
        )
    if model.weights_are_guessed and model.weights == "nvfp4":
        notes.append(
            "an NVFP4 file is taken to keep attention in 16 bits: published ones were 4% heavier "
            "(nvidia/Gemma-4-31B-IT-NVFP4) and 15% lighter (vllm-project/recipes#810)"
        )
    if not budget.fits:
        notes.append(refusal(model, gpu, plan))
    elif budget.tensor_parallel > 1 and plan.n_gpus is None:
        notes.append(
            f"{model.name} ({weights}) does not fit one {gpu.name}: the figures are for "
            f"{budget.tensor_parallel} together"
        )
    if request_tokens > context:
        notes.append(
            f"a request of {request_tokens:,} tokens is beyond the context of {context:,}: the "
            "engine answers it with an error"
        )
    elif not model.generates:
        notes.append(
            f"{model.name} reads a text whole and writes none: it caches nothing, and a batch "
            "takes activations alone; servers of embeddings limit the tokens of a batch"
        )
    elif budget.fits and n_fit > most:
        notes.append(f"{n_fit:,} requests fit {gpu.name}; {plan.engine} runs {most:,} of them")
    if budget.fits and plan.engine == "vllm" and plan.max_context_tokens is None:
        longest = longest_context(
            model, gpu, plan=changed_plan(plan, n_gpus=budget.tensor_parallel)
        )
        if model.generates and longest < context:
            notes.append(
                f"vllm starts only with --max-model-len {longest:,} or less: one request of "
                f"{context:,} tokens does not fit"
            )
    if budget.fits and plan.measured is not None and plan.measured.n_starts > 1:
        notes.append(
            f"{plan.measured.name} has {plan.measured.n_starts:,} starts of the engine: the "
            "figures are of the last"
        )
    if budget.fits and budget.kv_copies > 1:
        notes.append(
            f"each of the {budget.n_gpus} x {gpu.name} holds the whole latent cache"
            if model.attention is AttentionKind.LATENT
            else f"on {budget.n_gpus} x {gpu.name} each key-value head is held "
            f"{float(budget.kv_copies):g} times: there are fewer heads than GPUs"
        )
    if budget.fits and model.n_sliding_layers and not plan.full_pages:
        notes.append(
            "an engine that gives layers with a window pages for all tokens holds less: "
            "--full-pages"
        )
    if plan.engine == "vllm" and any("compressed" in kind for kind in model.layer_kinds):
        notes.append(
            "vLLM has been seen to hold half as many tokens of this model, or fewer, than its "
            "layers need (vllm-project/vllm#51041)"
        )
    return tuple(notes)


def plan_summary(model: ModelFacts, plan: MemoryPlan) -> dict[str, Any]:
    """Return what the plan means for a model: parameters, weights, cache.

    Source: `jeton.economics.serving.memory`.
    """
    weights = plan.weight_bytes(model)
    drafts = weights.of("mtp")
    element = plan.element(model)
    context = plan.context_tokens(model)
    has_windows = model.n_sliding_layers > 0
    return {
        "model": model.name,
        "parameters": count_parameters(model).total,
        "layers": ", ".join(f"{n} {kind}" for kind, n in model.layer_kinds.items()),
        "weights": weights.in_words(),
        "weights_bytes": weights.total + (drafts if plan.draft_tokens else 0),
        "weights_basis": weights.basis,
        "weights_by_part": {
            role: weights.of(role)
            for role in dict.fromkeys(part.role for part in weights.parts)
            if role != "mtp" or plan.draft_tokens
        },
        "weights_not_loaded_bytes": None if plan.draft_tokens else drafts or None,
        "kv_cache": plan.kv_name(model),
        "kv_bytes_per_token": plan.kv_bytes_per_token
        or kv_bytes_per_token(model, dtype_bytes=element),
        "state_bytes_per_request": plan.rules.state_of(model, plan) or None,
        "context_tokens": context,
        "kv_bytes_at_full_context": int(kv_bytes(model, context, dtype_bytes=element)),
        "kv_bytes_at_full_context_all_layers_paged": (
            int(full_page_bytes(model, context, dtype_bytes=element)) if has_windows else None
        ),
        "source": model.cited_source,
    }
