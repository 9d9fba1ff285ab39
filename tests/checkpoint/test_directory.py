"""Model directories: configurations, shards, GGUF metadata."""

from __future__ import annotations

import importlib
import json
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.checkpoint import ModelKind, read_gguf, read_model_directory, read_weights
from jeton.checkpoint.configuration import configuration_of
from jeton.errors import FormatError, JetonError, LimitError
from tests.doctor import ward


def test_a_directory_is_described(tmp_path: Path) -> None:
    found = read_model_directory(ward.model_dir(tmp_path / "m"))
    assert not found.problems
    assert found.n_rows == ward.N_ROWS
    assert found.configuration is not None
    assert found.configuration.kind is ModelKind.DECODER
    assert found.configuration.context_tokens == ward.CONTEXT
    assert found.weights.embedding is not None
    assert found.weights.embedding.dtype == "BF16"
    assert found.weights.head is not None
    assert found.token_ids("eos") == (ward.TURN_END, ward.EOS)
    assert found.token_ids("decoder_start") == ()


# config.json of published models, as far as it counts here, and what follows from it
# (huggingface.co, the models' config.json; read 2026-11-21 from what transformers writes).
@pytest.mark.parametrize(
    ("config", "kind", "context", "positions", "ties"),
    [
        (
            {"model_type": "gpt2", "n_positions": 1024, "vocab_size": 50257},
            ModelKind.DECODER,
            1024,
            "learned",
            True,
        ),
        (
            {
                "model_type": "roberta",
                "max_position_embeddings": 514,
                "pad_token_id": 1,
                "architectures": ["RobertaForMaskedLM"],
            },
            ModelKind.ENCODER,
            512,
            "learned",
            True,
        ),
        (
            {"model_type": "bert", "max_position_embeddings": 512},
            ModelKind.ENCODER,
            512,
            "learned",
            True,
        ),
        (
            {"model_type": "t5", "is_encoder_decoder": True, "tie_word_embeddings": False},
            ModelKind.ENCODER_DECODER,
            None,
            "relative",
            True,
        ),
        (
            {
                "model_type": "llama",
                "max_position_embeddings": 131072,
                "rope_scaling": {
                    "factor": 8.0,
                    "original_max_position_embeddings": 8192,
                    "rope_type": "llama3",
                },
            },
            ModelKind.DECODER,
            131072,
            "rotary",
            False,
        ),
        (
            {
                "model_type": "qwen2",
                "max_position_embeddings": 32768,
                "rope_scaling": {
                    "factor": 4.0,
                    "original_max_position_embeddings": 32768,
                    "type": "yarn",
                },
            },
            ModelKind.DECODER,
            131072,
            "rotary",
            False,
        ),
        (
            {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}},
            ModelKind.DECODER,
            None,
            "rotary",
            True,
        ),
        ({"model_type": "of tomorrow"}, ModelKind.UNKNOWN, None, "unknown", None),
        ({}, ModelKind.UNKNOWN, None, "unknown", None),
    ],
)
def test_configurations(
    config: dict[str, Any],
    kind: ModelKind,
    context: int | None,
    positions: str,
    ties: bool | None,
) -> None:
    found = configuration_of(config)
    assert (found.kind, found.context_tokens, found.positions, found.ties_embeddings) == (
        kind,
        context,
        positions,
        ties,
    )


def test_defaults_are_those_of_transformers() -> None:
    transformers = importlib.import_module("transformers")
    compared = 0
    for model_type in ("llama", "gpt2", "bert", "gemma", "qwen2", "mistral", "opt", "phi", "bloom"):
        default = transformers.AutoConfig.for_model(model_type)
        assert configuration_of({"model_type": model_type}).ties_embeddings is (
            default.tie_word_embeddings
        )
        compared += 1
    assert compared == 9


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "vocab_size",
                "model_type",
                "architectures",
                "eos_token_id",
                "max_position_embeddings",
                "rope_scaling",
                "text_config",
                "tie_word_embeddings",
                "pad_token_id",
            ]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=6,
        ),
    )
)
def test_any_configuration_is_understood_or_passed_over(values: dict[str, Any]) -> None:
    configuration_of(values)


def shards(path: Path, n: int, *, leave_out: int | None = None) -> Path:
    path.mkdir()
    for number in range(1, n + 1):
        if number == leave_out:
            continue
        name = "model.embed_tokens.weight" if number == 1 else f"layer.{number}.weight"
        data = ward.safetensors({name: ward.matrix(4)})
        (path / f"model-{number:05d}-of-{n:05d}.safetensors").write_bytes(data)
    return path


def test_shards_without_an_index(tmp_path: Path) -> None:
    whole = read_weights(shards(tmp_path / "whole", 3))
    assert whole.is_complete
    assert len(whole.tensors) == 3
    part = read_weights(shards(tmp_path / "part", 3, leave_out=2))
    assert [problem.file for problem in part.problems] == ["model-00002-of-00003.safetensors"]
    assert not part.is_complete


def test_an_index_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "secret.safetensors").write_bytes(ward.safetensors({"a": ward.matrix(1)}))
    for name in ("../secret.safetensors", str(tmp_path / "secret.safetensors"), "a/../b", 5):
        index = {"weight_map": {"a": name}}
        (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
        found = read_weights(tmp_path / "m")
        assert not found.tensors
        assert found.problems[0].kind == "damaged"


def test_matrices_by_their_names(tmp_path: Path) -> None:
    def found(*names: str, rows: int = 5) -> tuple[str | None, str | None]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        tensors = {name: ward.matrix(rows + i) for i, name in enumerate(names)}
        (folder / "model.safetensors").write_bytes(ward.safetensors(tensors))
        weights = read_weights(folder)
        return (
            None if weights.embedding is None else weights.embedding.name,
            None if weights.head is None else weights.head.name,
        )

    assert found("transformer.wte.weight", "h.0.weight") == ("transformer.wte.weight", None)
    assert found("gpt_neox.embed_in.weight", "embed_out.weight") == (
        "gpt_neox.embed_in.weight",
        "embed_out.weight",
    )
    assert found("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight") == (
        "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.weight",
    )
    assert found("tok_embeddings.weight", "output.weight") == (
        "tok_embeddings.weight",
        "output.weight",
    )
    assert found("encoder.layer.0.output.weight") == (None, None)


def test_gguf_metadata(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(ward.gguf(add_bos=True, template="{{ x }}", n_rows=300))
    found = read_gguf(file)
    assert found.architecture == "llama"
    assert found.n_tokens == ward.N_BASE
    assert found.n_rows == 300
    assert found.context_tokens == 128
    assert found.token_id("eos") == 2
    assert found.token_id("eot") is None
    assert found.metadata["tokenizer.chat_template"] == "{{ x }}"


def test_gguf_of_the_other_byte_order(tmp_path: Path) -> None:
    key = b"general.architecture"
    data = b"GGUF" + struct.pack(">IQQ", 3, 0, 1)
    data += struct.pack(">Q", len(key)) + key + struct.pack(">IQ", 8, 3) + b"bee"
    (tmp_path / "m.gguf").write_bytes(data)
    assert read_gguf(tmp_path / "m.gguf").architecture == "bee"


def test_every_cut_of_a_gguf_file_is_an_error(tmp_path: Path) -> None:
    data = ward.gguf()
    file = tmp_path / "m.gguf"
    for n in [*range(60), *range(60, len(data), 97), len(data) - 1]:
        file.write_bytes(data[:n])
        with pytest.raises(FormatError):
            read_gguf(file)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_damaged_gguf_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes
) -> None:
    data = bytearray(ward.gguf())
    data[at : at + len(noise)] = noise
    file = tmp_path_factory.mktemp("x") / "m.gguf"
    file.write_bytes(bytes(data))
    with suppress(JetonError):
        read_gguf(file)


def test_gguf_counts_are_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1 << 40, 1))
    with pytest.raises(LimitError):
        read_gguf(file)
    file.write_bytes(
        b"GGUF"
        + struct.pack("<IQQ", 3, 0, 1)
        + struct.pack("<Q", 1)
        + b"a"
        + struct.pack("<IIQ", 9, 10, 1 << 23)
    )
    with pytest.raises(FormatError, match="cut off"):
        read_gguf(file)


def test_float16_weights_keep_their_rows(tmp_path: Path) -> None:
    rows = ward.matrix(3).astype(np.float16)
    folder = ward.model_dir(
        tmp_path / "m",
        files={"model.safetensors": ward.safetensors({"wte.weight": rows})},
    )
    embedding = read_model_directory(folder).weights.embedding
    assert embedding is not None
    assert embedding.shape == (3, ward.HIDDEN)
