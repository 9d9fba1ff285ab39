"""A layer of a model: mixers that cache or keep a state, and an MLP, each with its tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.model_families import ModelClass

Role = Literal["embedding", "attention", "mlp", "experts", "gate", "norms", "head", "vision", "mtp"]
Split = Literal["even", "heads", "whole"]
"""Division of a tensor among GPUs: evenly, by key-value heads, or each holds it whole."""


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a model, or several alike.

    Attributes:
        name: Name within its layer, as the checkpoint writes it (`self_attn.q_proj`).
        role: The part of the model that it belongs to.
        rows: Outputs of a matrix, or elements of a vector.
        columns: Inputs of a matrix, along which scales of blocks run; 1 for a vector.
        count: Tensors alike: the experts of a mixture.
        active: Number of them that work on a token; None: all.
        split: How GPUs share it.
        is_plain: True if no quantization touches it: norms, routers, convolutions.
        is_value: True for projections to values and down projections, which some formats widen.
    """

    name: str
    role: Role
    rows: int
    columns: int = 1
    count: int = 1
    active: int | None = None
    split: Split = "even"
    is_plain: bool = False
    is_value: bool = False

    @property
    def n_parameters(self) -> int:
        """All parameters."""
        return self.rows * self.columns * self.count

    @property
    def n_active(self) -> int:
        """Parameters that work on a token."""
        return self.rows * self.columns * (self.count if self.active is None else self.active)


@dataclass(frozen=True, slots=True)
class CacheRow:
    """Memory that a layer takes for a token of a sequence.

    Attributes:
        elements: Elements in the cache's number format.
        heads: Key-value heads that they belong to; 0: all heads share them, so each GPU of a group
            holds them whole.
        n_bytes: Further bytes, which do not depend on the cache's format.
        window: Tokens that are kept at most; None: all.
        rate: Tokens that share one entry.
    """

    elements: int
    heads: int = 0
    n_bytes: int = 0
    window: int | None = None
    rate: int = 1

    def size(self, element: Fraction) -> Fraction:
        """Return the bytes of one entry."""
        return self.elements * element + self.n_bytes

    def entries(self, n_tokens: float) -> float:
        """Return the entries of a sequence."""
        kept = n_tokens if self.window is None else min(n_tokens, self.window)
        return kept if self.rate == 1 else kept // self.rate


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a query with the tokens before it, and their arithmetic.

    Attributes:
        flops: FLOPs of a pair while a prompt is read, all heads.
        decode_flops: FLOPs of a pair while generating.
        window: Tokens that are attended at most; None: all.
        rate: Tokens that share one entry.
        both_ways: True if a token attends to those after it, too.
    """

    flops: int
    decode_flops: int
    window: int | None = None
    rate: int = 1
    both_ways: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """Memory that a layer keeps of a sequence, equal for all lengths.

    Attributes:
        state_elements: Elements of the recurrent state.
        conv_elements: Elements of the window of a causal convolution.
        n_bytes: Bytes of an element of the state; 0: the model's own 16 bits.
        conv_tokens: Tokens that the convolution keeps; drafted tokens lengthen it.
    """

    state_elements: int
    conv_elements: int
    n_bytes: int = 0
    conv_tokens: int = 3

    def size(self, element: Fraction, *, draft_tokens: int = 0) -> Fraction:
        """Return the bytes of a sequence, with room for drafted tokens."""
        conv = Fraction(self.conv_elements, max(self.conv_tokens, 1))
        conv *= self.conv_tokens + draft_tokens
        return self.state_elements * Fraction(self.n_bytes or element) + conv * element


class Mixer(ABC):
    """Mixing of tokens in a layer: attention, a state, or a convolution.

    Subclasses are frozen dataclasses. `LAYER_KINDS` lists them; each says its formula and source.
    """

    kind: ClassVar[str]
    formula: ClassVar[str]
    source: ClassVar[str]

    __slots__ = ()

    @classmethod
    @abstractmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the mixer that a configuration describes."""

    @abstractmethod
    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the tensors, for a residual stream of ``d`` elements."""

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """Memory for each token; empty where nothing is cached."""
        return ()

    @property
    def state(self) -> State | None:
        """Memory for each sequence; None without."""
        return None

    @property
    def read_rows(self) -> tuple[CacheRow, ...]:
        """Memory that is read to generate a token; by default all that is kept."""
        return self.rows

    @property
    def pairs(self) -> tuple[Pairs, ...]:
        """Pairs of queries and keys; empty without attention."""
        return ()

    @property
    def query_heads(self) -> int:
        """Query heads, which tensor parallelism divides; 0 without attention."""
        return 0

    @property
    def activation_width(self) -> int:
        """Elements of a token that are alive at its widest point, on all GPUs together."""
        return 0


class Mlp(ABC):
    """MLP of a layer, behind its mixer."""

    __slots__ = ()

    @abstractmethod
    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the tensors, for a residual stream of ``d`` elements."""

    @abstractmethod
    def activation_width(self, d: int) -> tuple[int, int]:
        """Return the elements of a token that GPUs share, and those that each holds."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer.

    Attributes:
        mixers: Mixers of tokens: mostly one, two side by side in Falcon-H1, none in Nemotron-H's
            MLP layers.
        mlp: The MLP; None without.
        norms: Elements of its norms of the residual stream's width, and what else is no matrix.
        reads_other_cache: True if it reads another layer's cache and keeps none.
        extra: Further tensors: gates of per-layer embeddings, hyper-connections.
        uses: Times that its tensors work on a token (ALBERT); 0: another layer's work here, too.
    """

    mixers: tuple[Mixer, ...]
    mlp: Mlp | None
    norms: int = 0
    reads_other_cache: bool = False
    extra: tuple[Part, ...] = ()
    uses: int = 1

    @property
    def rows(self) -> tuple[CacheRow, ...]:
        """Memory of a token in this layer."""
        if self.reads_other_cache:
            return ()
        return tuple(row for mixer in self.mixers for row in mixer.rows)

    @property
    def attends(self) -> bool:
        """True if a mixer attends to tokens."""
        return any(mixer.pairs for mixer in self.mixers)

    @property
    def window(self) -> int | None:
        """Tokens that are kept at most; None: all, or none."""
        return next((row.window for mixer in self.mixers for row in mixer.rows), None)

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return all tensors of the layer; none where it uses another layer's."""
        if not self.uses:
            return ()
        found = [part for mixer in self.mixers for part in mixer.parts(d)]
        if self.mlp is not None:
            found += self.mlp.parts(d)
        if self.norms:
            found.append(Part("norms", "norms", self.norms, split="whole", is_plain=True))
        found += self.extra
        if self.uses > 1:
            found = [replace(part, active=part.count * self.uses) for part in found]
        return tuple(found)
