"""Defaults of transformers' configuration classes, written to ``catalog/model_defaults.json``.

``python -m scripts.model_defaults`` needs transformers, best in an environment of its own:
``pip install transformers``. Only fields that decide memory are kept.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jeton.catalog.model_families import known_types

OUTPUT = Path(__file__).resolve().parents[1] / "python/jeton/catalog/model_defaults.json"

FIELDS = [
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "intermediate_size_mlp",
    "moe_intermediate_size",
    "tie_word_embeddings",
    "attention_bias",
    "mlp_bias",
    "max_position_embeddings",
    "model_max_length",
    "sliding_window",
    "sliding_window_pattern",
    "use_sliding_window",
    "max_window_layers",
    "global_head_dim",
    "attention_k_eq_v",
    "num_global_key_value_heads",
    "num_kv_shared_layers",
    "hidden_size_per_layer_input",
    "vocab_size_per_layer_input",
    "use_double_wide_mlp",
    "enable_moe_block",
    "top_k_experts",
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "moe_num_experts",
    "num_experts_per_tok",
    "moe_k",
    "n_shared_experts",
    "moe_num_shared_experts",
    "shared_expert_intermediate_size",
    "shared_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "moe_latent_size",
    "first_k_dense_replace",
    "moe_layer_start_index",
    "moe_layer_end_index",
    "moe_layer_interval",
    "decoder_sparse_step",
    "interleave_moe_layer_step",
    "num_dense_layers",
    "linear_conv_kernel_dim",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_num_heads",
    "linear_head_dim",
    "kv_lora_rank",
    "q_lora_rank",
    "qk_rope_head_dim",
    "qk_nope_head_dim",
    "v_head_dim",
    "index_topk",
    "index_n_heads",
    "index_head_dim",
    "o_groups",
    "o_lora_rank",
    "hc_mult",
    "layers_block_type",
    "ssm_state_size",
    "mamba_num_heads",
    "mamba_head_dim",
    "n_groups",
    "expand",
    "conv_kernel",
    "use_conv_bias",
    "mamba_ssm_cache_dtype",
    "mamba_n_heads",
    "mamba_n_groups",
    "mamba_d_state",
    "mamba_d_head",
    "mamba_d_conv",
    "mamba_expand",
    "mamba_d_ssm",
    "mamba_rms_norm",
    "mamba_conv_bias",
    "attn_layer_period",
    "attn_layer_offset",
    "expert_layer_period",
    "expert_layer_offset",
    "conv_L_cache",
    "conv_bias",
    "block_multiple_of",
    "block_ffn_dim_multiplier",
    "block_auto_adjust_ff_dim",
    "attention_chunk_size",
    "no_rope_layer_interval",
    "swa_head_dim",
    "swa_num_attention_heads",
    "swa_num_key_value_heads",
    "swa_v_head_dim",
    "attn_output_gate",
    "use_qk_norm",
    "use_bias",
    "state_size",
    "time_step_rank",
    "d_model",
    "n_embd",
    "n_layer",
    "n_head",
    "n_positions",
    "n_inner",
    "ffn_dim",
]
"""Fields that are read; `num_nextn_predict_layers` is left out: files say it where it is so."""

INSIDE: dict[str, dict[str, Any]] = {
    "gemma4_text": {"global_head_dim": 512},
    "gemma4_unified_text": {"global_head_dim": 512},
}
"""Defaults that a class has in its code instead of a field."""


def main() -> None:
    """Write the file."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    found: dict[str, dict[str, Any]] = {}
    for name in known_types():
        try:
            config = CONFIG_MAPPING[name]
        except KeyError:
            continue
        fields = config.__dataclass_fields__
        if "text_config" in fields:
            continue
        found[name] = {
            field: fields[field].default
            for field in FIELDS
            if field in fields
            and isinstance(fields[field].default, bool | int | float | str | list)
        } | INSIDE.get(name, {})
    head = {
        "schema": "jeton.catalog.model-defaults/1",
        "source": f"transformers {transformers.__version__}, configuration classes",
        "date": datetime.now(tz=UTC).date().isoformat(),
        "defaults": {},
    }
    lines = [f'  "{name}": {json.dumps(found[name])}' for name in sorted(found)]
    text = json.dumps(head, indent=1).replace('"defaults": {}', '"defaults": {\n%s\n }')
    OUTPUT.write_text(text % ",\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
