"""Shape of an open model: layers, heads, experts, windows, formats, each with its source."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Literal

__all__ = [
    "AttentionKind",
    "Experts",
    "LatentAttention",
    "ModelFacts",
    "RecurrentLayers",
    "SparseIndex",
]


class AttentionKind(StrEnum):
    """How keys and values are shared; this decides the size of the KV cache."""

    MULTI_HEAD = "mha"
    """One key-value head for each query head."""
    GROUPED_QUERY = "gqa"
    """Groups of query heads share one key-value head (arXiv:2305.13245)."""
    MULTI_QUERY = "mqa"
    """All query heads share one key-value head (arXiv:1911.02150)."""
    LATENT = "mla"
    """Keys and values are rebuilt from one cached latent vector (arXiv:2405.04434)."""


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Sizes of multi-head latent attention, in elements (names of DeepSeek's configuration).

    Attributes:
        kv_latent_size: Cached latent (``kv_lora_rank``).
        rotary_size: Cached rotary key, shared by all heads (``qk_rope_head_dim``).
        query_latent_size: Latent of the queries, not cached (``q_lora_rank``); 0 where queries are
            projected at once.
        nope_size: Part of a head's key without rotation (``qk_nope_head_dim``).
        value_size: A head's value (``v_head_dim``).
    """

    kv_latent_size: int
    rotary_size: int
    query_latent_size: int
    nope_size: int
    value_size: int


@dataclass(frozen=True, slots=True)
class Experts:
    """The mixture-of-experts MLP.

    Attributes:
        n_routed: Experts the router chooses from.
        n_active: Routed experts that work on one token.
        n_shared: Experts that work on every token.
        intermediate_size: Width of one expert, in elements.
        n_dense_layers: Layers that have a dense MLP instead.
        router_bias: True if the router has a bias per expert.
        shared_gate: True if the shared experts' sum is weighed by a gate of its own.
    """

    n_routed: int
    n_active: int
    n_shared: int
    intermediate_size: int
    n_dense_layers: int
    router_bias: bool
    shared_gate: bool = False


@dataclass(frozen=True, slots=True)
class RecurrentLayers:
    """Layers of a hybrid model that keep a state of fixed size instead of keys and values.

    Attributes:
        kind: ``"mamba"`` (selective state space, arXiv:2312.00752, with norms of its parts as in
            Jamba, arXiv:2403.19887), or ``"gated-delta"`` (arXiv:2412.06464).
        n_layers: Layers of this kind; the others have attention.
        value_size: Channels that carry a state (Mamba's inner width; value heads x head size).
        state_size: State per channel, elements (Mamba's state; a key head's size).
        key_size: Key heads x head size; 0 for Mamba.
        n_value_heads: Value heads; 0 for Mamba.
        conv_size: Kernel of the causal convolution, tokens.
        time_step_rank: Rank of Mamba's step size; 0 for gated delta.
        part_norms: True if Mamba's step size, input and output have norms, as in Jamba.
    """

    kind: Literal["mamba", "gated-delta"]
    n_layers: int
    value_size: int
    state_size: int
    key_size: int
    n_value_heads: int
    conv_size: int
    time_step_rank: int
    part_norms: bool = True

    @property
    def conv_channels(self) -> int:
        """Channels that the causal convolution runs over."""
        return self.value_size + 2 * self.key_size

    @property
    def state_elements(self) -> int:
        """Elements that one layer keeps of a sequence, whatever its length."""
        return self.value_size * self.state_size + self.conv_channels * (self.conv_size - 1)


@dataclass(frozen=True, slots=True)
class SparseIndex:
    """The index by which sparse attention chooses the tokens that it attends (DeepSeek-V3.2).

    Attributes:
        n_heads: Heads of the index, which score a query against the keys.
        head_size: Elements of a head, and of the key that every layer caches for each token.
    """

    n_heads: int
    head_size: int

    @property
    def cached_bytes(self) -> int:
        """Bytes cached for a token and layer: the key in fp8, and its fp32 scale."""
        return self.head_size + 4


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Published configuration of a decoder-only model.

    Attributes:
        name: Name in this catalog.
        aliases: Other names it answers to; the first is the public repository.
        n_parameters: Published number of parameters (rounded as published).
        n_active_parameters: Published number of parameters that work on one token.
        hidden_size: Width of the residual stream, elements.
        n_layers: Transformer layers.
        n_heads: Query heads.
        n_kv_heads: Key-value heads (of no meaning for latent attention).
        head_size: Elements per head.
        intermediate_size: Width of a dense MLP, elements.
        mlp: ``"gated"`` has three matrices (SwiGLU, GeGLU), ``"plain"`` two.
        vocab_size: Rows of the embedding table, padding included.
        tied_embeddings: True if the output head is the input table.
        context_tokens: Longest position the configuration allows.
        attention: How keys and values are shared.
        latent_attention: Sizes of latent attention; None for the other kinds.
        sliding_window_tokens: Window of the layers that have one; None without.
        n_sliding_layers: Layers that have the window.
        experts: The mixture of experts; None for a dense model.
        position_table_tokens: Rows of a learned position table; 0 with rotary positions.
        norm: ``"rmsnorm"`` has a weight, ``"layernorm"`` a weight and a bias.
        n_norms_per_layer: Normalisations of width ``hidden_size`` in a layer.
        qk_norm: Normalisation of queries and keys: over a head, over all heads, or none.
        qkv_bias: True if the query, key and value projections have a bias.
        output_bias: True if the attention's output projection has a bias.
        mlp_bias: True if the MLP's matrices have a bias.
        attention_sinks: True if every head has a learned sink.
        tokenizer: The tokenizer it was trained with, in public terms.
        license: Licence of the weights.
        source: Where the facts were read.
        date: Day on which they were checked.
        recurrent: The layers without attention of a hybrid model; None without.
        attention_gate: True if attention's output is gated by a projection as large as the
            queries'.
        weights: Format of the published weights, as `jeton.catalog.weight_format` names it.
            Checkpoints in fp32 count as 16 bits, in which engines load them.
        weights_source: Where that was read; empty: 16 bits, as nearly all are published.
        weight_file_bytes: Bytes of the weight files, where they were read themselves.
        n_shared_cache_layers: Layers without a cache of their own: they read another layer's.
        n_shared_sliding_layers: Number of them with a sliding window.
        sparse_index: The index of sparse attention; None without.
        folder: Folder that the configuration was read from; empty: the facts are the catalog's.
    """

    name: str
    aliases: tuple[str, ...]
    n_parameters: int
    n_active_parameters: int
    hidden_size: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_size: int
    intermediate_size: int
    mlp: Literal["gated", "plain"]
    vocab_size: int
    tied_embeddings: bool
    context_tokens: int
    attention: AttentionKind
    latent_attention: LatentAttention | None
    sliding_window_tokens: int | None
    n_sliding_layers: int
    experts: Experts | None
    position_table_tokens: int
    norm: Literal["rmsnorm", "layernorm"]
    n_norms_per_layer: int
    qk_norm: Literal["none", "head", "full"]
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    attention_sinks: bool
    tokenizer: str
    license: str
    source: str
    date: date
    recurrent: RecurrentLayers | None = None
    attention_gate: bool = False
    weights: str = "bf16"
    weights_source: str = ""
    weight_file_bytes: int | None = None
    n_shared_cache_layers: int = 0
    n_shared_sliding_layers: int = 0
    sparse_index: SparseIndex | None = None
    folder: str = field(default="", compare=False)

    @property
    def n_attention_layers(self) -> int:
        """Layers with attention, which are those with a KV cache."""
        return self.n_layers - (0 if self.recurrent is None else self.recurrent.n_layers)

    @property
    def n_sliding_cache_layers(self) -> int:
        """Layers that cache a window."""
        n_sliding = 0 if self.sliding_window_tokens is None else self.n_sliding_layers
        return n_sliding - self.n_shared_sliding_layers

    @property
    def n_full_cache_layers(self) -> int:
        """Layers that cache every token."""
        n_cached = self.n_attention_layers - self.n_shared_cache_layers
        return n_cached - self.n_sliding_cache_layers

    @property
    def cited_source(self) -> str:
        """Source and date in one string, for a figure."""
        return f"{self.source} (checked {self.date.isoformat()})"
