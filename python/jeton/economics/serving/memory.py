"""Bytes of the KV cache and of the weights.

All results are exact for the given shape and number format. The KV cache is linear in length;
that attention needs quadratic memory is not true of fused kernels (arXiv:2205.14135).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from jeton.catalog.model_facts import AttentionKind, ModelFacts
from jeton.catalog.number_formats import number_format, number_formats
from jeton.catalog.weight_formats import WeightFormat, uniform_weights, weight_format
from jeton.economics.serving.parameters import ParameterCount, count_parameters
from jeton.errors import UsageError

__all__ = [
    "DEFAULT_DTYPE_BYTES",
    "DTYPE_BYTES",
    "Bytes",
    "WeightBytes",
    "embedding_bytes",
    "full_page_bytes",
    "kv_bytes",
    "kv_bytes_per_layer_token",
    "kv_bytes_per_token",
    "kv_element_bytes",
    "published_weights",
    "request_bytes",
    "state_bytes",
    "weight_bytes",
]

Bytes = int | float | Fraction
"""Bytes of an element: 2, 0.5, or an exact fraction (`jeton.catalog.NumberFormat`)."""

DTYPE_BYTES: dict[str, int | Fraction] = {
    one.name: int(one.bytes) if one.bytes.denominator == 1 else one.bytes
    for one in number_formats()
}
"""Bytes per element with its part of the scales (`jeton.catalog.number_formats`)."""

DEFAULT_DTYPE_BYTES = 2
"""Most open models are published and served in bf16."""


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Weights in bytes, split by whether they depend on the vocabulary.

    Attributes:
        input_embedding: Input table.
        output_head: Output head; 0 where it is the input table (tied).
        rest: Everything else; does not depend on the vocabulary.
        experts: Routed experts, among the rest.
        replicated: The bytes, among the rest, that every GPU of a tensor-parallel group holds
            whole: norms, biases and routers, and the way down to latents.
        key_values: Projections to keys and values, among the rest; a group with more GPUs than
            key-value heads holds copies of them.
        formats: How the parts are written.
    """

    input_embedding: int
    output_head: int
    rest: int
    experts: int
    replicated: int
    key_values: int
    formats: WeightFormat

    @property
    def total(self) -> int:
        """All weights, bytes."""
        return self.input_embedding + self.output_head + self.rest


def kv_bytes_per_layer_token(model: ModelFacts, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES) -> int:
    """Return the KV-cache bytes of one token in one layer.

    Formula: ``2 g e b`` (key and value of g key-value heads with e elements of b bytes); for
    latent attention ``(c + r) b``, one latent of c and one rotary key of r elements; a sparse index
    adds its key in fp8 and a scale. Scales of a quantized cache are left out: engines keep one for
    a tensor or a head.

    Source: arXiv:1911.02150 and 2305.13245 (multi-query, grouped-query), 2405.04434 (latent).
    """
    size = _element(dtype_bytes)
    index = 0 if model.sparse_index is None else model.sparse_index.cached_bytes
    if model.attention is AttentionKind.LATENT and model.latent_attention is not None:
        latent = model.latent_attention
        return _whole((latent.kv_latent_size + latent.rotary_size) * size) + index
    return _whole(2 * model.n_kv_heads * model.head_size * size) + index


def kv_bytes_per_token(model: ModelFacts, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES) -> int:
    """Return the KV-cache bytes that one more token takes in all layers.

    Formula: `kv_bytes_per_layer_token` ``x L``, L the layers with a cache of their own. Layers with
    a sliding window stop growing at the window; `kv_bytes` honours that.

    Source: as `kv_bytes_per_layer_token`; published: Llama-3-8B 131,072 and Llama-2-7B 524,288
    bytes in bf16, DeepSeek-V3 70,272 (arXiv:2505.09343 table 1, "70.272 KB").
    """
    n_layers = model.n_full_cache_layers + model.n_sliding_cache_layers
    return n_layers * kv_bytes_per_layer_token(model, dtype_bytes=dtype_bytes)


def state_bytes(model: ModelFacts, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES) -> int:
    """Return what the recurrent layers of a hybrid model keep of a sequence, whatever its length.

    Formula: ``R (c s + k (w - 1)) b`` with R recurrent layers, c channels of state s, and a causal
    convolution of w tokens over k channels; 0 without such layers. Implementations that keep the
    state in fp32 need twice the part of the state.

    Source: arXiv:2312.00752 section 3 (Mamba), arXiv:2412.06464 (gated delta).
    """
    size = _element(dtype_bytes)
    if model.recurrent is None:
        return 0
    return _whole(model.recurrent.n_layers * model.recurrent.state_elements * size)


def kv_bytes(
    model: ModelFacts, n_tokens: float, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES
) -> float:
    """Return the KV-cache bytes of a sequence; an int where ``n_tokens`` is one.

    Formula: ``k (F n + S min(n, w))`` with k bytes per layer and token, F layers that keep every
    token, and S layers with a window of w tokens. A hybrid model's recurrent layers have no keys
    and values; `request_bytes` adds what they keep.

    Source: arXiv:2310.06825 (rolling buffer cache of the sliding window).

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    per_layer = kv_bytes_per_layer_token(model, dtype_bytes=dtype_bytes)
    in_window = min(n_tokens, model.sliding_window_tokens or 0)
    full, sliding = model.n_full_cache_layers, model.n_sliding_cache_layers
    return per_layer * (full * n_tokens + sliding * in_window)


def full_page_bytes(
    model: ModelFacts, n_tokens: float, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES
) -> float:
    """Return the KV-cache bytes where an engine gives every layer pages for all tokens.

    Formula: `kv_bytes_per_token` ``x n``: layers with a window keep what they never read again.

    Source: engines without an allocator for each group of layers (alvarobartt/hf-mem#70, measured).

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    return kv_bytes_per_token(model, dtype_bytes=dtype_bytes) * n_tokens


def request_bytes(
    model: ModelFacts, n_tokens: float, *, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES
) -> float:
    """Return everything that a sequence keeps in memory: KV cache and recurrent state.

    Formula: `kv_bytes` ``+`` `state_bytes`; 0 without tokens.

    Source: as those two.

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    state = state_bytes(model, dtype_bytes=dtype_bytes) if n_tokens else 0
    return kv_bytes(model, n_tokens, dtype_bytes=dtype_bytes) + state


def published_weights(model: ModelFacts) -> WeightFormat:
    """Return how the model's weights are published."""
    return weight_format(model.weights, has_experts=model.experts is not None)


def weight_bytes(
    model: ModelFacts,
    *,
    vocab_size: int | None = None,
    weights: str | WeightFormat = "published",
    dtype_bytes: Bytes | None = None,
) -> WeightBytes:
    """Return the bytes of the weights, with the model's vocabulary or with another one.

    Formula: parameters of each part times the bytes of its format, scales included; the
    vocabulary costs ``V d`` parameters tied, ``2 V d`` untied. All experts count: they all must lie
    in memory. As published, where the weight files were read, their bytes are the sum.

    Source: `serving.parameters.count_parameters`; formats: `jeton.catalog.weight_formats`.

    Args:
        model: The model.
        vocab_size: Another vocabulary than the model's own.
        weights: ``"published"``, or a format: ``bf16``, ``fp8``, ``int4``, ``mxfp4``, ``nf4``,
            ``q4_k_m`` ... (`jeton.catalog.weight_formats`).
        dtype_bytes: All parts in so many bytes an element instead; below 1 for less than a byte.

    Raises:
        UsageError: If ``vocab_size`` is below 1 or ``dtype_bytes`` not above 0.
        UnknownNumberFormatError: If the format is not known.
    """
    formats = _formats(model, weights, dtype_bytes)
    count = count_parameters(model, vocab_size=vocab_size)
    table = _whole(count.input_embedding * _table_format(model, formats))
    head = _whole(count.output_head * formats.head.bytes)
    experts = _whole(count.routed_expert_matrices * formats.experts.bytes)
    rest = experts + _rest(count, formats)
    is_published = weights == "published" and dtype_bytes is None
    if is_published and model.weight_file_bytes is not None:
        own = count_parameters(model)
        tables = own.input_embedding * _table_format(model, formats)
        tables += own.output_head * formats.head.bytes
        rest = max(model.weight_file_bytes - _whole(tables), experts)
    latent = model.attention is AttentionKind.LATENT
    key_values = count.key_value_matrices * formats.linear.bytes
    replicated = (count.router_matrices + count.vectors) * formats.rest.bytes
    return WeightBytes(
        input_embedding=table,
        output_head=head,
        rest=rest,
        experts=experts,
        replicated=min(_whole(replicated + (key_values if latent else 0)), rest),
        key_values=0 if latent else _whole(key_values),
        formats=formats,
    )


def _formats(
    model: ModelFacts, weights: str | WeightFormat, dtype_bytes: Bytes | None
) -> WeightFormat:
    if dtype_bytes is not None:
        return uniform_weights(_element(dtype_bytes) * 8)
    if isinstance(weights, WeightFormat):
        return weights
    if weights == "published":
        return published_weights(model)
    return weight_format(weights, has_experts=model.experts is not None)


def _table_format(model: ModelFacts, formats: WeightFormat) -> Fraction:
    return formats.head.bytes if model.tied_embeddings else formats.tables.bytes


def _rest(count: ParameterCount, formats: WeightFormat) -> int:
    """Bytes of everything but tables and routed experts."""
    linear = count.layer_matrices - count.routed_expert_matrices - count.router_matrices
    total = linear * formats.linear.bytes
    total += (count.router_matrices + count.vectors) * formats.rest.bytes
    total += count.position_table * formats.tables.bytes
    if formats.larger is not None:
        # Half of the layers have these two in the larger format.
        mixed = count.value_matrices + count.down_matrices
        total += Fraction(mixed, 2) * (formats.larger.bytes - formats.linear.bytes)
    return _whole(total)


def embedding_bytes(
    *, vocab_size: int, hidden_size: int, dtype_bytes: Bytes = DEFAULT_DTYPE_BYTES
) -> int:
    """Return the bytes of one embedding table: ``V d b``.

    Source: definition; GPT-2 small in fp32 has 50,257 x 768 x 4 = 154,389,504 bytes. An untied
    model has two such tables.

    Raises:
        UsageError: If a size is below 1.
    """
    size = _element(dtype_bytes)
    if vocab_size < 1 or hidden_size < 1:
        raise UsageError(
            f"a table of {vocab_size} x {hidden_size} is empty; expected sizes above 0"
        )
    return _whole(vocab_size * hidden_size * size)


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


def _element(dtype_bytes: Bytes) -> Fraction:
    try:
        size = Fraction(dtype_bytes)
    except (ValueError, OverflowError, TypeError):
        size = Fraction(0)
    if size <= 0:
        raise UsageError(f"dtype_bytes is {dtype_bytes}; expected bytes per element above 0")
    return size


def _whole(value: Fraction | int) -> int:
    """Return whole bytes, the last one begun counted."""
    return -(-value.numerator // value.denominator)
