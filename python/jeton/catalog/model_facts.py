"""Shape of an open model: its layers, tables and formats, each with its source."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from jeton.catalog.layers import (
    CacheRow,
    FullAttention,
    LatentAttention,
    Layer,
    Mixture,
    Pairs,
    Part,
)

if TYPE_CHECKING:
    from jeton.catalog.config_weights import QuantizationRules
    from jeton.catalog.tensor_bytes import TensorBytes

UNKNOWN_WEIGHTS = "unknown"
"""Format of a repository's weights where its name says that it holds several."""


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
    NONE = "none"
    """No layer attends."""


# Without slots, so that sums over the layers are made once.
@dataclass(frozen=True, repr=False)
class ModelFacts:
    """Published configuration of a model.

    Attributes:
        name: Name in this catalog.
        aliases: Other names it answers to; the first is the public repository.
        n_parameters: Published number of parameters (rounded as published).
        n_active_parameters: Published number of parameters that work on one token.
        hidden_size: Width of the residual stream, elements.
        layers: The layers, in their order.
        vocab_size: Rows of the embedding table, padding included.
        tied_embeddings: True if the output head is the input table.
        context_tokens: Longest position the configuration allows.
        position_table_tokens: Rows of a learned position table; 0 with rotary positions.
        final_norm: Elements of the norm before the head.
        embedding_size: Width of the table of tokens; 0: the width of the layers.
        tokenizer: The tokenizer it was trained with, in public terms.
        license: Licence of the weights.
        source: Where the facts were read.
        date: Day on which they were checked.
        extra_parts: Tensors outside of the layers: towers for images and sound, layers that
            predict further tokens, tables of per-layer embeddings.
        model_type: Class of the configuration.
        weights: Format of the published weights, as `jeton.catalog.weight_format` names it.
            Checkpoints in fp32 count as 16 bits, in which engines load them.
        weights_source: Where that was read; empty: 16 bits, as nearly all are published.
        weights_are_guessed: True if a name alone says it.
        quantization: Rules of the configuration that say which tensors are quantized, and how.
        kv_format: Format of the cache that the checkpoint asks for; empty: 16 bits.
        tensors: Bytes of the tensors, where they were read themselves.
        folder: Folder that the configuration was read from; empty: the facts are the catalog's.
    """

    name: str
    aliases: tuple[str, ...]
    n_parameters: int
    n_active_parameters: int
    hidden_size: int
    layers: tuple[Layer, ...]
    vocab_size: int
    tied_embeddings: bool
    context_tokens: int
    position_table_tokens: int
    final_norm: int
    tokenizer: str
    license: str
    source: str
    date: date
    embedding_size: int = 0
    extra_parts: tuple[Part, ...] = ()
    model_type: str = ""
    weights: str = "bf16"
    weights_source: str = ""
    weights_are_guessed: bool = False
    quantization: QuantizationRules | None = None
    kv_format: str = ""
    tensors: TensorBytes | None = None
    folder: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """The name and the kinds of layers: all of them would be pages."""
        return f"ModelFacts({self.name!r}, layers={self.layer_kinds})"

    def __hash__(self) -> int:
        """Hash of what tells models apart; layers are compared, not hashed."""
        return hash((self.name, self.hidden_size, len(self.layers), self.vocab_size, self.weights))

    @property
    def table_width(self) -> int:
        """Elements of a row of the table of tokens."""
        return self.embedding_size or self.hidden_size

    @cached_property
    def generates(self) -> bool:
        """True if it writes text: a layer caches tokens, or keeps a state."""
        return bool(self.cache_rows) or self.n_state_layers > 0

    @cached_property
    def reads_whole(self) -> bool:
        """True if layers attend both ways: an encoder, with layers that write or without."""
        return "bidirectional" in self.layer_kinds

    @property
    def n_layers(self) -> int:
        """Layers."""
        return len(self.layers)

    @cached_property
    def n_heads(self) -> int:
        """Query heads of the layer with most; 1 where none attends."""
        return max((m.query_heads for layer in self.layers for m in layer.mixers), default=0) or 1

    @cached_property
    def n_kv_heads(self) -> int:
        """Key-value heads of the layer with most.

        Where a latent is cached the query heads; 1 where all heads share one key otherwise.
        """
        found = [
            m.n_kv_heads
            for layer in self.layers
            for m in layer.mixers
            if isinstance(m, FullAttention)
        ]
        if found:
            return max(found)
        return 1 if self.attention is AttentionKind.MULTI_QUERY else self.n_heads

    @cached_property
    def attention(self) -> AttentionKind:
        """Sharing of keys and values."""
        mixers = [m for layer in self.layers for m in layer.mixers if m.query_heads]
        if not mixers:
            return AttentionKind.NONE
        if not any(isinstance(m, FullAttention) for m in mixers):
            if any(isinstance(m, LatentAttention) for m in mixers):
                return AttentionKind.LATENT
            return AttentionKind.MULTI_QUERY
        if self.n_kv_heads == self.n_heads:
            return AttentionKind.MULTI_HEAD
        one = self.n_kv_heads == 1
        return AttentionKind.MULTI_QUERY if one else AttentionKind.GROUPED_QUERY

    @cached_property
    def experts(self) -> Mixture | None:
        """The mixture of experts; None for a dense model."""
        return next((one.mlp for one in self.layers if isinstance(one.mlp, Mixture)), None)

    @cached_property
    def sliding_window_tokens(self) -> int | None:
        """The longest window; None without."""
        return max((one.window for one in self.layers if one.window), default=None)

    @cached_property
    def n_sliding_layers(self) -> int:
        """Layers that attend to a window."""
        return sum(one.window is not None for one in self.layers)

    @cached_property
    def n_attention_layers(self) -> int:
        """Layers that attend to tokens."""
        return sum(one.attends for one in self.layers)

    @cached_property
    def n_state_layers(self) -> int:
        """Layers that keep a state or a convolution's window."""
        return sum(any(m.state for m in one.mixers) for one in self.layers)

    @cached_property
    def cache_rows(self) -> dict[CacheRow, int]:
        """Memory of a token by kind, and the number of layers with it."""
        return dict(Counter(row for layer in self.layers for row in layer.rows))

    @cached_property
    def read_rows(self) -> dict[CacheRow, int]:
        """Memory that a generated token reads by kind, and the number of layers that read it."""
        return dict(Counter(row for one in self.layers for m in one.mixers for row in m.read_rows))

    @cached_property
    def pairs(self) -> dict[Pairs, int]:
        """Pairs of queries and keys by kind, and the number of layers with them."""
        return dict(Counter(pair for one in self.layers for m in one.mixers for pair in m.pairs))

    @cached_property
    def layer_kinds(self) -> dict[str, int]:
        """Kinds of the layers, and how many there are of each."""
        found: dict[str, int] = {}
        for layer in self.layers:
            name = "+".join(m.kind for m in layer.mixers) or "mlp"
            found[name] = found.get(name, 0) + 1
        return found

    @property
    def cited_source(self) -> str:
        """Source and date in one string, for a figure."""
        return f"{self.source} (checked {self.date.isoformat()})"
