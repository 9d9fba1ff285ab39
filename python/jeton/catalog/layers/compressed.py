"""DeepSeek-V4's attention: a short window, and one entry for several tokens beyond it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers.base import CacheRow, Mixer, Pairs, Part
from jeton.catalog.model_families import ModelClass


@dataclass(frozen=True, slots=True)
class WindowedSharedAttention(Mixer):
    """Attention to a short window with one key for all heads, which is the value too.

    Attributes:
        n_heads: Query heads.
        head_size: Elements of the shared key and value.
        query_latent_size: Latent of the queries.
        output_groups: Groups of the output projection.
        output_latent_size: Latent of each group.
        window: Tokens of the window.
        rate: Tokens that share an entry beyond it; 0: there is none.
        index_heads: Heads of the index that chooses entries; 0: all are attended.
        index_size: Elements of its key.
        top_entries: Entries that it chooses.
    """

    kind: ClassVar[str] = "windowed-shared"
    formula: ClassVar[str] = "e cached elements for each of min(n, w) tokens"
    source: ClassVar[str] = "transformers 5.24, models/deepseek_v4"
    rate_name: ClassVar[str] = ""
    default_rate: ClassVar[int] = 0

    n_heads: int
    head_size: int
    query_latent_size: int
    output_groups: int
    output_latent_size: int
    window: int
    rate: int = 0
    index_heads: int = 0
    index_size: int = 0
    top_entries: int = 0

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the attention of a configuration."""
        rates = fields.values.get("compress_rates")
        rate = rates.get(cls.rate_name) if isinstance(rates, dict) else None
        has_index = cls.kind == "compressed"
        return cls(
            n_heads=fields.size("num_attention_heads"),
            head_size=fields.size("head_dim"),
            query_latent_size=fields.size("q_lora_rank"),
            output_groups=fields.size("o_groups"),
            output_latent_size=fields.size("o_lora_rank"),
            window=fields.size("sliding_window"),
            rate=rate if isinstance(rate, int) and rate > 0 else cls.default_rate,
            index_heads=fields.size("index_n_heads") if has_index else 0,
            index_size=fields.size("index_head_dim") if has_index else 0,
            top_entries=fields.size("index_topk") if has_index else 0,
        )

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return queries, the shared key, the output in groups, compressor and index."""
        name, e, q = "self_attn.", self.head_size, self.query_latent_size
        low = self.output_groups * self.output_latent_size
        found = [
            Part(f"{name}q_a_proj", "attention", q, d, split="whole"),
            Part(f"{name}q_b_proj", "attention", self.n_heads * e, q),
            Part(f"{name}kv_proj", "attention", e, d, split="whole"),
            Part(f"{name}o_a_proj", "attention", low, self.n_heads * e // self.output_groups),
            Part(f"{name}o_b_proj", "attention", d, low),
        ]
        vectors = q + e + self.n_heads
        if self.rate:
            wide = 2 if self.index_heads else 1
            found += [
                Part(f"{name}compressor.{one}", "attention", wide * e, d, split="whole")
                for one in ("kv_proj", "gate_proj")
            ]
            vectors += self.rate * wide * e + e
        if self.index_heads:
            size = self.index_size
            found += [
                Part(f"{name}compressor.indexer.{one}", "attention", 2 * size, d, split="whole")
                for one in ("kv_proj", "gate_proj")
            ]
            index = f"{name}compressor.indexer."
            found += [
                Part(f"{index}q_b_proj", "attention", self.index_heads * size, q, split="whole"),
                Part(f"{index}weights_proj", "gate", self.index_heads, d, split="whole"),
            ]
            vectors += self.rate * 2 * size + size
        return (*found, Part(f"{name}vectors", "norms", vectors, split="whole", is_plain=True))

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """The window, the shared entries, and the index's keys."""
        found = [CacheRow(self.head_size, window=self.window)]
        if self.rate:
            found.append(CacheRow(self.head_size, rate=self.rate))
        if self.index_heads:
            found.append(CacheRow(0, n_bytes=self.index_size + 4, rate=self.rate))
        return tuple(found)

    @property
    def _reach(self) -> int | None:
        """Tokens of the entries that are attended at most; None: all."""
        return self.top_entries * self.rate or None

    @property
    def read_rows(self) -> tuple[CacheRow, ...]:
        """The window, the entries that the index chooses, and all of its keys."""
        return tuple(
            replace(row, window=self._reach) if row.window is None and row.elements else row
            for row in self.rows
        )

    @property
    def pairs(self) -> tuple[Pairs, ...]:
        """``4 H e`` for a token of the window and for an entry; ``2 h i`` for an index's score."""
        flops = 4 * self.n_heads * self.head_size
        found = [Pairs(flops, flops, self.window)]
        if self.rate:
            found.append(Pairs(flops, flops, self._reach, self.rate))
        if self.index_heads:
            score = 2 * self.index_heads * self.index_size
            found.append(Pairs(score, score, rate=self.rate))
        return tuple(found)

    @property
    def query_heads(self) -> int:
        """Query heads."""
        return self.n_heads

    @property
    def activation_width(self) -> int:
        """Queries and output."""
        return 2 * self.n_heads * self.head_size


@dataclass(frozen=True, slots=True)
class CompressedAttention(WindowedSharedAttention):
    """The window, one entry for few tokens, and an index that chooses among the entries."""

    kind: ClassVar[str] = "compressed"
    formula: ClassVar[str] = "as windowed-shared, and (e b + i + 4) bytes for each m tokens"
    rate_name: ClassVar[str] = "compressed_sparse_attention"
    default_rate: ClassVar[int] = 4


@dataclass(frozen=True, slots=True)
class HeavilyCompressedAttention(WindowedSharedAttention):
    """The window, and one entry for many tokens."""

    kind: ClassVar[str] = "heavily-compressed"
    formula: ClassVar[str] = "as windowed-shared, and e elements for each m tokens"
    rate_name: ClassVar[str] = "heavily_compressed_attention"
    default_rate: ClassVar[int] = 128
