"""Bytes that a group of GPUs takes for cached tokens, copies of heads and latents included."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.memory import full_page_bytes, kv_bytes, kv_bytes_per_token
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

__all__ = ["kv_copies", "request_group_bytes"]


def kv_copies(model: ModelFacts, n_gpus: int) -> Fraction:
    """Return how often a group of GPUs holds what a token caches, over all layers.

    Formula: the cached bytes of a token on the group, copies of heads and latents included, over
    those on one GPU.

    Source: `jeton.economics.serving.memory.row_copies`.
    """
    if n_gpus == 1:
        return Fraction(1)
    once = kv_bytes_per_token(model)
    if not once:
        return Fraction(1)
    return Fraction(kv_bytes_per_token(model, n_gpus=n_gpus), once)


def request_group_bytes(
    model: ModelFacts, n_tokens: float, *, plan: MemoryPlan, n_gpus: int
) -> float:
    """Return what a sequence takes on all GPUs of a replica together, copies included.

    Formula: the KV cache with its copies, windows kept full where the plan says so, and the states
    once; 0 without tokens.

    Source: `jeton.economics.serving.memory`.

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    tensor = max(1, n_gpus // (plan.pipeline_parallel * plan.data_parallel))
    if plan.rules.name == "llama.cpp":
        tensor = 1  # Layers are shared, so that nothing is copied.
    if plan.kv_bytes_per_token is not None:
        if n_tokens < 0:
            raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
        cache: float = plan.kv_bytes_per_token * n_tokens
    else:
        bytes_of = full_page_bytes if plan.full_pages else kv_bytes
        cache = bytes_of(model, n_tokens, dtype_bytes=plan.element(model), n_gpus=tensor)
    return cache + (plan.rules.state_of(model, plan) if n_tokens else 0)
