"""Shape of any model from its ``config.json``, as Hugging Face's transformers writes it.

Read are the fields that memory and compute depend on: layers, heads, windows, latents, experts,
states, and how the weights are quantized. The defaults of a class for missing fields are in
`jeton.catalog.model_families`. Where a configuration has a part whose memory is not known here
(per-layer embeddings, heads that differ by layer ...), it is refused by name: a shape that is half
right would be a wrong capacity.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.config_layers import layer_kinds, shared_cache_layers
from jeton.catalog.config_weights import published_format, weight_file_bytes
from jeton.catalog.model_facts import (
    AttentionKind,
    Experts,
    LatentAttention,
    ModelFacts,
    RecurrentLayers,
    SparseIndex,
)
from jeton.catalog.model_families import ModelClass, family_of
from jeton.errors import ModelConfigError

__all__ = ["model_from_config"]

_MAX_BYTES = 4 << 20
"""A configuration is some kilobytes; a larger file is none."""

_REFUSED = {
    "hidden_size_per_layer_input": "embeddings of their own for every layer",
    "global_head_dim": "another head size in the layers with full attention",
    "block_configs": "another shape in every layer",
    "layers_block_type": "a list of mixers by layer",
    "hybrid_override_pattern": "a list of mixers by layer",
    "attn_type_list": "a list of attention kinds by layer",
    "hybrid_layer_pattern": "a list of attention kinds by layer",
    "compress_ratios": "a cache compressed by another ratio in every layer",
    "linear_attn_config": "linear attention of a kind that is not known here",
    "mamba_n_heads": "Mamba-2 layers",
    "ssm_cfg": "state space layers of a kind that is not known here",
    "wkv_head_size": "recurrent layers of RWKV",
}
"""Fields of shapes whose memory is not known here, and what they say."""


def model_from_config(path: str | Path) -> ModelFacts:
    """Return the shape of a model from its folder or its ``config.json``.

    Where the folder has safetensors files, the bytes of the weights are theirs. Models with images
    or sound are read as their text part.

    Raises:
        ModelConfigError: There is no configuration, a field is missing or no size, or the model has
            a part whose memory is not known here.
        OSError: A file cannot be read.
    """
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    config = _read(file)
    fields = ConfigFields(_text_part(config), str(file))
    family = family_of(fields)
    if config.get("is_encoder_decoder") or family.is_encoder_decoder:
        raise ModelConfigError(
            f"{file}: {family.name} is an encoder-decoder, which keeps a second cache for the text "
            "that it reads; only decoders are planned\n"
            "hint: name a decoder-only model",
            field="is_encoder_decoder",
        )
    for name, words in _REFUSED.items():
        if fields.values.get(name):
            raise ModelConfigError(
                f"{file}: the model has {words} (field {name!r}), whose memory is not known here\n"
                "hint: name a model of the catalog with the same shape (`jeton catalog models`)",
                field=name,
            )
    return _facts(file, config, fields, family)


def _facts(
    file: Path, config: Mapping[str, Any], fields: ConfigFields, family: ModelClass
) -> ModelFacts:
    n_layers = fields.size("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    hidden = fields.size("hidden_size", "n_embd", "d_model", "model_dim")
    kinds = layer_kinds(fields, family, n_layers)
    recurrent = _recurrent(fields, family, kinds.count("linear"), hidden)
    n_recurrent = 0 if recurrent is None else recurrent.n_layers
    latent = _latent(fields)
    n_heads, n_kv_heads, head_size = 1, 1, 1
    if n_recurrent < n_layers:
        n_heads = fields.size("num_attention_heads", "n_head", "n_heads")
        n_kv_heads = _kv_heads(fields, family, n_heads)
        own_size = hidden // n_heads if latent is None else latent.value_size
        head_size = fields.size("head_dim", default=own_size)
    experts = _experts(fields, family, n_layers)
    n_windowed = kinds.count("window")
    shared = shared_cache_layers(fields, kinds)
    folder = file.parent
    file_bytes = weight_file_bytes(folder)
    weights, weights_source = published_format(config, fields, str(file))
    name = folder.resolve().name if file.name == "config.json" else file.stem
    vocab_size = fields.size("vocab_size")
    return ModelFacts(
        name=name,
        folder=str(folder),
        aliases=(),
        n_parameters=0,
        n_active_parameters=0,
        hidden_size=hidden,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_size=head_size,
        intermediate_size=_mlp_width(fields, family, hidden, experts, recurrent, n_layers),
        mlp="gated" if family.gated_mlp else "plain",
        vocab_size=vocab_size,
        tied_embeddings=fields.flag("tie_word_embeddings", default=family.tied),
        context_tokens=fields.size(
            "max_position_embeddings",
            "n_positions",
            "max_sequence_length",
            "seq_length",
            "max_seq_len",
            default=family.context_tokens,
        ),
        attention=_attention(latent, n_heads, n_kv_heads),
        latent_attention=latent,
        sliding_window_tokens=_window(fields, family, kinds) if n_windowed else None,
        n_sliding_layers=n_windowed,
        experts=experts,
        position_table_tokens=(
            fields.size("n_positions", "max_position_embeddings") + family.extra_positions
            if family.learned_positions
            else 0
        ),
        norm=family.norm,
        n_norms_per_layer=family.n_norms,
        qk_norm="head" if fields.flag("use_qk_norm", default=False) else family.qk_norm,
        qkv_bias=fields.flag("attention_bias", "qkv_bias", "use_bias", default=family.qkv_bias),
        output_bias=(
            fields.flag("attention_bias", "use_bias", default=family.output_bias)
            if family.output_bias_follows
            else family.output_bias
        ),
        mlp_bias=fields.flag("mlp_bias", "use_bias", default=family.mlp_bias),
        attention_sinks=family.attention_sinks,
        tokenizer="",
        license="",
        source=f"{file}{family.note}",
        date=datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date(),
        recurrent=recurrent,
        attention_gate=family.attention_gate,
        weights=weights,
        weights_source=weights_source,
        weight_file_bytes=file_bytes,
        n_shared_cache_layers=len(shared),
        n_shared_sliding_layers=sum(kinds[layer] == "window" for layer in shared),
        sparse_index=_index(fields),
    )


def _read(file: Path) -> dict[str, Any]:
    if not file.exists():
        raise ModelConfigError(
            f"{file}: no such file\nhint: a model is a name (`jeton catalog models`), a folder "
            "with a config.json, or such a file"
        )
    if file.stat().st_size > _MAX_BYTES:
        raise ModelConfigError(
            f"{file}: larger than a configuration ({_MAX_BYTES:,} bytes)\n"
            "hint: give the model's config.json"
        )
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ModelConfigError(f"{file}: not JSON: {error}\nhint: fetch the file again") from error
    if not isinstance(config, dict):
        raise ModelConfigError(
            f"{file}: a JSON {type(config).__name__}, not an object\n"
            "hint: give the model's config.json"
        )
    return config


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    for name in ("text_config", "language_config", "llm_config", "thinker_config"):
        inner = config.get(name)
        if isinstance(inner, dict):
            part = _text_part(inner)
            outer: dict[str, Any] = {
                key: config[key]
                for key in ("tie_word_embeddings", "quantization_config")
                if key in config
            }
            return {**outer, **part}
    return config


def _kv_heads(fields: ConfigFields, family: ModelClass, n_heads: int) -> int:
    if fields.flag("multi_query", default=family.multi_query) and not fields.flag(
        "new_decoder_architecture", default=False
    ):
        return 1
    return fields.size(
        "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", default=n_heads
    )


def _attention(latent: LatentAttention | None, n_heads: int, n_kv_heads: int) -> AttentionKind:
    if latent is not None:
        return AttentionKind.LATENT
    if n_kv_heads == n_heads:
        return AttentionKind.MULTI_HEAD
    return AttentionKind.MULTI_QUERY if n_kv_heads == 1 else AttentionKind.GROUPED_QUERY


def _latent(fields: ConfigFields) -> LatentAttention | None:
    if not fields.values.get("kv_lora_rank"):
        return None
    return LatentAttention(
        kv_latent_size=fields.size("kv_lora_rank"),
        rotary_size=fields.size("qk_rope_head_dim"),
        query_latent_size=fields.size("q_lora_rank", default=0),
        nope_size=fields.size("qk_nope_head_dim"),
        value_size=fields.size("v_head_dim"),
    )


def _index(fields: ConfigFields) -> SparseIndex | None:
    if not fields.values.get("index_topk"):
        return None
    return SparseIndex(fields.size("index_n_heads"), fields.size("index_head_dim"))


def _experts(fields: ConfigFields, family: ModelClass, n_layers: int) -> Experts | None:
    n_routed = fields.size(
        "n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts", default=0
    )
    if n_routed <= 1:
        return None
    width = fields.size("moe_intermediate_size", "expert_ffn_hidden_size", default=0)
    width = width or fields.size("intermediate_size", "ffn_hidden_size")
    n_shared = fields.size("n_shared_experts", "num_shared_experts", default=family.n_shared)
    shared_width = fields.size("shared_expert_intermediate_size", default=0)
    if shared_width:
        if shared_width % width:
            raise fields.error(
                "shared_expert_intermediate_size",
                f"is {shared_width}, no multiple of an expert's {width}",
            )
        n_shared = shared_width // width
    return Experts(
        n_routed=n_routed,
        n_active=fields.size(
            "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk"
        ),
        n_shared=n_shared,
        intermediate_size=width,
        n_dense_layers=_dense_layers(fields, n_layers),
        router_bias=family.router_bias or fields.values.get("topk_method") == "noaux_tc",
        shared_gate=bool(shared_width) and family.shared_gate,
    )


def _dense_layers(fields: ConfigFields, n_layers: int) -> int:
    """Return how many layers of a mixture have a dense MLP."""
    values = fields.values
    period = fields.size("expert_layer_period", default=0)
    if period:  # Jamba
        offset = fields.size("expert_layer_offset", default=0)
        return sum(layer % period != offset % period for layer in range(n_layers))
    if values.get("first_k_dense_replace") is not None:
        first = fields.size("first_k_dense_replace", default=0)
        frequency = fields.size("moe_layer_freq", default=1)
        return sum(layer < first or layer % frequency != 0 for layer in range(n_layers))
    moe_layers = values.get("moe_layers")
    if isinstance(moe_layers, Sequence) and moe_layers:
        return n_layers - len(set(moe_layers))
    step = fields.size("decoder_sparse_step", "interleave_moe_layer_step", default=1) or 1
    dense = values.get("mlp_only_layers") or ()
    return sum(layer in dense or (layer + 1) % step != 0 for layer in range(n_layers))


def _mlp_width(
    fields: ConfigFields,
    family: ModelClass,
    hidden: int,
    experts: Experts | None,
    recurrent: RecurrentLayers | None,
    n_layers: int,
) -> int:
    if recurrent is not None and recurrent.n_layers == n_layers and not experts:
        return 0  # A Mamba block is mixer and MLP in one.
    width = fields.size("intermediate_size_mlp", default=0)
    default = 4 * hidden if family.wide_mlp else None
    if experts is not None and experts.n_dense_layers == 0:
        default = experts.intermediate_size
    return width or fields.size(
        "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", default=default
    )


def _window(fields: ConfigFields, family: ModelClass, kinds: Sequence[str]) -> int:
    name = "attention_chunk_size" if family.chunked else "sliding_window"
    window = fields.values.get(name)
    if window is None and not family.chunked:
        name, window = "sliding_window_size", fields.values.get("sliding_window_size")
    if window is None:
        n = kinds.count("window")
        raise fields.error(
            "attention_chunk_size" if family.chunked else "sliding_window",
            f"is missing, but {n} of {len(kinds)} layers attend to a window",
        )
    return fields.size(name)


def _recurrent(
    fields: ConfigFields, family: ModelClass, n_layers: int, hidden: int
) -> RecurrentLayers | None:
    if not n_layers:
        return None
    if family.mixer == "gated-delta":
        n_value_heads = fields.size("linear_num_value_heads")
        return RecurrentLayers(
            kind="gated-delta",
            n_layers=n_layers,
            value_size=n_value_heads * fields.size("linear_value_head_dim"),
            state_size=fields.size("linear_key_head_dim"),
            key_size=fields.size("linear_num_key_heads") * fields.size("linear_key_head_dim"),
            n_value_heads=n_value_heads,
            conv_size=fields.size("linear_conv_kernel_dim"),
            time_step_rank=0,
        )
    if family.mixer == "mamba":
        inner = fields.size("mamba_expand", "expand", default=2) * hidden
        rank = fields.values.get("mamba_dt_rank", fields.values.get("time_step_rank", "auto"))
        return RecurrentLayers(
            kind="mamba",
            n_layers=n_layers,
            value_size=fields.size("intermediate_size", default=inner)
            if family.name in ("mamba", "falcon_mamba")
            else inner,
            state_size=fields.size("mamba_d_state", "state_size", default=16),
            key_size=0,
            n_value_heads=0,
            conv_size=fields.size("mamba_d_conv", "conv_kernel", default=4),
            time_step_rank=-(-hidden // 16) if rank == "auto" else int(rank),
            part_norms=family.name == "jamba",
        )
    raise fields.error("layer_types", "names linear attention of a kind that is not known here")
