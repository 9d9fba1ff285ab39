"""Bytes that a sequence keeps, on one GPU and on a group: keys and values, latents, states.

All results are exact for the given shape and number format. The KV cache is linear in length;
that attention needs quadratic memory is not true of fused kernels (arXiv:2205.14135).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from jeton.catalog.layers import CacheRow
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.weight_formats import number_format, number_formats
from jeton.economics.serving.weights import (
    Bytes as Bytes,
)
from jeton.economics.serving.weights import (
    WeightBytes as WeightBytes,
)
from jeton.economics.serving.weights import (
    element_bytes,
    whole_bytes,
)
from jeton.economics.serving.weights import (
    weight_bytes as weight_bytes,
)
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.economics.serving.memory_plan import MemoryPlan

DTYPE_BYTES: dict[str, int | Fraction] = {
    one.name: int(one.bytes) if one.bytes.denominator == 1 else one.bytes
    for one in number_formats()
}
"""Bytes per element with its part of the scales (`jeton.catalog.weight_formats`)."""

DEFAULT_DTYPE_BYTES = 2
"""Most open models are published and served in bf16."""


def row_copies(row: CacheRow, n_gpus: int) -> Fraction:
    """Return how often a group of GPUs holds a row of the cache.

    Formula: ``N ceil(g / N) / g``: heads are not split, so with fewer heads than GPUs each is held
    ``N / g`` times. Without heads (a latent, an index) every GPU holds it.

    Source: vLLM, ``ModelConfig.get_num_kv_heads``; latents: tenstorrent/tt-xla#5861.
    """
    if not row.heads:
        return Fraction(n_gpus)
    return Fraction(n_gpus * -(-row.heads // n_gpus), row.heads)


def kv_bytes_per_token(
    model: ModelFacts, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES, n_gpus: int = 1
) -> int:
    """Return the KV-cache bytes that one more token takes in all layers, on all GPUs of a group.

    Formula: the sum over the layers of what their kind caches (`jeton.catalog.LAYER_KINDS`), times
    `row_copies`. Layers with a window stop growing at it; `kv_bytes` honours that. Scales of a
    quantized cache are left out: engines keep one for a tensor or a head.

    Source: as the kinds of layers; published: Llama-3-8B 131,072 and Llama-2-7B 524,288 bytes in
    bf16, DeepSeek-V3 70,272 (arXiv:2505.09343 table 1, "70.272 KB").
    """
    size = element_bytes(dtype_bytes)
    return whole_bytes(
        sum(
            (
                n * row.size(size) * row_copies(row, n_gpus) / row.rate
                for row, n in model.cache_rows.items()
            ),
            Fraction(0),
        )
    )


def state_bytes(model: ModelFacts, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES) -> int:
    """Return what the layers with a state keep of a sequence, whatever its length.

    Formula: the sum over the layers of state and convolution as their kind has them; the state in
    the type that the configuration names, else in ``dtype_bytes``.

    Source: as the kinds of layers (`jeton.catalog.LAYER_KINDS`).
    """
    size = element_bytes(dtype_bytes)
    total = Fraction(0)
    for layer in model.layers:
        for mixer in layer.mixers:
            if mixer.state is not None:
                total += mixer.state.size(size)
    return whole_bytes(total)


def kv_bytes(
    model: ModelFacts,
    n_tokens: float,
    *,
    dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES,
    n_gpus: int = 1,
) -> float:
    """Return the KV-cache bytes of a sequence on a group; an int where ``n_tokens`` is one.

    Formula: as `kv_bytes_per_token`, with ``min(n, w)`` tokens in layers with a window w, and an
    entry for each m tokens in layers that compress. States are not in it; `request_bytes` adds
    them.

    Source: arXiv:2310.06825 (rolling buffer cache of the sliding window).

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    size = element_bytes(dtype_bytes)
    total: Fraction | float = Fraction(0)
    for row, n in model.cache_rows.items():
        one = n * row.size(size) * row_copies(row, n_gpus)
        entries = row.entries(n_tokens)
        exact = isinstance(entries, int) and isinstance(total, Fraction)
        total = total + one * entries if exact else float(total) + float(one) * entries
    return whole_bytes(total) if isinstance(total, Fraction) else total


def full_page_bytes(
    model: ModelFacts,
    n_tokens: float,
    *,
    dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES,
    n_gpus: int = 1,
) -> float:
    """Return the KV-cache bytes where an engine gives every layer pages for all tokens.

    Formula: `kv_bytes_per_token` ``x n``: layers with a window keep what they never read again.

    Source: engines without an allocator for each group of layers (alvarobartt/hf-mem#70, measured).

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    return kv_bytes_per_token(model, dtype_bytes=dtype_bytes, n_gpus=n_gpus) * n_tokens


def request_bytes(
    model: ModelFacts, n_tokens: float, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES
) -> float:
    """Return everything that a sequence keeps in memory: KV cache and states.

    Formula: `kv_bytes` ``+`` `state_bytes`; 0 without tokens.

    Source: as those two.

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    state = state_bytes(model) if n_tokens else 0
    return kv_bytes(model, n_tokens, dtype_bytes=dtype_bytes) + state


def embedding_bytes(
    *, vocab_size: int, hidden_size: int, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES
) -> int:
    """Return the bytes of one embedding table: ``V d b``.

    Source: definition; GPT-2 small in fp32 has 50,257 x 768 x 4 = 154,389,504 bytes. An untied
    model has two such tables.

    Raises:
        UsageError: If a size is below 1.
    """
    size = element_bytes(dtype_bytes)
    if vocab_size < 1 or hidden_size < 1:
        raise UsageError(
            f"a table of {vocab_size} x {hidden_size} is empty; expected sizes above 0"
        )
    return whole_bytes(vocab_size * hidden_size * size)


def kv_element_bytes(kv_dtype: str) -> Fraction:
    """Return the bytes of an element of the cache in a format; ``"auto"``: 16 bits.

    Engines cache in the type that they compute in (vLLM, ``--kv-cache-dtype auto``), which is 16
    bits for weights in any format.

    Raises:
        UnknownNumberFormatError: If the format is not known.
    """
    if kv_dtype == "auto":
        return Fraction(DEFAULT_DTYPE_BYTES)
    return number_format(kv_dtype).element_bits / 8


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
