"""Linear attention with a matrix for each head: gated delta, Kimi delta, lightning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers.base import Mixer, Part, State
from jeton.catalog.model_families import ModelClass


@dataclass(frozen=True, slots=True)
class GatedDelta(Mixer):
    """The gated delta rule (Qwen3-Next, Qwen3.5).

    Attributes:
        n_key_heads: Heads of queries and keys.
        n_value_heads: Heads of values, each with a state.
        key_size: Elements of a key head.
        value_size: Elements of a value head.
        conv_size: Tokens of the causal convolution.
        state_bytes: Bytes of an element of the state; 0: the model's own.
        one_input: True if queries, keys, values and gate have one projection.
    """

    kind: ClassVar[str] = "gated-delta"
    formula: ClassVar[str] = "h k v + (2 g k + h v)(w - 1) elements a sequence"
    source: ClassVar[str] = "arXiv:2412.06464; transformers 5.24, models/qwen3_next"

    n_key_heads: int
    n_value_heads: int
    key_size: int
    value_size: int
    conv_size: int
    state_bytes: int = 0
    one_input: bool = False

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the layer of a configuration."""
        return cls(
            n_key_heads=fields.size("linear_num_key_heads"),
            n_value_heads=fields.size("linear_num_value_heads"),
            key_size=fields.size("linear_key_head_dim"),
            value_size=fields.size("linear_value_head_dim"),
            conv_size=fields.size("linear_conv_kernel_dim"),
            state_bytes=fields.state_bytes(),
            one_input=family.name == "qwen3_next",
        )

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the projections, the convolution and the gates' parameters."""
        keys, values, h = self._keys, self.n_value_heads * self.value_size, self.n_value_heads
        vectors = (2 * keys + values) * self.conv_size + 2 * h + self.value_size
        name = "linear_attn."
        inputs = (
            (("in_proj_qkvz", 2 * keys + 2 * values), ("in_proj_ba", 2 * h))
            if self.one_input
            else (
                ("in_proj_qkv", 2 * keys + values),
                ("in_proj_z", values),
                ("in_proj_b", h),
                ("in_proj_a", h),
            )
        )
        return (
            *(Part(name + one, "attention", size, d) for one, size in inputs),
            Part(f"{name}out_proj", "attention", d, values),
            Part(f"{name}vectors", "norms", vectors, is_plain=True),
        )

    @property
    def _keys(self) -> int:
        return self.n_key_heads * self.key_size

    @property
    def state(self) -> State:
        """A matrix for each value head, and the window of the convolution."""
        values = self.n_value_heads * self.value_size
        conv = (2 * self._keys + values) * (self.conv_size - 1)
        return State(values * self.key_size, conv, self.state_bytes, self.conv_size - 1)

    @property
    def activation_width(self) -> int:
        """Queries, keys, values, gate and output."""
        return 2 * self._keys + 3 * self.n_value_heads * self.value_size


@dataclass(frozen=True, slots=True)
class KimiDelta(Mixer):
    """Kimi delta attention: the delta rule with a gate for every channel, its state in fp32.

    Attributes:
        n_heads: Heads.
        head_size: Elements of a head.
        conv_size: Tokens of the causal convolution.
    """

    kind: ClassVar[str] = "kimi-delta"
    formula: ClassVar[str] = "h e e elements in fp32, and 3 h e (w - 1), a sequence"
    source: ClassVar[str] = "arXiv:2510.26692; vLLM, MambaStateDtypeCalculator.kda_state_dtype"

    n_heads: int
    head_size: int
    conv_size: int

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the layer of a configuration."""
        inner = fields.inner("linear_attn_config")
        return cls(
            n_heads=inner.size("num_heads", "linear_num_heads"),
            head_size=inner.size("head_dim", "linear_head_dim"),
            conv_size=inner.size("short_conv_kernel_size", "linear_conv_kernel_dim", default=4),
        )

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the projections, the two gates and the convolutions."""
        size, e, name = self.n_heads * self.head_size, self.head_size, "self_attn."
        found = [Part(f"{name}{one}_proj", "attention", size, d) for one in "qkv"]
        for gate in "fg":
            found += [
                Part(f"{name}{gate}_a_proj", "attention", e, d, split="whole"),
                Part(f"{name}{gate}_b_proj", "attention", size, e),
            ]
        vectors = 3 * size * self.conv_size + size + self.n_heads + e
        return (
            *found,
            Part(f"{name}b_proj", "attention", self.n_heads, d),
            Part(f"{name}o_proj", "attention", d, size),
            Part(f"{name}vectors", "norms", vectors, is_plain=True),
        )

    @property
    def state(self) -> State:
        """A matrix for each head, and the windows of three convolutions."""
        size = self.n_heads * self.head_size
        return State(size * self.head_size, 3 * size * (self.conv_size - 1), 4, self.conv_size - 1)

    @property
    def activation_width(self) -> int:
        """Queries, keys, values, two gates and output."""
        return 6 * self.n_heads * self.head_size


@dataclass(frozen=True, slots=True)
class LightningAttention(Mixer):
    """Lightning attention (MiniMax-01): linear attention with a fixed decay.

    Attributes:
        n_heads: Heads.
        head_size: Elements of a head.
    """

    kind: ClassVar[str] = "lightning"
    formula: ClassVar[str] = "h e e elements a sequence"
    source: ClassVar[str] = "arXiv:2501.08313 section 2.2; transformers 5.24, models/minimax"

    n_heads: int
    head_size: int

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the layer of a configuration."""
        n_heads = fields.size("num_attention_heads")
        size = fields.size("head_dim", default=0) or fields.size("hidden_size") // n_heads
        return cls(n_heads, size)

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return queries, keys and values in one, gate, output and norm."""
        size, name = self.n_heads * self.head_size, "self_attn."
        return (
            Part(f"{name}qkv_proj", "attention", 3 * size, d),
            Part(f"{name}output_gate", "attention", size, d),
            Part(f"{name}out_proj", "attention", d, size),
            Part(f"{name}norm", "norms", size, split="whole", is_plain=True),
        )

    @property
    def state(self) -> State:
        """A matrix for each head."""
        return State(self.n_heads * self.head_size**2, 0)

    @property
    def activation_width(self) -> int:
        """Queries, keys, values, gate and output."""
        return 5 * self.n_heads * self.head_size
