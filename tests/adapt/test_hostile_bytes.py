"""Hostile bytes in weights, change files and configurations: refused by name, in bounded memory."""

from __future__ import annotations

import json
import struct
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jeton.adapt import VocabularyChange
from jeton.adapt.weights import apply, verify
from jeton.adapt.weights.gguf_applying import apply_gguf
from jeton.checkpoint.adapted import read_stated_change
from jeton.checkpoint.gguf_file import read_gguf_file
from jeton.checkpoint.safetensors import read_header
from jeton.errors import JetonError
from tests.adapt import tiny
from tests.adapt.test_change import GOOD
from tests.adapt.test_gguf import BASE, KIND, MERGES, blocks, new_tokenizer, write_gguf

N = tiny.N_OLD
MOST_BYTES = 64 << 20
"""Memory that reading a file of a few kilobytes may take."""

numbers = st.sampled_from([0, 1, 7, 255, 1 << 16, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, 2**64 - 1])
patches = st.lists(
    st.tuples(
        st.integers(0, 4000),
        st.binary(min_size=1, max_size=8) | numbers.map(struct.Struct("<Q").pack),
    ),
    min_size=1,
    max_size=4,
)


@contextmanager
def bounded_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def patched(data: bytes, changes: list[tuple[int, bytes]]) -> bytes:
    found = bytearray(data)
    for at, new in changes:
        at %= max(len(found), 1)
        found[at : at + len(new)] = new
    return bytes(found)


def read_or_refuse(read: Callable[[], Any]) -> None:
    with bounded_memory():
        work_or_refuse(read)


def work_or_refuse(work: Callable[[], Any]) -> None:
    with suppress(JetonError):
        work()


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gguf")
    n = len(BASE)
    write_gguf(
        folder / "m.gguf",
        {
            "token_embd.weight": blocks(KIND["Q8_0"], [n, 64], 1),
            "output.weight": blocks(KIND["F32"], [n, 64], 2),
        },
    )
    new_tokenizer(folder / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    return folder


@given(changes=patches, cut=st.integers(0, 6000))
@settings(max_examples=25)
def test_gguf(gguf: Path, changes: list[tuple[int, bytes]], cut: int) -> None:
    data = patched((gguf / "m.gguf").read_bytes(), changes)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "m.gguf"
        for content in (data, data[: cut % len(data)]):
            file.write_bytes(content)
            read_or_refuse(lambda: read_gguf_file(file))
            work_or_refuse(lambda: apply_gguf(file, gguf / "t", output=Path(name) / "o.gguf"))


@given(st.binary(max_size=200))
@settings(max_examples=25)
@example(b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60))
@example(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62))
@example(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 28) + b"k")
@example(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 9, 1 << 40))
def test_any_bytes_for_gguf(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "m.gguf"
        for content in (data, b"GGUF\x03\0\0\0" + data):
            file.write_bytes(content)
            read_or_refuse(lambda: read_gguf_file(file))


HEADER = json.dumps(
    {
        "__metadata__": {"format": "pt"},
        "model.embed_tokens.weight": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]},
    }
).encode()


@given(changes=patches, size=numbers | st.just(len(HEADER)))
@settings(max_examples=40)
@example([], 2**64 - 1)
@example([(110, b"[9999999999,9999999999,9999999999]")], len(HEADER))
def test_safetensors_header(changes: list[tuple[int, bytes]], size: int) -> None:
    data = struct.pack("<Q", size) + patched(HEADER, changes) + bytes(32)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "model.safetensors"
        file.write_bytes(data)
        read_or_refuse(lambda: read_header(file))


@given(changes=patches)
@settings(max_examples=40)
def test_change_file(changes: list[tuple[int, bytes]]) -> None:
    data = patched(GOOD.encode(), changes)
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "vocabulary_change.json").write_bytes(data)
        read_or_refuse(lambda: VocabularyChange.read(name))
        read_or_refuse(lambda: read_stated_change(Path(name)))


json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.integers(-3, 60) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
FIELDS = (
    "vocab_size", "model_type", "architectures", "pad_token_id", "eos_token_id", "bos_token_id",
    "tie_word_embeddings", "text_config", "vision_config", "vocab_size_per_layer_input",
    "padding_idx", "torch_dtype", "quantization_config", "draft_vocab_size", "id2label",
)  # fmt: skip


@pytest.mark.parametrize("id", [1 << 25, 1 << 63, (1 << 64) - 1, 1 << 200])
def test_an_id_that_no_table_can_have_owns_no_row(id: int, tmp_path: Path) -> None:
    model = tmp_path / "m"
    old = tiny.write_tokenizer(model, tiny.old_tokens())
    values = tiny.random_values(np.random.default_rng(1), [N, 4])
    tensors = {"model.embed_tokens.weight": tiny.stored("F32", values)}
    tiny.write_safetensors(model / "model.safetensors", tensors, None)
    config = {"model_type": "llama", "vocab_size": N, "pad_token_id": id}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tiny.extension(tmp_path / "t", old)
    work_or_refuse(lambda: apply(model, tmp_path / "t", output=tmp_path / "o"))


@given(fields=st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4), data=st.data())
@settings(max_examples=8)
def test_configuration(fields: dict[str, Any], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "m"
        old = tiny.write_tokenizer(model, tiny.old_tokens())
        values = tiny.random_values(np.random.default_rng(1), [N, 4])
        tensors = {"model.embed_tokens.weight": tiny.stored("F32", values)}
        tiny.write_safetensors(model / "model.safetensors", tensors, None)
        text = json.dumps({"model_type": "llama", "vocab_size": N, **fields})
        if data.draw(st.booleans()):
            at = data.draw(st.integers(0, len(text)))
            text = text[:at] + data.draw(st.text(max_size=3)) + text[at + 1 :]
        for file in ("config.json", "generation_config.json"):
            (model / file).write_text(text, encoding="utf-8")
        tiny.extension(folder / "t", old)
        work_or_refuse(lambda: apply(model, folder / "t", output=folder / "o"))
        if (folder / "o").exists():
            work_or_refuse(lambda: verify(folder / "o", base=model))
