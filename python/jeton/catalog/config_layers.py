"""Layers of a configuration: the kind of each, and the MLP that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers import (
    LAYER_KINDS,
    DenseMlp,
    FullAttention,
    Layer,
    Mixer,
    Mixture,
    Mlp,
    Part,
)
from jeton.catalog.model_families import ModelClass
from jeton.errors import ModelConfigError

_NAMES: Final[dict[str, str]] = {
    "full_attention": "attention",
    "attention": "attention",
    "full": "attention",
    "indexed_attention": "attention",
    "minimax_m3_sparse": "attention",
    "sliding_attention": "window",
    "sliding_window": "window",
    "swa": "window",
    "chunked_attention": "chunked",
    "linear_attention": "mixer",
    "mamba": "mixer",
    "hybrid": "attention+mixer",
    "conv": "convolution",
    "mlp": "none",
    "moe": "none",
    "compressed_sparse_attention": "compressed",
    "heavily_compressed_attention": "heavily-compressed",
}
"""Names of ``layer_types`` and of other lists, and what they stand for."""

_LETTERS: Final = {"M": "mixer", "*": "attention", "-": "mlp", "E": "moe"}
"""Letters of Nemotron-H's ``hybrid_override_pattern``."""

_LISTS: Final = ("layer_types", "layers_block_type", "block_types", "layer_block_types")


def layers_of(fields: ConfigFields, family: ModelClass) -> tuple[Layer, ...]:
    """Return the layers that a configuration describes.

    Raises:
        ModelConfigError: A list has another length than there are layers, a kind is not known, or
            a field is missing.
    """
    names = _names(fields, family)
    mixers: dict[str, Mixer] = {}
    found = []
    n_layers = len(names)
    shared = _shared(fields, n_layers)
    mlps: dict[tuple[Any, ...], Mlp | None] = {}
    d = fields.size("hidden_size", "n_embd", "d_model", "model_dim")
    for place, name in enumerate(names):
        chosen = []
        for kind in _kinds(name, fields, family):
            if kind not in mixers:
                mixers[kind] = LAYER_KINDS[kind].read(fields, family)
            chosen.append(mixers[kind])
        reads = place in shared
        if reads and family.name.startswith("gemma4"):
            chosen = [
                replace(one, has_kv=False) if isinstance(one, FullAttention) else one
                for one in chosen
            ]
        key = (name, _is_sparse(fields, family, place, n_layers), reads)
        if key not in mlps:
            mlps[key] = _mlp(fields, family, key[0], is_sparse=key[1], reads=key[2])
        norm = 2 * d if family.norm == "layernorm" else d
        n_norms = family.n_norms
        mixture = mlps[key]
        if isinstance(mixture, Mixture) and mixture.dense_width and family.n_norms == 4:
            n_norms += 3  # Gemma 4 has norms for the dense and the routed part.
        found.append(
            Layer(
                mixers=tuple(chosen),
                mlp=mixture,
                norms=n_norms * norm,
                reads_other_cache=reads,
                extra=_extra(fields, family, d),
            )
        )
    return tuple(found)


def _names(fields: ConfigFields, family: ModelClass) -> list[str]:
    """Return what every layer is called, from a list of the file or by the family's rule."""
    pattern = fields.values.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        unknown = next((one for one in pattern if one not in _LETTERS), None)
        if unknown is not None:
            raise fields.error("hybrid_override_pattern", f"has the letter {unknown!r}")
        return [_LETTERS[one] for one in pattern]
    if family.name == "nemotron_h" and isinstance(fields.get("layers_block_type"), list):
        return [_named(fields, "layers_block_type", one) for one in fields.get("layers_block_type")]
    n_layers = fields.size("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if n_layers > 4096:
        raise fields.error("num_hidden_layers", f"is {n_layers}, expected at most 4,096")
    for name in _LISTS:
        listed = fields.values.get(name)
        if isinstance(listed, list) and listed:
            if len(listed) != n_layers:
                raise fields.error(name, f"has {len(listed)} entries for {n_layers} layers")
            return [_named(fields, name, one) for one in listed]
    numbers = _numbered(fields, family, n_layers)
    if numbers is not None:
        return numbers
    if family.mixer == "falcon-h1":
        return ["attention+mixer"] * n_layers
    if family.mixer is not None:
        return _hybrid(fields, family, n_layers)
    if family.chunked:
        return _chunked(fields, n_layers)
    if fields.get("sliding_window") is None and fields.get("sliding_window_size") is None:
        return ["attention"] * n_layers
    return _windows(fields, family, n_layers)


def _numbered(fields: ConfigFields, family: ModelClass, n_layers: int) -> list[str] | None:
    """Return the names where the file lists layers by number; None where it does not."""
    inner = fields.values.get("linear_attn_config")
    if isinstance(inner, dict) and isinstance(inner.get("full_attn_layers"), list):
        full = {one - 1 for one in inner["full_attn_layers"] if isinstance(one, int)}
        return ["attention" if place in full else "mixer" for place in range(n_layers)]
    full_list = fields.values.get("full_attn_idxs")
    if isinstance(full_list, list):
        return ["attention" if i in full_list else "convolution" for i in range(n_layers)]
    for name, meanings in (
        ("attn_type_list", {0: "mixer", 1: "attention"}),
        ("hybrid_layer_pattern", {0: "attention", 1: "window"}),
        ("compress_ratios", {0: "windowed-shared", 4: "compressed", 128: "heavily-compressed"}),
    ):
        listed = fields.values.get(name)
        if isinstance(listed, list) and listed:
            if len(listed) < n_layers:
                raise fields.error(name, f"has {len(listed)} entries for {n_layers} layers")
            for one in listed:
                if one not in meanings:
                    raise fields.error(name, f"has {str(one)[:20]!r}, which is not known here")
            return [meanings[one] for one in listed[:n_layers]]
    if family.name == "deepseek_v4":
        rest = ["compressed" if i % 2 else "heavily-compressed" for i in range(n_layers - 2)]
        return ["heavily-compressed"] * min(2, n_layers) + rest
    return None


def _named(fields: ConfigFields, name: str, entry: object) -> str:
    if not isinstance(entry, str) or entry not in _NAMES:
        raise ModelConfigError(
            f"{fields.where}: field {name!r} names {str(entry)[:40]!r}, a layer that is not known "
            f"here; known are {', '.join(LAYER_KINDS)}\n"
            "hint: state what it takes: --kv-bytes-per-token, --state-bytes-per-request, "
            "--weights-bytes",
            field=name,
        )
    return "moe" if entry == "moe" else "mlp" if entry == "mlp" else _NAMES[entry]


def _kinds(name: str, fields: ConfigFields, family: ModelClass) -> list[str]:
    """Return the kinds of mixers that a layer of this name has."""
    found = []
    for one in name.split("+"):
        if one in LAYER_KINDS:
            found.append(one)
        elif one == "attention":
            found.append(_attention(fields))
        elif one == "window":
            found.append("windowed-shared" if family.name == "deepseek_v4" else "sliding")
        elif one == "mixer":
            mixer = "mamba2" if family.mixer == "falcon-h1" else family.mixer
            if mixer is None:
                raise fields.error(
                    "layer_types", "names linear attention of a kind that is not known here"
                )
            found.append(mixer)
    return found


def _attention(fields: ConfigFields) -> str:
    if not fields.get("kv_lora_rank"):
        return "full"
    return "sparse" if fields.get("index_topk") else "latent"


def _hybrid(fields: ConfigFields, family: ModelClass, n_layers: int) -> list[str]:
    if family.name == "minimax":
        return ["mixer" if i % 2 else "attention" for i in range(n_layers)]
    if family.name == "kimi_linear":
        return ["attention" if i and i % 4 == 0 else "mixer" for i in range(n_layers)]
    listed = fields.values.get("attn_layer_indices")
    if isinstance(listed, list):
        return ["attention" if i in listed else "mixer" for i in range(n_layers)]
    period = fields.size(
        "attn_layer_period", "full_attention_interval", default=family.attention_period
    )
    if not period:
        return ["mixer"] * n_layers
    offset = fields.size("attn_layer_offset", default=period - 1)
    return ["attention" if i % period == offset % period else "mixer" for i in range(n_layers)]


def _chunked(fields: ConfigFields, n_layers: int) -> list[str]:
    """Layers with rotary positions attend to their chunk, the others to everything."""
    if fields.get("attention_chunk_size") is None:
        return ["attention"] * n_layers
    rotary = fields.values.get("no_rope_layers")
    if isinstance(rotary, Sequence) and len(rotary) == n_layers:
        return ["chunked" if uses else "attention" for uses in rotary]
    period = fields.size("no_rope_layer_interval", default=4) or 4
    return ["attention" if (i + 1) % period == 0 else "chunked" for i in range(n_layers)]


def _windows(fields: ConfigFields, family: ModelClass, n_layers: int) -> list[str]:
    if family.windows == "switched":
        if not fields.flag("use_sliding_window", default=False):
            return ["attention"] * n_layers
        first = fields.size("max_window_layers", default=0)
        return ["window" if i >= first else "attention" for i in range(n_layers)]
    pattern = fields.get("sliding_window_pattern") or fields.get("_sliding_window_pattern")
    pattern = pattern or family.window_period
    if isinstance(pattern, str) and pattern:  # "LLLG": local, local, local, global
        return [
            "attention" if pattern[i % len(pattern)] == "G" else "window" for i in range(n_layers)
        ]
    if isinstance(pattern, int) and pattern > 1:
        found = ["attention" if (i + 1) % pattern == 0 else "window" for i in range(n_layers)]
        if family.name.startswith("gemma4"):
            found[-1] = "attention"
        return found
    return ["window"] * n_layers


def _shared(fields: ConfigFields, n_layers: int) -> frozenset[int]:
    """Return the layers that read another layer's cache.

    ``num_kv_shared_layers`` is the number of last layers that do (Gemma 3n and 4),
    ``cla_share_factor`` how many neighbours share one cache (arXiv:2405.12981).

    Raises:
        ModelConfigError: More layers share than there are.
    """
    n_last = fields.size("num_kv_shared_layers", default=0)
    if n_last:
        if n_last >= n_layers:
            raise fields.error("num_kv_shared_layers", f"is {n_last} of {n_layers} layers")
        return frozenset(range(n_layers - n_last, n_layers))
    factor = fields.size("cla_share_factor", default=1)
    if factor > 1 and fields.flag("use_cla", default=True):
        return frozenset(i for i in range(n_layers) if i % factor)
    return frozenset()


def _is_sparse(fields: ConfigFields, family: ModelClass, place: int, n_layers: int) -> bool:
    """Return whether a layer of a mixture has experts."""
    listed = fields.values.get("mlp_layer_types")
    if isinstance(listed, list) and place < len(listed):
        return str(listed[place]) != "dense"
    listed = fields.values.get("moe_layer_freq")
    if isinstance(listed, list):
        return place < len(listed) and bool(listed[place])
    period = fields.size("expert_layer_period", default=0)
    if period:  # Jamba
        return place % period == fields.size("expert_layer_offset", default=0) % period
    if fields.get("moe_layer_start_index") is not None:  # ERNIE
        end = fields.get("moe_layer_end_index")
        last = end if isinstance(end, int) and end >= 0 else n_layers - 1
        first = fields.size("moe_layer_start_index", default=0)
        step = fields.size("moe_layer_interval", default=1) or 1
        return first <= place <= last and (place + 1) % step == 0
    first = fields.get("first_k_dense_replace")
    if first is None:
        first = fields.get("num_dense_layers")
    if first is None:
        first = fields.get("first_k_dense_layers")
    if isinstance(first, int):
        frequency = fields.size("moe_layer_freq", default=1) or 1
        return place >= first and place % frequency == 0
    listed = fields.values.get("moe_layers")
    if isinstance(listed, list) and listed:
        return place in listed
    dense = fields.values.get("mlp_only_layers") or ()
    step = fields.size("decoder_sparse_step", "interleave_moe_layer_step", default=1) or 1
    return place not in dense and (place + 1) % step == 0


def _mlp(
    fields: ConfigFields,
    family: ModelClass,
    name: str,
    *,
    is_sparse: bool,
    reads: bool,
) -> Mlp | None:
    alone = family.mlp_in_layers_of_its_own
    if alone and name not in ("mlp", "moe"):
        return None
    if family.name in ("mamba", "falcon_mamba", "mamba2"):
        return None
    n_routed = fields.size(
        "n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts", default=0
    )
    is_mixture = n_routed > 1 and is_sparse and name != "mlp"
    if alone:
        is_mixture = name == "moe"
    if family.name.startswith("gemma4"):
        is_mixture = fields.flag("enable_moe_block", default=False)
    if is_mixture:
        return _mixture(fields, family, n_routed)
    width = fields.size("intermediate_size_mlp", default=0)
    hidden = fields.size("hidden_size", "n_embd", "d_model", "model_dim")
    if not width and family.name.startswith("granitemoehybrid"):
        width = fields.size("shared_intermediate_size", default=0)
    width = width or fields.size(
        "intermediate_size",
        "n_inner",
        "ffn_dim",
        "ffn_hidden_size",
        "block_ff_dim",
        default=4 * hidden if family.wide_mlp else None,
    )
    if reads and fields.flag("use_double_wide_mlp", default=False):
        width *= 2
    if fields.flag("block_auto_adjust_ff_dim", default=False):  # LFM2
        multiple = fields.size("block_multiple_of", default=256) or 1
        factor = fields.get("block_ffn_dim_multiplier")
        width = int((factor if isinstance(factor, int | float) else 1) * (2 * width // 3))
        width = -(-width // multiple) * multiple
    return DenseMlp(
        width,
        is_gated=family.gated_mlp,
        has_bias=fields.flag("mlp_bias", "use_bias", default=family.mlp_bias),
        name="mixer" if alone else "mlp",
    )


def _mixture(fields: ConfigFields, family: ModelClass, n_routed: int) -> Mixture:
    width = fields.size("moe_intermediate_size", "expert_ffn_hidden_size", default=0)
    width = width or fields.size("intermediate_size", "ffn_hidden_size")
    n_shared = fields.size(
        "n_shared_experts",
        "num_shared_experts",
        "num_shared_expert",
        "moe_num_shared_experts",
        default=family.n_shared,
    )
    shared = fields.size(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        default=0,
    )
    if family.name == "nemotron_h":
        shared *= n_shared
    shared = shared or n_shared * width
    n_active = fields.size(
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "moe_topk",
        "moe_k",
        "top_k_experts",
    )
    if n_active > n_routed:
        raise fields.error("num_experts_per_tok", f"is {n_active} of {n_routed} experts")
    is_gemma = family.name.startswith("gemma4")
    hidden = fields.size("hidden_size", "n_embd", "d_model", "model_dim")
    return Mixture(
        n_routed=n_routed,
        n_active=n_active,
        width=width,
        n_shared=0 if is_gemma else n_shared or int(shared > 0),
        shared_width=0 if is_gemma else shared,
        is_gated=family.gated_mlp,
        has_bias=fields.flag("mlp_bias", default=family.mlp_bias),
        router_bias=family.router_bias or fields.values.get("topk_method") == "noaux_tc",
        shared_gate=bool(shared) and family.shared_gate,
        latent_size=fields.size("moe_latent_size", default=0),
        dense_width=fields.size("intermediate_size") if is_gemma else 0,
        extra_norms=n_routed + hidden if is_gemma else 0,
        name="mixer" if family.mlp_in_layers_of_its_own else "mlp",
    )


def _extra(fields: ConfigFields, family: ModelClass, d: int) -> tuple[Part, ...]:
    """Return a layer's tensors beside mixer and MLP."""
    if family.name == "deepseek_v4":
        n = fields.size("hc_mult", default=4)
        wide = (2 + n) * n
        return (
            Part("hc.fn", "gate", 2 * wide, n * d, split="whole", is_plain=True),
            Part("hc.vectors", "norms", 2 * (wide + 3), split="whole", is_plain=True),
        )
    per_layer = fields.size("hidden_size_per_layer_input", default=0)
    if family.name.startswith("gemma4"):
        found = [Part("layer_scalar", "norms", 1, split="whole", is_plain=True)]
        if per_layer:
            found += [
                Part("per_layer_input_gate", "mlp", per_layer, d, split="whole"),
                Part("per_layer_projection", "mlp", d, per_layer, split="whole"),
                Part("post_per_layer_input_norm", "norms", d, split="whole", is_plain=True),
            ]
        return tuple(found)
    return ()
