"""Bytes of the KV cache and of the weights.

All results are exact for the given shape and number format. The KV cache is linear in length;
that attention needs quadratic memory is not true of fused kernels (arXiv:2205.14135).
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton.catalog.model_facts import AttentionKind, ModelFacts
from jeton.economics.parameters import count_parameters
from jeton.errors import UsageError

__all__ = [
    "DEFAULT_DTYPE_BYTES",
    "DTYPE_BYTES",
    "WeightBytes",
    "embedding_bytes",
    "kv_bytes",
    "kv_bytes_per_layer_token",
    "kv_bytes_per_token",
    "request_bytes",
    "state_bytes",
    "weight_bytes",
]

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1}
"""Bytes per element (IEEE 754-2019; bf16: 16 bits; fp8: arXiv:2209.05433)."""

DEFAULT_DTYPE_BYTES = DTYPE_BYTES["bf16"]
"""Most open models are published and served in bf16."""


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Weights in bytes, split by whether they depend on the vocabulary.

    Attributes:
        input_embedding: Input table.
        output_head: Output head; 0 where it is the input table (tied).
        rest: Everything else; does not depend on the vocabulary.
    """

    input_embedding: int
    output_head: int
    rest: int

    @property
    def total(self) -> int:
        """All weights, bytes."""
        return self.input_embedding + self.output_head + self.rest


def kv_bytes_per_layer_token(model: ModelFacts, *, dtype_bytes: int = DEFAULT_DTYPE_BYTES) -> int:
    """Return the KV-cache bytes of one token in one layer.

    Formula: ``2 g e b`` (key and value of g key-value heads with e elements of b bytes); for
    latent attention ``(c + r) b``, one latent of c and one rotary key of r elements.

    Source: arXiv:1911.02150 and 2305.13245 (multi-query, grouped-query), 2405.04434 (latent).
    """
    _require_dtype(dtype_bytes)
    if model.attention is AttentionKind.LATENT and model.latent_attention is not None:
        latent = model.latent_attention
        return (latent.kv_latent_size + latent.rotary_size) * dtype_bytes
    return 2 * model.n_kv_heads * model.head_size * dtype_bytes


def kv_bytes_per_token(model: ModelFacts, *, dtype_bytes: int = DEFAULT_DTYPE_BYTES) -> int:
    """Return the KV-cache bytes that one more token takes in all layers.

    Formula: `kv_bytes_per_layer_token` ``x L``, L the layers with attention. Layers with a sliding
    window stop growing at the window; `kv_bytes` honours that.

    Source: as `kv_bytes_per_layer_token`; published: Llama-3-8B 131,072 and Llama-2-7B 524,288
    bytes in bf16, DeepSeek-V3 70,272 (arXiv:2505.09343 table 1, "70.272 KB").
    """
    return model.n_attention_layers * kv_bytes_per_layer_token(model, dtype_bytes=dtype_bytes)


def state_bytes(model: ModelFacts, *, dtype_bytes: int = DEFAULT_DTYPE_BYTES) -> int:
    """Return what the recurrent layers of a hybrid model keep of a sequence, whatever its length.

    Formula: ``R (c s + k (w - 1)) b`` with R recurrent layers, c channels of state s, and a causal
    convolution of w tokens over k channels; 0 without such layers. Implementations that keep the
    state in fp32 need twice the part of the state.

    Source: arXiv:2312.00752 section 3 (Mamba), arXiv:2412.06464 (gated delta).
    """
    _require_dtype(dtype_bytes)
    if model.recurrent is None:
        return 0
    return model.recurrent.n_layers * model.recurrent.state_elements * dtype_bytes


def kv_bytes(
    model: ModelFacts, n_tokens: float, *, dtype_bytes: int = DEFAULT_DTYPE_BYTES
) -> float:
    """Return the KV-cache bytes of a sequence; an int where ``n_tokens`` is one.

    Formula: ``k ((L - S) n + S min(n, w))`` with k bytes per layer and token, and S of L layers
    with a window of w tokens. A hybrid model's recurrent layers have no keys and values;
    `request_bytes` adds what they keep.

    Source: arXiv:2310.06825 (rolling buffer cache of the sliding window).

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    if n_tokens < 0:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 0")
    per_layer = kv_bytes_per_layer_token(model, dtype_bytes=dtype_bytes)
    n_sliding = 0 if model.sliding_window_tokens is None else model.n_sliding_layers
    in_window = min(n_tokens, model.sliding_window_tokens or 0)
    full = model.n_attention_layers - n_sliding
    return per_layer * (full * n_tokens + n_sliding * in_window)


def request_bytes(
    model: ModelFacts, n_tokens: float, *, dtype_bytes: int = DEFAULT_DTYPE_BYTES
) -> float:
    """Return everything that a sequence keeps in memory: KV cache and recurrent state.

    Formula: `kv_bytes` ``+`` `state_bytes`; 0 without tokens.

    Source: as those two.

    Raises:
        UsageError: If ``n_tokens`` is negative.
    """
    state = state_bytes(model, dtype_bytes=dtype_bytes) if n_tokens else 0
    return kv_bytes(model, n_tokens, dtype_bytes=dtype_bytes) + state


def weight_bytes(
    model: ModelFacts, *, vocab_size: int | None = None, dtype_bytes: int = DEFAULT_DTYPE_BYTES
) -> WeightBytes:
    """Return the bytes of the weights, with the model's vocabulary or with another one.

    Formula: ``b x parameters``; the vocabulary costs ``V d`` parameters tied, ``2 V d`` untied.
    All experts count: they all must lie in memory.

    Source: `jeton.economics.parameters.count_parameters`.

    Raises:
        UsageError: If ``vocab_size`` or ``dtype_bytes`` is below 1.
    """
    _require_dtype(dtype_bytes)
    count = count_parameters(model, vocab_size=vocab_size)
    return WeightBytes(
        input_embedding=count.input_embedding * dtype_bytes,
        output_head=count.output_head * dtype_bytes,
        rest=(count.total - count.input_embedding - count.output_head) * dtype_bytes,
    )


def embedding_bytes(
    *, vocab_size: int, hidden_size: int, dtype_bytes: int = DEFAULT_DTYPE_BYTES
) -> int:
    """Return the bytes of one embedding table: ``V d b``.

    Source: definition; GPT-2 small in fp32 has 50,257 x 768 x 4 = 154,389,504 bytes. An untied
    model has two such tables.

    Raises:
        UsageError: If a size is below 1.
    """
    _require_dtype(dtype_bytes)
    if vocab_size < 1 or hidden_size < 1:
        raise UsageError(
            f"a table of {vocab_size} x {hidden_size} is empty; expected sizes above 0"
        )
    return vocab_size * hidden_size * dtype_bytes


def _require_dtype(dtype_bytes: int) -> None:
    if dtype_bytes < 1:
        raise UsageError(f"dtype_bytes is {dtype_bytes}; expected at least 1 byte per element")
