"""Bytes that a group of GPUs takes for cached tokens, copies of heads and latents included."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from jeton.catalog.layers import CacheRow
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.memory import (
    full_page_bytes,
    kv_bytes,
    kv_bytes_per_token,
    row_copies,
)
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan


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
    tensor = _copying_gpus(plan, n_gpus)
    if plan.kv_bytes_per_token is not None:
        if n_tokens < 0:
            raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
        cache: float = plan.kv_bytes_per_token * n_tokens
    else:
        bytes_of = full_page_bytes if plan.full_pages else kv_bytes
        cache = bytes_of(model, n_tokens, dtype_bytes=plan.element(model), n_gpus=tensor)
    return cache + (plan.rules.state_of(model, plan) if n_tokens else 0)


def read_group_bytes(model: ModelFacts, n_tokens: float, *, plan: MemoryPlan) -> float:
    """Return what a generated token reads of a sequence on all GPUs of a plan together.

    Formula: ``sum of r min(n, w)`` over `token_reads`, and the states: a layer whose index chooses
    tokens reads those alone, and a shared cache is read by each layer that shares it.

    Source: `jeton.catalog.layers.Mixer.read_rows`.

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    state = plan.rules.state_of(model, plan) if n_tokens else 0
    reads = token_reads(model, plan=plan)
    return state + sum(float(one) * min(n_tokens, cap or n_tokens) for cap, one in reads.items())


def token_reads(model: ModelFacts, *, plan: MemoryPlan) -> dict[int | None, Fraction]:
    """Return the bytes that a generated token reads for each token before it, by their most."""
    return _by_cap(model, model.read_rows, plan)


def token_holds(model: ModelFacts, *, plan: MemoryPlan) -> dict[int | None, Fraction]:
    """Return the bytes that a token keeps on all GPUs, by the most tokens that are kept."""
    return _by_cap(model, model.cache_rows, plan)


def _by_cap(
    model: ModelFacts, rows: Mapping[CacheRow, int], plan: MemoryPlan
) -> dict[int | None, Fraction]:
    if plan.kv_bytes_per_token is not None:
        return {None: Fraction(plan.kv_bytes_per_token)}
    size, tensor = plan.element(model), _copying_gpus(plan, plan.all_gpus)
    found: dict[int | None, Fraction] = {}
    for row, n in rows.items():
        one = n * row.size(size) * row_copies(row, tensor) / row.rate
        found[row.window] = found.get(row.window, Fraction(0)) + one
    return found


def _copying_gpus(plan: MemoryPlan, n_gpus: int) -> int:
    """GPUs of a stage, which copy heads; llama.cpp shares layers, so that nothing is copied."""
    if not plan.rules.splits_heads:
        return 1
    return max(1, n_gpus // (plan.pipeline_parallel * plan.data_parallel))
