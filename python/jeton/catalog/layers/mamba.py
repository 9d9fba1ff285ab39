"""Selective state spaces: Mamba (1) and Mamba-2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers.base import Mixer, Part, State
from jeton.catalog.model_families import ModelClass


@dataclass(frozen=True, slots=True)
class Mamba(Mixer):
    """A selective state space with a state for every channel.

    Attributes:
        inner_size: Channels.
        state_size: Elements of a channel's state.
        conv_size: Tokens of the causal convolution.
        time_step_rank: Rank of the step size.
        part_norms: True if step size, input and output have norms, as in Jamba.
    """

    kind: ClassVar[str] = "mamba"
    formula: ClassVar[str] = "c s + c (w - 1) elements a sequence: channels, state, convolution"
    source: ClassVar[str] = "arXiv:2312.00752 section 3; arXiv:2403.19887 (norms)"

    inner_size: int
    state_size: int
    conv_size: int
    time_step_rank: int
    part_norms: bool

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the state space of a configuration."""
        hidden = fields.size("hidden_size", "d_model")
        inner = fields.size("mamba_expand", "expand", default=2) * hidden
        rank = fields.values.get("mamba_dt_rank", fields.values.get("time_step_rank", "auto"))
        alone = family.name in ("mamba", "falcon_mamba")
        return cls(
            inner_size=fields.size("intermediate_size", default=inner) if alone else inner,
            state_size=fields.size("mamba_d_state", "state_size", default=16),
            conv_size=fields.size("mamba_d_conv", "conv_kernel", default=4),
            time_step_rank=rank if isinstance(rank, int) and rank > 0 else -(-hidden // 16),
            part_norms=family.name == "jamba",
        )

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the projections, the convolution and the state's parameters."""
        c, s, t = self.inner_size, self.state_size, self.time_step_rank
        vectors = c * self.conv_size + c * (s + 3) + (t + 2 * s) * self.part_norms
        return (
            Part("mamba.in_proj", "attention", 2 * c, d),
            Part("mamba.x_proj", "attention", t + 2 * s, c),
            Part("mamba.dt_proj", "attention", c, t),
            Part("mamba.out_proj", "attention", d, c),
            Part("mamba.vectors", "norms", vectors, is_plain=True),
        )

    @property
    def state(self) -> State:
        """The channels' states, and the window of the convolution."""
        return State(
            self.inner_size * self.state_size,
            self.inner_size * (self.conv_size - 1),
            conv_tokens=self.conv_size - 1,
        )

    @property
    def activation_width(self) -> int:
        """Both halves of the input projection, and the output."""
        return 3 * self.inner_size


@dataclass(frozen=True, slots=True)
class Mamba2(Mixer):
    """A state space with heads, whose groups share input and output matrices.

    Attributes:
        n_heads: Heads.
        head_size: Channels of a head.
        n_groups: Groups that share input and output.
        state_size: Elements of a channel's state.
        conv_size: Tokens of the causal convolution.
        has_norm: True if the output has a norm.
        conv_bias: True if the convolution has a bias.
        state_bytes: Bytes of an element of the state; 0: the model's own.
    """

    kind: ClassVar[str] = "mamba2"
    formula: ClassVar[str] = "h p s + (h p + 2 g s)(w - 1) elements a sequence"
    source: ClassVar[str] = "arXiv:2405.21060 section 8; transformers 5.24, models/nemotron_h"

    n_heads: int
    head_size: int
    n_groups: int
    state_size: int
    conv_size: int
    has_norm: bool = True
    conv_bias: bool = True
    state_bytes: int = 0

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the state space of a configuration."""
        hidden = fields.size("hidden_size", "d_model")
        n_heads = fields.size("mamba_num_heads", "mamba_n_heads", "num_heads")
        inner = fields.size("mamba_d_ssm", default=0)
        inner = inner or fields.size("mamba_expand", "expand", default=2) * hidden
        size = fields.values.get("mamba_head_dim", fields.values.get("mamba_d_head"))
        size = size if size is not None else fields.values.get("head_dim")
        return cls(
            n_heads=n_heads,
            head_size=size if isinstance(size, int) and size > 0 else inner // n_heads,
            n_groups=fields.size("n_groups", "mamba_n_groups", "mamba_ngroups", default=1),
            state_size=fields.size("ssm_state_size", "mamba_d_state", "state_size"),
            conv_size=fields.size("conv_kernel", "mamba_d_conv", default=4),
            has_norm=fields.flag("mamba_rms_norm", default=True),
            conv_bias=fields.flag("use_conv_bias", "mamba_conv_bias", default=True),
            state_bytes=fields.state_bytes(),
        )

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the projections, the convolution and the state's parameters."""
        inner = self.n_heads * self.head_size
        channels = self._channels
        vectors = channels * (self.conv_size + self.conv_bias) + 3 * self.n_heads
        vectors += inner * self.has_norm
        return (
            Part("mamba.in_proj", "attention", inner + channels + self.n_heads, d),
            Part("mamba.out_proj", "attention", d, inner),
            Part("mamba.vectors", "norms", vectors, is_plain=True),
        )

    @property
    def _channels(self) -> int:
        return self.n_heads * self.head_size + 2 * self.n_groups * self.state_size

    @property
    def state(self) -> State:
        """The heads' states, and the window of the convolution."""
        elements = self.n_heads * self.head_size * self.state_size
        return State(
            elements,
            self._channels * (self.conv_size - 1),
            self.state_bytes,
            self.conv_size - 1,
        )

    @property
    def activation_width(self) -> int:
        """The input projection, and the output."""
        return 2 * self.n_heads * self.head_size + self._channels
