"""Files that name ids, tokens or sizes follow the change; others are copied or left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt.weights import apply, verify
from jeton.errors import AdaptError
from tests.adapt import tiny

N = tiny.N_OLD


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    tiny.write_tokenizer(folder, tiny.old_tokens())
    rng = np.random.default_rng(1)
    tensors = {"model.embed_tokens.weight": tiny.stored("F32", tiny.random_values(rng, [N, 6]))}
    tiny.write_safetensors(folder / "model.safetensors", tensors, {"format": "pt"})
    put(folder, "config.json", {"model_type": "llama", "vocab_size": N})
    return folder


def put(folder: Path, name: str, document: Any) -> None:
    (folder / name).write_text(json.dumps(document, indent=2) + "\n")


def get(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def reversed_order(folder: Path, model: Path, *, without: tuple[int, ...] = ()) -> dict[int, int]:
    """Writes a tokenizer whose ids run the other way; returns the new id of each old one."""
    old_of = [i for i in range(N - 1, -1, -1) if i not in without]
    tiny.write_change(folder, jeton.load(model / "tokenizer.json"), old_of, {})
    return {old: new for new, old in enumerate(old_of)}


def test_every_field_that_names_an_id_follows(model: Path, tmp_path: Path) -> None:
    put(
        model,
        "config.json",
        {
            "model_type": "llama",
            "vocab_size": N,
            "bos_token_id": 1,
            "eos_token_id": [2, 3],
            "pad_token_id": None,
            "image_token_index": -200,
            "num_hidden_layers": 2,
            "text_config": {"boi_token_index": 4, "vocab_size": N, "hidden_size": 2},
            "task_specific_params": {"x": {"decoder_start_token_id": 5, "max_length": 6}},
        },
    )
    put(
        model,
        "generation_config.json",
        {
            "eos_token_id": [2, 7],
            "suppress_tokens": [8, 9],
            "begin_suppress_tokens": [10],
            "bad_words_ids": [[11, 12], [13]],
            "forced_decoder_ids": [[1, 14], [2, None]],
            "sequence_bias": [[[15, 16], -2.5], [[17], 1]],
            "lang_to_id": {"<|de|>": 18},
            "forced_bos_token_id": 19,
            "max_new_tokens": 20,
            "top_k": 21,
        },
    )
    put(
        model,
        "tokenizer_config.json",
        {"added_tokens_decoder": {"2": {"content": "w2"}, "40": {"content": "w40"}},
         "model_max_length": 22, "pad_token_id": 2},
    )  # fmt: skip
    put(model, "added_tokens.json", {"w40": 40, "w2": 2})
    put(model, "preprocessor_config.json", {"image_token_id": 23, "size": {"height": 24}})
    new = reversed_order(tmp_path / "t", model)
    apply(model, tmp_path / "t", output=tmp_path / "o")
    assert get(tmp_path / "o", "config.json") == {
        "model_type": "llama",
        "vocab_size": N,
        "bos_token_id": new[1],
        "eos_token_id": [new[2], new[3]],
        "pad_token_id": None,
        "image_token_index": -200,
        "num_hidden_layers": 2,
        "text_config": {"boi_token_index": new[4], "vocab_size": N, "hidden_size": 2},
        "task_specific_params": {"x": {"decoder_start_token_id": new[5], "max_length": 6}},
    }
    assert get(tmp_path / "o", "generation_config.json") == {
        "eos_token_id": [new[2], new[7]],
        "suppress_tokens": [new[8], new[9]],
        "begin_suppress_tokens": [new[10]],
        "bad_words_ids": [[new[11], new[12]], [new[13]]],
        "forced_decoder_ids": [[1, new[14]], [2, None]],
        "sequence_bias": [[[new[15], new[16]], -2.5], [[new[17]], 1]],
        "lang_to_id": {"<|de|>": new[18]},
        "forced_bos_token_id": new[19],
        "max_new_tokens": 20,
        "top_k": 21,
    }
    settings = get(tmp_path / "o", "tokenizer_config.json")
    assert settings["added_tokens_decoder"] == {
        str(new[40]): {"content": "w40"},
        str(new[2]): {"content": "w2"},
    }
    assert settings["model_max_length"] == 22
    assert get(tmp_path / "o", "added_tokens.json") == {"w40": new[40], "w2": new[2]}
    processor = get(tmp_path / "o", "preprocessor_config.json")
    assert processor == {"image_token_id": new[23], "size": {"height": 24}}
    assert verify(tmp_path / "o", base=model).is_proven


def test_an_entry_of_a_list_may_go_and_a_role_may_not(model: Path, tmp_path: Path) -> None:
    put(
        model,
        "generation_config.json",
        {"eos_token_id": [2, 7], "suppress_tokens": [8, 30], "bad_words_ids": [[30, 8], [9]]},
    )
    new = reversed_order(tmp_path / "t", model, without=(30, 7))
    applied = apply(model, tmp_path / "t", output=tmp_path / "o")
    assert get(tmp_path / "o", "generation_config.json") == {
        "eos_token_id": [new[2]],
        "suppress_tokens": [new[8]],
        "bad_words_ids": [[new[9]]],
    }
    notes = "\n".join(applied.plan.notes)
    assert "generation_config.json: eos_token_id[1] was 7, whose token is gone" in notes
    put(model, "generation_config.json", {"eos_token_id": 30})
    with pytest.raises(AdaptError, match=r"generation_config.json: eos_token_id is 30, and the"):
        apply(model, tmp_path / "t", output=tmp_path / "p")


def test_a_file_that_does_not_change_keeps_its_bytes_and_its_style(
    model: Path, tmp_path: Path
) -> None:
    compact = '{"eos_token_id":4,"name":"caf\\u00e9"}'
    (model / "generation_config.json").write_text(compact)
    (model / "README.md").write_bytes(b"\xff no text")
    (model / "1_Pooling").mkdir()
    put(model / "1_Pooling", "config.json", {"word_embedding_dimension": N})
    (model / "modules.json").write_text('[{"idx": 0}]')
    (model / "data_config.json").write_text("[{}]")
    tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"))
    apply(model, tmp_path / "t", output=tmp_path / "o")
    for name in (
        "generation_config.json",
        "README.md",
        "1_Pooling/config.json",
        "modules.json",
        "data_config.json",
    ):
        assert (tmp_path / "o" / name).read_bytes() == (model / name).read_bytes()
    text = (tmp_path / "o" / "config.json").read_text()
    assert text == json.dumps({"model_type": "llama", "vocab_size": N + 7}, indent=2) + "\n"


def test_what_would_contradict_is_left_out_and_said(model: Path, tmp_path: Path) -> None:
    for name in ("pytorch_model.bin", "model.onnx", "vocab.txt", "merges.txt"):
        (model / name).write_bytes(b"old")
    tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"))
    (tmp_path / "t" / "vocab.txt").write_text("new")
    applied = apply(model, tmp_path / "t", output=tmp_path / "o")
    there = {path.name for path in (tmp_path / "o").iterdir()}
    assert there == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "vocab.txt",
        "vocabulary_change.json",
    }
    assert (tmp_path / "o" / "vocab.txt").read_text() == "new"
    said = applied.to_dict()["left_out_files"]
    assert set(said) == {"pytorch_model.bin", "model.onnx", "merges.txt"}


def test_a_chat_template_that_writes_a_token_that_is_gone(model: Path, tmp_path: Path) -> None:
    file = model / "tokenizer.json"
    document = json.loads(file.read_text())
    document["added_tokens"] = [
        {"id": 40, "content": "w40", "special": True, "single_word": False, "lstrip": False,
         "rstrip": False, "normalized": False}
    ]  # fmt: skip
    file.write_text(json.dumps(document))
    (model / "chat_template.jinja").write_text("{{ messages[0].content }}w40")
    reversed_order(tmp_path / "t", model, without=(40,))
    with pytest.raises(AdaptError, match=r"chat_template.jinja writes 'w40' \(id 40\) into chats"):
        apply(model, tmp_path / "t", output=tmp_path / "o")


def test_a_flag_without_an_output_layer_is_reported(model: Path, tmp_path: Path) -> None:
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": N,
        "tie_word_embeddings": False,
    }
    put(model, "config.json", config)
    tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"))
    applied = apply(model, tmp_path / "t", output=tmp_path / "o")
    assert "tie_word_embeddings is false and there is no output layer" in applied.plan.notes[0]
    assert get(tmp_path / "o", "config.json")["tie_word_embeddings"] is False


@pytest.mark.parametrize(
    ("rows", "n_added", "pad_to", "expected"),
    [
        (N, 7, None, 60),
        (N, 7, 64, 64),
        (64, 7, None, 64),  # spare rows are used first
        (64, 11, None, 64),
        (64, 12, None, 128),  # a padded table stays a multiple of what it was
        (56, 7, None, 64),
        (128, 7, 64, 128),  # never shrunk, nor padded twice
        (N, 0, 64, 64),
        (64, 0, 64, 64),
    ],
)
def test_rows_by_padding(
    rows: int, n_added: int, pad_to: int | None, expected: int, model: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    tensors = {"model.embed_tokens.weight": tiny.stored("F32", tiny.random_values(rng, [rows, 6]))}
    tiny.write_safetensors(model / "model.safetensors", tensors, None)
    put(model, "config.json", {"model_type": "llama", "vocab_size": rows})
    tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"), n_added)
    apply(model, tmp_path / "t", output=tmp_path / "o", pad_to=pad_to)
    assert tiny.read_tensors(tmp_path / "o")["model.embed_tokens.weight"][1] == (expected, 6)
    assert get(tmp_path / "o", "config.json")["vocab_size"] == expected
    assert verify(tmp_path / "o", base=model).is_proven
    index = tiny.read_tensors(tmp_path / "o")
    again = tmp_path / "again"
    apply(tmp_path / "o", tmp_path / "o", output=again, pad_to=pad_to)
    assert tiny.read_tensors(again) == index
