"""Attention with keys and values for heads: full, in a sliding window, or in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers.base import CacheRow, Mixer, Pairs, Part
from jeton.catalog.model_families import ModelClass


@dataclass(frozen=True, slots=True)
class FullAttention(Mixer):
    """Attention over all tokens before.

    Attributes:
        n_heads: Query heads.
        n_kv_heads: Key-value heads.
        head_size: Elements of a head's key.
        value_size: Elements of a head's value.
        window: Tokens that are attended and kept at most; None: all.
        qk_norm: Norms of queries and keys: over a head, over all heads, or none.
        qkv_bias: True if queries, keys and values have a bias.
        output_bias: True if the output has one.
        has_gate: True if a projection as large as the queries' gates the output.
        has_sinks: True if each head has a learned sink.
        keys_are_values: True if one projection gives both.
        has_kv: False if the layer has no projections to keys and values.
    """

    kind: ClassVar[str] = "full"
    formula: ClassVar[str] = "g (e + v) cached elements a token, for g heads of e and v elements"
    source: ClassVar[str] = "arXiv:1706.03762, 1911.02150, 2305.13245"

    n_heads: int
    n_kv_heads: int
    head_size: int
    value_size: int
    window: int | None = None
    qk_norm: Literal["none", "head", "full"] = "none"
    qkv_bias: bool = False
    output_bias: bool = False
    has_gate: bool = False
    has_sinks: bool = False
    keys_are_values: bool = False
    has_kv: bool = True

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the attention of a configuration."""
        is_full = cls.kind == "full"
        n_heads = fields.size("num_attention_heads", "n_head", "n_heads")
        one_head = fields.flag("multi_query", default=family.multi_query) and not fields.flag(
            "new_decoder_architecture", default=False
        )
        n_kv_heads = 1 if one_head else _kv_heads(fields, n_heads)
        value_size = fields.size("v_head_dim", default=0)
        head_size = fields.size("head_dim", "attention_head_dim", default=0)
        if not head_size:
            hidden = fields.size("hidden_size", "n_embd", "d_model")
            if hidden % n_heads:
                raise fields.error(
                    "hidden_size", f"is {hidden}, which {n_heads} heads do not divide"
                )
            head_size = hidden // n_heads
        same = is_full and fields.flag("attention_k_eq_v", default=False)
        if is_full:
            head_size = fields.size("global_head_dim", default=0) or head_size
            n_global = fields.size("num_global_key_value_heads", default=0)
            n_kv_heads = n_global if same and n_global else n_kv_heads
        else:
            head_size = fields.size("swa_head_dim", default=head_size)
            n_heads = fields.size("swa_num_attention_heads", default=n_heads)
            n_kv_heads = fields.size("swa_num_key_value_heads", default=n_kv_heads)
            value_size = fields.size("swa_v_head_dim", default=value_size)
        if n_heads % n_kv_heads:
            raise fields.error(
                "num_key_value_heads",
                f"is {n_kv_heads}, which does not divide the {n_heads} query heads",
            )
        output_bias = family.output_bias
        if family.output_bias_follows:
            output_bias = fields.flag("attention_bias", "use_bias", default=output_bias)
        qk_norm = family.qk_norm
        if not family.chunked and fields.flag("use_qk_norm", default=False):
            qk_norm = "full" if qk_norm == "full" else "head"
        return cls(
            n_heads=n_heads,
            n_kv_heads=n_kv_heads,
            head_size=head_size,
            value_size=value_size or head_size,
            window=None if is_full else cls.read_window(fields),
            qk_norm=qk_norm,
            qkv_bias=fields.flag("attention_bias", "qkv_bias", "use_bias", default=family.qkv_bias),
            output_bias=output_bias,
            has_gate=fields.flag("attn_output_gate", default=family.attention_gate),
            has_sinks=family.attention_sinks,
            keys_are_values=same,
        )

    @classmethod
    def read_window(cls, fields: ConfigFields) -> int:
        """Return the tokens of the window."""
        return fields.size("sliding_window", "sliding_window_size", "window_size")

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return queries, keys, values, output, and what belongs to them."""
        queries, keys = self.n_heads * self.head_size, self.n_kv_heads * self.head_size
        outputs, values = self.n_heads * self.value_size, self.n_kv_heads * self.value_size
        name = "self_attn."
        found = [Part(f"{name}q_proj", "attention", queries * (1 + self.has_gate), d)]
        if self.has_kv:
            found.append(Part(f"{name}k_proj", "attention", keys, d, split="heads"))
            if not self.keys_are_values:
                found.append(
                    Part(f"{name}v_proj", "attention", values, d, split="heads", is_value=True)
                )
        found.append(Part(f"{name}o_proj", "attention", d, outputs))
        n_kv = self.n_kv_heads if self.has_kv else 0
        vectors = {
            "none": 0,
            "head": self.head_size * (1 + self.has_kv),
            "full": queries + keys,
        }[self.qk_norm]
        vectors += (queries + keys + n_kv * self.value_size) * self.qkv_bias
        vectors += d * self.output_bias + self.n_heads * self.has_sinks
        if vectors:
            found.append(Part(f"{name}vectors", "norms", vectors, split="whole", is_plain=True))
        return tuple(found)

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """Keys and values of all heads."""
        elements = self.n_kv_heads * (self.head_size + self.value_size)
        return (CacheRow(elements, heads=self.n_kv_heads, window=self.window),)

    @property
    def pairs(self) -> tuple[Pairs, ...]:
        """``2 H (e + v)``: a score, and a weighted sum of values, for H query heads."""
        flops = 2 * self.n_heads * (self.head_size + self.value_size)
        return (Pairs(flops, flops, self.window),)

    @property
    def query_heads(self) -> int:
        """Query heads."""
        return self.n_heads

    @property
    def activation_width(self) -> int:
        """Queries, keys, values and the output before its projection."""
        per_head = self.head_size + self.value_size
        return (self.n_heads + self.n_kv_heads) * per_head


@dataclass(frozen=True, slots=True)
class SlidingAttention(FullAttention):
    """Attention over the last tokens, which alone are kept."""

    kind: ClassVar[str] = "sliding"
    formula: ClassVar[str] = "g (e + v) cached elements for each of min(n, w) tokens, window w"
    source: ClassVar[str] = "arXiv:2310.06825 (rolling buffer)"


@dataclass(frozen=True, slots=True)
class ChunkedAttention(FullAttention):
    """Attention within a chunk of the text (Llama 4)."""

    kind: ClassVar[str] = "chunked"
    formula: ClassVar[str] = "g (e + v) cached elements for each of min(n, c) tokens, chunk c"
    source: ClassVar[str] = "transformers 5.24, models/llama4 (attention_chunk_size)"

    @classmethod
    def read_window(cls, fields: ConfigFields) -> int:
        """Return the tokens of a chunk."""
        return fields.size("attention_chunk_size")


def _kv_heads(fields: ConfigFields, n_heads: int) -> int:
    names = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    return fields.size(*names, default=n_heads) or n_heads
