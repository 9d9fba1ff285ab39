"""Short convolutions instead of attention (LFM2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers.base import Mixer, Part, State
from jeton.catalog.model_families import ModelClass


@dataclass(frozen=True, slots=True)
class ShortConvolution(Mixer):
    """A gated causal convolution over a few tokens.

    Attributes:
        channels: Channels: the hidden size.
        conv_size: Tokens of the convolution.
        has_bias: True if the projections and the convolution have a bias.
    """

    kind: ClassVar[str] = "convolution"
    formula: ClassVar[str] = "d (w - 1) elements a sequence"
    source: ClassVar[str] = "transformers 5.24, models/lfm2 (Lfm2ShortConv)"

    channels: int
    conv_size: int
    has_bias: bool = False

    @classmethod
    def read(cls, fields: ConfigFields, family: ModelClass) -> Self:
        """Return the layer of a configuration."""
        return cls(
            fields.size("hidden_size"),
            fields.size("conv_L_cache"),
            fields.flag("conv_bias", default=False),
        )

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return both projections and the convolution."""
        vectors = self.channels * self.conv_size + 5 * self.channels * self.has_bias
        return (
            Part("conv.in_proj", "attention", 3 * self.channels, d),
            Part("conv.out_proj", "attention", d, self.channels),
            Part("conv.vectors", "norms", vectors, is_plain=True),
        )

    @property
    def state(self) -> State:
        """The tokens that the convolution still needs."""
        return State(0, self.channels * (self.conv_size - 1), conv_tokens=self.conv_size - 1)

    @property
    def activation_width(self) -> int:
        """The input projection and the output."""
        return 4 * self.channels
