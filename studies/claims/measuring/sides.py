"""Padding sides as the doctor judges them, on model folders made for the purpose."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import jeton
from jeton.doctor import diagnose
from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "KIND", "measure"]

ABOUT = "Findings of `jeton doctor` on a decoder and an encoder that pad left or right"
KIND = "arithmetic"

_KINDS = {
    "decoder": {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
    "encoder": {"model_type": "bert", "architectures": ["BertForMaskedLM"]},
}

_SHAPE = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "intermediate_size": 8,
    "max_position_embeddings": 64,
}


def measure(_data: Data) -> dict[str, Figure]:
    """One figure for each kind and side: how often the doctor speaks of the side."""
    tokenizer = jeton.load("jeton-general-32k")
    file = tokenizer.to_hf_json()
    figures = {}
    for kind, facts in _KINDS.items():
        for side in ("left", "right"):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "tokenizer.json").write_bytes(file)
                config = {**facts, **_SHAPE, "vocab_size": tokenizer.vocab_size}
                (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
                settings = {"padding_side": side, "pad_token": "<|endoftext|>"}
                (folder / "tokenizer_config.json").write_text(
                    json.dumps(settings), encoding="utf-8"
                )
                found = diagnose(folder).findings
            n = sum(finding.id == "padding-side" for finding in found)
            figures[f"{kind}.{side}"] = Figure(n, "findings")
    return figures
