"""Weights by parts against headers and an index that the test writes: they sum to the byte."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.catalog.model_config import model_from_config
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.weights import weight_bytes

SIZES = {"BF16": 2, "F8_E4M3": 1, "F32": 4}
CONFIGS = st.fixed_dictionaries(
    {
        "model_type": st.sampled_from(["qwen3_moe", "llama"]),
        "hidden_size": st.sampled_from([64, 128, 384]),
        "num_hidden_layers": st.integers(1, 4),
        "num_attention_heads": st.sampled_from([4, 8]),
        "num_key_value_heads": st.sampled_from([1, 2, 4]),
        "head_dim": st.sampled_from([16, 32]),
        "intermediate_size": st.sampled_from([128, 256]),
        "moe_intermediate_size": st.just(32),
        "num_experts": st.sampled_from([2, 8]),
        "num_experts_per_tok": st.just(2),
        "vocab_size": st.integers(100, 999),
        "max_position_embeddings": st.just(4096),
        "tie_word_embeddings": st.booleans(),
    }
)

Tensor = tuple[str, str, list[int]]


def tensors_of(facts: ModelFacts, of_experts: str) -> list[Tensor]:
    """Tensors of a checkpoint: what the layers have, each expert by itself, fp8 with its scale."""
    d, found = facts.hidden_size, []
    table = [facts.vocab_size, d]
    found.append(("model.embed_tokens.weight", "BF16", table))
    if not facts.tied_embeddings:
        found.append(("lm_head.weight", "BF16", table))
    found.append(("model.norm.weight", "BF16", [facts.final_norm]))
    for place, layer in enumerate(facts.layers):
        for number, part in enumerate(layer.parts(d)):
            name = f"model.layers.{place}.{part.name}"
            if part.role == "norms":
                shape = [part.rows]
                found.append((f"{name}.{number}.layernorm.weight", "BF16", shape))
                continue
            for one in range(part.count):
                own = name.replace("experts.0.", f"experts.{one}.")
                dtype = of_experts if part.role == "experts" else "BF16"
                found.append((f"{own}.weight", dtype, [part.rows, part.columns]))
                if dtype == "F8_E4M3":
                    found.append((f"{own}.weight_scale_inv", "F32", [1, 1]))
    return found


def n_bytes(tensor: Tensor) -> int:
    size = SIZES[tensor[1]]
    for length in tensor[2]:
        size *= length
    return size


def write(folder: Path, tensors: list[Tensor], n_files: int) -> None:
    """Write headers, holes of the right size behind them, and an index of several files."""
    places: dict[str, str] = {}
    for number in range(n_files):
        name = "model.safetensors"
        if n_files > 1:
            name = f"model-{number + 1:05d}-of-{n_files:05d}.safetensors"
        header: dict[str, Any] = {}
        end = 0
        for tensor in tensors[number::n_files]:
            start, end = end, end + n_bytes(tensor)
            header[tensor[0]] = {
                "dtype": tensor[1], "shape": tensor[2], "data_offsets": [start, end],
            }  # fmt: skip
            places[tensor[0]] = name
        text = json.dumps(header).encode()
        with (folder / name).open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + end)
    if n_files > 1:
        total = sum(map(n_bytes, tensors))
        index = {"metadata": {"total_size": total}, "weight_map": places}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@settings(max_examples=40)
@given(CONFIGS, st.integers(1, 3), st.sampled_from(["BF16", "F8_E4M3"]))
def test_parts_sum_to_the_index(config: dict[str, Any], n_files: int, of_experts: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "config.json").write_text(json.dumps(config))
        told = model_from_config(folder)
        tensors = tensors_of(told, of_experts)
        write(folder, tensors, n_files)
        read = model_from_config(folder)
    found, by_shape = weight_bytes(read), weight_bytes(told)
    assert (found.basis, by_shape.basis) == ("tensors", "configuration")
    assert found.total == sum(part.n_bytes for part in found.parts) == sum(map(n_bytes, tensors))
    for part in found.parts:
        assert part.n_bytes == part.even_bytes + part.head_bytes + part.whole_bytes
    # Each part weighs what the shape says, but for experts in another format.
    for role in ("embedding", "head", "attention", "mlp", "gate", "norms"):
        assert found.of(role) == by_shape.of(role), role
    scales = sum(n_bytes(one) for one in tensors if one[0].endswith("scale_inv"))
    share = 1 if of_experts == "BF16" else 2
    assert found.experts == by_shape.experts // share + scales
    # The GPUs of a group hold the model and its copies together.
    assert found.on_each_of(1) == found.total
    assert found.on_each_of(2) * 2 >= found.total
