"""SmolLM2-135M as safetensors, made of the GGUF file that a package holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import jeton
from jeton.checkpoint.ggml_blocks import from_blocks
from jeton.checkpoint.gguf_file import read_gguf_file
from tests.adapt import tiny

HEADS, KV_HEADS = 9, 3


def unpermuted(rows: NDArray[np.float32], n_heads: int) -> NDArray[np.float32]:
    """Undoes the order in which the converter of llama.cpp writes rotated rows."""
    n, width = rows.shape
    return rows.reshape(n_heads, n // n_heads // 2, 2, width).swapaxes(1, 2).reshape(n, width)


def write_smollm(gguf: Path, folder: Path) -> Path:
    """Writes a model directory with the GGUF file's values in half precision."""
    file = read_gguf_file(gguf)
    names = {
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
    }
    tensors = {}
    with gguf.open("rb") as stream:
        for name, tensor in file.tensors.items():
            stream.seek(tensor.offset)
            data = stream.read(tensor.n_bytes)
            values = from_blocks(tensor.type_name, data, tensor.shape[-1]).reshape(tensor.shape)
            parts = name.split(".")
            if parts[0] == "blk":
                full = f"model.layers.{parts[1]}.{names[parts[2]]}.weight"
                if parts[2] in ("attn_q", "attn_k"):
                    values = unpermuted(values, HEADS if parts[2] == "attn_q" else KV_HEADS)
            else:
                full = {
                    "token_embd": "model.embed_tokens.weight",
                    "output_norm": "model.norm.weight",
                }[parts[0]]
            tensors[full] = tiny.stored("F16", values)
    tiny.write_shards(folder, tensors, 2)
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 49152,
        "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "rope_theta": 100000.0,
        "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = jeton.load(gguf)
    tokenizer.save(folder / "tokenizer.json")
    return folder
