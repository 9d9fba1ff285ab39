"""Attention of models that read a text whole: both ways, and from one text to another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from jeton.catalog.layers.attention import FullAttention
from jeton.catalog.layers.base import CacheRow, Pairs, Part


@dataclass(frozen=True, slots=True)
class BidirectionalAttention(FullAttention):
    """Attention over the whole text, or a window on both sides (encoders).

    Attributes:
        n_biases: Biases of queries, keys and values that it has, of three (Whisper has two).
        extra: Further tensors: positions relative to a token, projections for global tokens.
        prefix: Module within the layer.
    """

    kind: ClassVar[str] = "bidirectional"
    formula: ClassVar[str] = "nothing cached; n min(n, w) pairs for n tokens, window w"
    source: ClassVar[str] = "arXiv:1810.04805; windows: arXiv:2004.05150, 2412.13663"

    n_biases: int = 0
    extra: tuple[Part, ...] = ()
    prefix: str = "self_attn"

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return queries, keys, values, output, and what belongs to them."""
        inner = self.n_heads * self.head_size
        name = self.prefix
        vectors = inner * self.n_biases + d * self.output_bias
        found = [
            Part(f"{name}.q_proj", "attention", inner, d),
            Part(f"{name}.k_proj", "attention", inner, d, split="heads"),
            Part(f"{name}.v_proj", "attention", inner, d, split="heads", is_value=True),
            Part(f"{name}.o_proj", "attention", d, inner),
        ]
        if vectors:
            found.append(Part(f"{name}.vectors", "norms", vectors, split="whole", is_plain=True))
        return (*found, *self.extra)

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """Nothing: a text is read once."""
        return ()

    @property
    def pairs(self) -> tuple[Pairs, ...]:
        """``4 H e`` for each pair of tokens, in both directions."""
        return (Pairs(4 * self.n_heads * self.head_size, 0, self.window, both_ways=True),)


@dataclass(frozen=True, slots=True)
class CrossAttention(BidirectionalAttention):
    """Attention of a layer that writes: over its own text, and over the text that was read.

    A token is read or written, never both. So each token of a request has one entry in the layer:
    in the cache of the text that was read, or in the cache of its own text.
    """

    kind: ClassVar[str] = "cross"
    formula: ClassVar[str] = (
        "2 H e cached elements a token, of the text read or of the text written"
    )
    source: ClassVar[str] = "arXiv:1706.03762 section 3.2.3"

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the tensors of both attentions."""
        own = BidirectionalAttention.parts(self, d)
        other = replace(self, extra=(), prefix="encoder_attn")
        return (*own, *BidirectionalAttention.parts(other, d))

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """Keys and values of all heads."""
        return (CacheRow(2 * self.n_heads * self.head_size, heads=self.n_kv_heads),)

    @property
    def pairs(self) -> tuple[Pairs, ...]:
        """``4 H e`` for each token read or written before; nothing while the text is read."""
        return (Pairs(0, 4 * self.n_heads * self.head_size),)
