"""Tensors outside of a model's layers: towers, further predicted tokens, per-layer embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers import Layer, Part

_TOWERS: Final = ("vision_config", "vit_config", "audio_config", "speech_config")


def extra_parts(
    config: Mapping[str, Any], fields: ConfigFields, layers: tuple[Layer, ...], d: int
) -> tuple[Part, ...]:
    """Return the tensors beside layers and tables.

    A tower is counted as a plain transformer of its sizes: ``L (4 h^2 + 2 h m)`` with patches,
    positions and a merger of two matrices; within some percent of the published ones, which a
    folder with the tensors gives exactly.
    """
    found: list[Part] = []
    per_layer = fields.size("hidden_size_per_layer_input", default=0)
    if per_layer and layers:
        rows = fields.size("vocab_size_per_layer_input", default=fields.size("vocab_size"))
        width = len(layers) * per_layer
        found += [
            Part("embed_tokens_per_layer", "embedding", rows, width),
            Part("per_layer_model_projection", "mlp", width, d),
            Part("per_layer_projection_norm", "norms", per_layer, split="whole", is_plain=True),
        ]
    if fields.get("hc_mult"):  # DeepSeek-V4's hyper-connections end in a head of their own.
        n = fields.size("hc_mult")
        found += [
            Part("hc_head.fn", "gate", n, n * d, split="whole", is_plain=True),
            Part("hc_head.vectors", "norms", n + 1, split="whole", is_plain=True),
        ]
    n_more = fields.size(
        "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", default=0
    )
    if 0 < n_more <= 16 and layers:
        last = next((one for one in reversed(layers) if one.mixers and one.attends), layers[-1])
        whole = last if last.mlp is not None else replace(last, mlp=_last_mlp(layers))
        for part in (*whole.parts(d), Part("eh_proj", "mtp", d, 2 * d)):
            found.append(
                replace(part, name=f"mtp.{part.name}", role="mtp", count=part.count * n_more)
            )
    for name in _TOWERS:
        tower = config.get(name)
        if isinstance(tower, Mapping) and tower:
            found += _tower(name, tower, d)
    return tuple(found)


def _last_mlp(layers: tuple[Layer, ...]) -> Any:
    return next((one.mlp for one in reversed(layers) if one.mlp is not None), None)


def _tower(name: str, tower: Mapping[str, Any], d: int) -> list[Part]:
    def size(*names: str) -> int:
        for one in names:
            value = tower.get(one)
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 24:
                return value
        return 0

    hidden = size("hidden_size", "embed_dim", "d_model", "width")
    n_layers = size("depth", "num_hidden_layers", "encoder_layers", "layers", "num_layers")
    if not hidden or not n_layers or n_layers > 1024:
        return []
    # Qwen2-VL says its own width `embed_dim` and the text's `hidden_size`.
    hidden = size("embed_dim") or hidden
    inner = size("intermediate_size", "mlp_dim", "encoder_ffn_dim")
    if not inner:
        ratio = tower.get("mlp_ratio", 4)
        inner = int(hidden * (ratio if isinstance(ratio, int | float) and 0 < ratio < 64 else 4))
    gated = 3 if tower.get("hidden_act") == "silu" else 2
    label = name.removesuffix("_config")
    patch = size("patch_size", "num_mel_bins") or 14
    merged = hidden * (size("spatial_merge_size") or 1) ** 2
    return [
        Part(f"{label}.attention", "vision", 4 * hidden, hidden, count=n_layers),
        Part(f"{label}.mlp", "vision", gated * inner, hidden, count=n_layers),
        Part(f"{label}.patches", "vision", hidden, 3 * patch * patch),
        Part(f"{label}.merger", "vision", merged + d, merged),
    ]
