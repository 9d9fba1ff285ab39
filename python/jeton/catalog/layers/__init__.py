"""Kinds of layers, and what each caches, keeps and weighs.

A new kind is a file with a `Mixer`, and a line in `LAYER_KINDS`; `config_layers` says which names
of a ``config.json`` mean it.
"""

from __future__ import annotations

from jeton.catalog.layers.attention import ChunkedAttention, FullAttention, SlidingAttention
from jeton.catalog.layers.base import CacheRow, Layer, Mixer, Mlp, Pairs, Part, Role, Split, State
from jeton.catalog.layers.compressed import (
    CompressedAttention,
    HeavilyCompressedAttention,
    WindowedSharedAttention,
)
from jeton.catalog.layers.convolution import ShortConvolution
from jeton.catalog.layers.encoder import BidirectionalAttention, CrossAttention
from jeton.catalog.layers.latent import LatentAttention, SparseLatentAttention
from jeton.catalog.layers.linear import GatedDelta, KimiDelta, LightningAttention
from jeton.catalog.layers.mamba import Mamba, Mamba2
from jeton.catalog.layers.mlp import DenseMlp, Mixture

__all__ = [
    "LAYER_KINDS",
    "BidirectionalAttention",
    "CacheRow",
    "CrossAttention",
    "DenseMlp",
    "FullAttention",
    "LatentAttention",
    "Layer",
    "Mixer",
    "Mixture",
    "Mlp",
    "Pairs",
    "Part",
    "Role",
    "SlidingAttention",
    "Split",
    "State",
]

LAYER_KINDS: dict[str, type[Mixer]] = {
    one.kind: one
    for one in (
        FullAttention,
        SlidingAttention,
        ChunkedAttention,
        LatentAttention,
        SparseLatentAttention,
        WindowedSharedAttention,
        CompressedAttention,
        HeavilyCompressedAttention,
        Mamba,
        Mamba2,
        GatedDelta,
        KimiDelta,
        LightningAttention,
        ShortConvolution,
        BidirectionalAttention,
        CrossAttention,
    )
}
"""Mixers by name; each has its formula and source."""
