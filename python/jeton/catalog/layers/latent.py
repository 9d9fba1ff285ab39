"""Latent attention (MLA), alone or with an index that chooses the tokens to attend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import ClassVar, Self

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers.base import CacheRow, Mixer, Pairs, Part
from jeton.catalog.model_families import ModelClass


@dataclass(frozen=True, slots=True)
class LatentAttention(Mixer):
    """Multi-head latent attention: one cached latent stands for the keys and values of all heads.

    Attributes:
        n_heads: Query heads.
        kv_latent_size: Cached latent (``kv_lora_rank``).
        rotary_size: Cached rotary key, shared by all heads (``qk_rope_head_dim``).
        query_latent_size: Latent of the queries, not cached (``q_lora_rank``); 0: none.
        nope_size: Part of a head's key without rotation (``qk_nope_head_dim``).
        value_size: A head's value (``v_head_dim``).
    """

    kind: ClassVar[str] = "latent"
    formula: ClassVar[str] = "c + r cached elements a token, latent c and rotary key r"
    source: ClassVar[str] = "arXiv:2405.04434 section 2.1"

    n_heads: int
    kv_latent_size: int
    rotary_size: int
    query_latent_size: int
    nope_size: int
    value_size: int

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the attention of a configuration."""
        return cls(
            n_heads=fields.size("num_attention_heads"),
            kv_latent_size=fields.size("kv_lora_rank"),
            rotary_size=fields.size("qk_rope_head_dim", default=0),
            query_latent_size=fields.size("q_lora_rank", default=0),
            nope_size=fields.size("qk_nope_head_dim"),
            value_size=fields.size("v_head_dim"),
        )

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the ways down to the latents, up from them, and the output."""
        query = self.n_heads * (self.nope_size + self.rotary_size)
        name, q = "self_attn.", self.query_latent_size
        found = [Part(f"{name}q_proj", "attention", query, d)]
        if q:
            found = [
                Part(f"{name}q_a_proj", "attention", q, d, split="whole"),
                Part(f"{name}q_b_proj", "attention", query, q),
            ]
        up = self.n_heads * (self.nope_size + self.value_size)
        cached = self.kv_latent_size + self.rotary_size
        return (
            *found,
            Part(f"{name}kv_a_proj_with_mqa", "attention", cached, d, split="whole"),
            Part(f"{name}kv_b_proj", "attention", up, self.kv_latent_size),
            Part(f"{name}o_proj", "attention", d, self.n_heads * self.value_size),
            Part(f"{name}vectors", "norms", q + self.kv_latent_size, split="whole", is_plain=True),
        )

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """The latent and the rotary key."""
        return (CacheRow(self.kv_latent_size + self.rotary_size),)

    @property
    def pairs(self) -> tuple[Pairs, ...]:
        """``2 H (n + r + v)``, as keys and values are rebuilt; ``2 H (2 c + r)`` to generate.

        A generated token has its scores and sums in the latent space.
        """
        return (
            Pairs(
                2 * self.n_heads * (self.nope_size + self.rotary_size + self.value_size),
                2 * self.n_heads * (2 * self.kv_latent_size + self.rotary_size),
            ),
        )

    @property
    def query_heads(self) -> int:
        """Query heads."""
        return self.n_heads

    @property
    def activation_width(self) -> int:
        """Queries, rebuilt keys and values, and the output."""
        key = self.nope_size + self.rotary_size
        return 2 * self.n_heads * (key + self.value_size)


@dataclass(frozen=True, slots=True)
class SparseLatentAttention(LatentAttention):
    """Latent attention to the tokens that an index chooses (DeepSeek-V3.2, GLM-5).

    Attributes:
        index_heads: Heads of the index, which score a query against its keys.
        index_size: Elements of a head, and of the key that is cached for each token.
        top_tokens: Tokens that a query attends.
    """

    kind: ClassVar[str] = "sparse"
    formula: ClassVar[str] = "as latent, and the index's key in fp8 with a scale of 4 bytes"
    source: ClassVar[str] = "DeepSeek-V3.2 report section 2.1; vLLM, DeepseekV32IndexerCache"

    index_heads: int = 0
    index_size: int = 0
    top_tokens: int = 0

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the attention of a configuration."""
        base = LatentAttention.read(fields, family)
        given = {one.name: getattr(base, one.name) for one in dataclass_fields(base)}
        given["index_heads"] = fields.size("index_n_heads")
        given["index_size"] = fields.size("index_head_dim")
        given["top_tokens"] = fields.size("index_topk")
        return cls(**given)

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the attention's tensors and the index's, which every GPU holds whole."""
        name, size = "self_attn.indexer.", self.index_size
        return (
            *LatentAttention.parts(self, d),
            Part(
                f"{name}wq_b",
                "attention",
                self.index_heads * size,
                self.query_latent_size or d,
                split="whole",
            ),
            Part(f"{name}wk", "attention", size, d, split="whole"),
            Part(f"{name}weights_proj", "gate", self.index_heads, d, split="whole", is_plain=True),
            Part(f"{name}k_norm", "norms", 2 * size, split="whole", is_plain=True),
        )

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """The latent, and the index's key."""
        latent = self.kv_latent_size + self.rotary_size
        return CacheRow(latent), CacheRow(0, n_bytes=self.index_size + 4)

    @property
    def read_rows(self) -> tuple[CacheRow, ...]:
        """The latents of the tokens that the index chooses, and all of its keys."""
        latent, index = self.rows
        return replace(latent, window=self.top_tokens), index

    @property
    def pairs(self) -> tuple[Pairs, ...]:
        """As latent, for the chosen tokens; ``2 h i`` for the index's score of every token."""
        (chosen,) = super(SparseLatentAttention, self).pairs
        score = 2 * self.index_heads * self.index_size
        return replace(chosen, window=self.top_tokens), Pairs(score, score)
