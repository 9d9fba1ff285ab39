"""Layers of a configuration by their cache: every token, a window, a state, or another layer's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.model_families import ModelClass

__all__ = ["LayerKind", "layer_kinds", "shared_cache_layers"]

LayerKind = Literal["full", "window", "linear"]
"""``window`` is a sliding window or a chunk; ``linear`` a state instead of keys and values."""

_NAMES: dict[str, LayerKind] = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "window",
    "chunked_attention": "window",
    "linear_attention": "linear",
    "mamba": "linear",
}


def layer_kinds(fields: ConfigFields, family: ModelClass, n_layers: int) -> list[LayerKind]:
    """Return the kind of every layer, from ``layer_types`` or by the family's rule.

    Raises:
        ModelConfigError: A list has another length than there are layers, or an unknown kind.
    """
    listed = fields.values.get("layer_types")
    if isinstance(listed, Sequence) and not isinstance(listed, str) and listed:
        if len(listed) != n_layers:
            raise fields.error("layer_types", f"has {len(listed)} entries for {n_layers} layers")
        for name in listed:
            if name not in _NAMES:
                raise fields.error("layer_types", f"names {name!r}, a layer that is not known here")
        return [_NAMES[name] for name in listed]
    if family.mixer is not None:
        return _hybrid(fields, family, n_layers)
    if family.chunked:
        return _chunked(fields, n_layers)
    if fields.values.get("sliding_window") is None:
        return ["full"] * n_layers
    return _windows(fields, family, n_layers)


def _hybrid(fields: ConfigFields, family: ModelClass, n_layers: int) -> list[LayerKind]:
    period = fields.size(
        "attn_layer_period", "full_attention_interval", default=family.attention_period
    )
    if not period:
        return ["linear"] * n_layers
    offset = fields.size("attn_layer_offset", default=period - 1)
    return ["full" if layer % period == offset % period else "linear" for layer in range(n_layers)]


def _chunked(fields: ConfigFields, n_layers: int) -> list[LayerKind]:
    """Layers with rotary positions attend to their chunk, the others to everything."""
    if fields.values.get("attention_chunk_size") is None:
        return ["full"] * n_layers
    rotary = fields.values.get("no_rope_layers")
    if isinstance(rotary, Sequence) and len(rotary) == n_layers:
        return ["window" if uses else "full" for uses in rotary]
    period = fields.size("no_rope_layer_interval", default=4) or 4
    return ["full" if (layer + 1) % period == 0 else "window" for layer in range(n_layers)]


def _windows(fields: ConfigFields, family: ModelClass, n_layers: int) -> list[LayerKind]:
    if family.windows == "switched" and not fields.flag("use_sliding_window", default=False):
        return ["full"] * n_layers
    if family.windows == "switched":
        first = fields.size("max_window_layers", default=0)
        return ["window" if layer >= first else "full" for layer in range(n_layers)]
    pattern = fields.values.get("sliding_window_pattern", family.window_period)
    if isinstance(pattern, str) and pattern:  # "LLLG": local, local, local, global
        return [
            "full" if pattern[layer % len(pattern)] == "G" else "window"
            for layer in range(n_layers)
        ]
    if isinstance(pattern, int) and pattern > 1:
        return ["full" if (layer + 1) % pattern == 0 else "window" for layer in range(n_layers)]
    return ["window"] * n_layers


def shared_cache_layers(fields: ConfigFields, kinds: Sequence[LayerKind]) -> tuple[int, ...]:
    """Return the layers that read another layer's cache.

    ``num_kv_shared_layers`` is the number of last layers that do (Gemma 3n), ``cla_share_factor``
    how many neighbours share one cache (arXiv:2405.12981).

    Raises:
        ModelConfigError: More layers share than there are.
    """
    n_layers = len(kinds)
    n_last = fields.size("num_kv_shared_layers", default=0)
    if n_last:
        if n_last >= n_layers:
            raise fields.error("num_kv_shared_layers", f"is {n_last} of {n_layers} layers")
        return tuple(range(n_layers - n_last, n_layers))
    factor = fields.size("cla_share_factor", default=1)
    if factor > 1 and fields.flag("use_cla", default=True):
        return tuple(layer for layer in range(n_layers) if layer % factor)
    return ()
