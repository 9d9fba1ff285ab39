"""Shape of a model from a GGUF file: its keys as a configuration, its tensors as bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from jeton.catalog.model_config import facts_of
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.tensor_bytes import summed
from jeton.checkpoint.gguf_file import GgufFile, read_gguf_file
from jeton.errors import ModelConfigError

_TYPES: Final = {
    "llama": "llama",
    "mistral3": "mistral",
    "qwen2": "qwen2",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2_vl_text",
    "qwen3": "qwen3",
    "qwen3moe": "qwen3_moe",
    "qwen3vl": "qwen3_vl_text",
    "qwen3vlmoe": "qwen3_vl_moe_text",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3": "gemma3_text",
    "gpt-oss": "gpt_oss",
    "deepseek2": "deepseek_v3",
    "glm4": "glm4",
    "glm4moe": "glm4_moe",
    "phi3": "phi3",
    "granite": "granite",
    "smollm3": "smollm3",
    "minimax-m2": "minimax_m2",
    "ernie4_5": "ernie4_5",
    "olmo2": "olmo2",
    "starcoder2": "starcoder2",
    "gpt2": "gpt2",
}
"""Architectures of llama.cpp whose keys say all that a shape needs, and their classes."""

_KEYS: Final = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "leading_dense_block_count": "first_k_dense_replace",
    "attention.sliding_window": "sliding_window",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.q_lora_rank": "q_lora_rank",
    "rope.dimension_count": "qk_rope_head_dim",
}


def model_from_gguf(path: str | Path) -> ModelFacts:
    """Return the shape and the exact weights of a GGUF file.

    Raises:
        ModelConfigError: Its architecture is not known here, or a key is missing.
        FormatError: It is no GGUF file, or damaged.
        OSError: It cannot be read.
    """
    file = Path(path)
    read = read_gguf_file(file)
    kind = _TYPES.get(read.architecture)
    if kind is None:
        raise ModelConfigError(
            f"{file}: the architecture {read.architecture!r} is not known here\n"
            "hint: name the model, with --weights-bytes for the size of the file",
            field="general.architecture",
        )
    config = _config(read, kind)
    n_layers = config.get("num_hidden_layers")
    tensors = summed(
        ((one.name, one.type_name, one.n_bytes) for one in read.tensors.values()),
        n_layers if isinstance(n_layers, int) else None,
        f"tensors of {file}",
    )
    return facts_of(
        config,
        name=file.stem,
        where=str(file),
        day=datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date(),
        tensors=tensors,
    )


def _config(read: GgufFile, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"model_type": kind}
    for key, name in _KEYS.items():
        value = read.values.get(f"{read.architecture}.{key}")
        number = None if value is None else value.number
        if number is not None and (number or name.endswith("replace")):
            found[name] = number
    if "kv_lora_rank" in found:
        # The cached key is latent and rotary part; a head's own sizes have other names.
        mla = {
            name: read.values.get(f"{read.architecture}.attention.{name}_length_mla")
            for name in ("key", "value")
        }
        width, depth = (None if one is None else one.number for one in mla.values())
        rotary = found.get("qk_rope_head_dim", 64)
        found["qk_nope_head_dim"] = (width or 192) - rotary
        found["v_head_dim"] = depth or 128
        found.pop("head_dim", None)
        found["n_routed_experts"] = found.pop("num_experts", 0)
    vocab = read.values.get(f"{read.architecture}.vocab_size")
    table = read.tensors.get("token_embd.weight")
    rows = table.shape[0] if table is not None and len(table.shape) == 2 else None
    found["vocab_size"] = rows or (None if vocab is None else vocab.number)
    found["tie_word_embeddings"] = "output.weight" not in read.tensors
    if found.get("num_experts") and "intermediate_size" not in found:
        found["intermediate_size"] = found.get("moe_intermediate_size", 0)
    return found
