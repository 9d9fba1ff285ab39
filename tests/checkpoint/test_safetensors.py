"""Headers and rows of safetensors files: equal to the reference, and safe with any bytes."""

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

from jeton.checkpoint import read_header, read_rows, row_statistics
from jeton.checkpoint.safetensors import MAX_HEADER_BYTES
from jeton.errors import FormatError, JetonError, LimitError, UsageError


def written(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def file(path: Path, content: bytes) -> Path:
    target = path / "x.safetensors"
    target.write_bytes(content)
    return target


def test_files_of_the_reference_are_read(tmp_path: Path) -> None:
    reference = importlib.import_module("safetensors.numpy")
    rng = np.random.default_rng(0)
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "a": rng.normal(size=(7, 3)).astype(np.float32),
        "b.half": rng.normal(size=(5, 4)).astype(np.float16),
        "c": rng.integers(-5, 5, size=(2, 3, 4)),
        "empty": np.zeros((0, 4), dtype=np.float32),
        "scalar": np.asarray(3.5, dtype=np.float64),
    }
    path = tmp_path / "x.safetensors"
    reference.save_file(arrays, path, metadata={"format": "np"})
    header = read_header(path)
    assert header.metadata == {"format": "np"}
    assert {name: tensor.shape for name, tensor in header.tensors.items()} == {
        name: array.shape for name, array in arrays.items()
    }
    for name in ("a", "b.half"):
        tensor = header.tensors[name]
        assert np.array_equal(read_rows(tensor, range(tensor.shape[0])), arrays[name])
        norms = np.linalg.norm(arrays[name].astype(np.float64), axis=1)
        assert np.allclose(row_statistics(tensor).norms, norms, rtol=1e-6)
    assert row_statistics(header.tensors["empty"]).median_norm == 0


def test_bfloat16_is_the_upper_half_of_float32(tmp_path: Path) -> None:
    bits = np.asarray([[0x3F80, 0xC000], [0x7F80, 0x0000], [0x7FC0, 0x8000]], dtype="<u2")
    path = file(tmp_path, written({"w": entry("BF16", [3, 2], 0, 12)}, bits.tobytes()))
    rows = read_rows(read_header(path).tensors["w"], [0, 1, 2])
    assert rows[0].tolist() == [1.0, -2.0]
    assert rows[1].tolist() == [np.inf, 0.0]
    assert np.isnan(rows[2, 0])
    statistics = row_statistics(read_header(path).tensors["w"])
    assert statistics.is_finite.tolist() == [True, False, False]
    assert statistics.norms[0] == pytest.approx(5**0.5)


# Values of the OCP 8-bit Floating Point Specification 1.0, tables 1 and 2.
@pytest.mark.parametrize(
    ("dtype", "code", "value"),
    [
        ("F8_E4M3", 0x7E, 448.0),
        ("F8_E4M3", 0x01, 2.0**-9),
        ("F8_E4M3", 0xC0, -2.0),
        ("F8_E4M3", 0x38, 1.0),
        ("F8_E5M2", 0x7B, 57344.0),
        ("F8_E5M2", 0x01, 2.0**-16),
        ("F8_E5M2", 0x7C, np.inf),
        ("F8_E5M2", 0xBC, -1.0),
    ],
)
def test_values_of_eight_bits(tmp_path: Path, dtype: str, code: int, value: float) -> None:
    path = file(tmp_path, written({"w": entry(dtype, [1, 1], 0, 1)}, bytes([code])))
    assert read_rows(read_header(path).tensors["w"], [0])[0, 0] == value


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2"])
def test_codes_that_are_no_number(tmp_path: Path, dtype: str) -> None:
    path = file(tmp_path, written({"w": entry(dtype, [1, 1], 0, 1)}, b"\x7f"))
    assert np.isnan(read_rows(read_header(path).tensors["w"], [0])[0, 0])


def test_blocks_give_what_single_rows_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jeton.checkpoint.rows._BLOCK_BYTES", 50)
    matrix = np.arange(36, dtype="<f4").reshape(12, 3)
    path = file(tmp_path, written({"w": entry("F32", [12, 3], 0, 144)}, matrix.tobytes()))
    statistics = row_statistics(read_header(path).tensors["w"])
    assert np.allclose(statistics.norms, np.linalg.norm(matrix, axis=1))


HOSTILE = {
    "nothing": b"",
    "seven bytes": b"\x01" * 7,
    "a header longer than the file": struct.pack("<Q", 1 << 60) + b"{}",
    "no JSON": written(b"hello"),
    "a list": written([]),
    "half of a JSON": written(b'{"a": {'),
    "not UTF-8": written(b'{"\xff": 1}'),
    "deep nesting": written(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a huge number": written(b'{"a":' + b"9" * 5000 + b"}"),
    "a name twice": written(
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b"x",
    ),
    "no object": written({"a": 5}),
    "no offsets": written({"a": {"dtype": "F32", "shape": [1]}}),
    "offsets backwards": written({"a": entry("U8", [1], 5, 4)}, b"x"),
    "negative offsets": written({"a": entry("U8", [1], -1, 0)}, b"x"),
    "offsets that are true": written(
        {"a": {"dtype": "U8", "shape": [1], "data_offsets": [False, True]}}, b"x"
    ),
    "an unknown type": written({"a": entry("F5", [1], 0, 1)}, b"x"),
    "a shape that is too large": written({"a": entry("F32", [1 << 62, 1 << 62], 0, 4)}, b"xxxx"),
    "a negative shape": written({"a": entry("U8", [-1], 0, 1)}, b"x"),
    "a wrong size": written({"a": entry("F32", [2], 0, 4)}, b"xxxx"),
    "half a byte": written({"a": entry("F4", [1], 0, 0)}, b""),
    "overlap": written({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, b"xxx"),
    "a hole": written({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, b"xxx"),
    "cut off": written({"a": entry("U8", [9], 0, 9)}, b"xxx"),
    "too much": written({"a": entry("U8", [1], 0, 1)}, b"xxx"),
    "metadata that is no text": written({"__metadata__": {"a": 1}}),
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_end_in_one_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_header(file(tmp_path, HOSTILE[name]))
    message = str(caught.value)
    assert "x.safetensors" in message
    assert "\nhint: " in message
    assert caught.value.format == "safetensors"


def test_a_header_above_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", MAX_HEADER_BYTES + 1))
        # A sparse file: as long as it says, and no memory.
        stream.truncate(MAX_HEADER_BYTES + 100)
    with pytest.raises(LimitError):
        read_header(path)


def test_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        read_header(tmp_path)


@given(
    st.dictionaries(
        st.text(max_size=4),
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["F32", "BF16", "U8", "F4", "X"]) | st.none(),
                "shape": st.lists(st.integers(-1, 1 << 70), max_size=3) | st.integers(),
                "data_offsets": st.lists(st.integers(-2, 1 << 70), max_size=3),
            }
        )
        | st.integers(),
        max_size=4,
    )
    | st.recursive(st.none() | st.booleans() | st.text(max_size=3), st.lists, max_leaves=5),
    st.binary(max_size=40),
)
def test_any_header_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, header: Any, data: bytes
) -> None:
    path = file(tmp_path_factory.mktemp("x"), written(header, data))
    try:
        found = read_header(path)
    except JetonError:
        return
    # What is accepted covers the data exactly.
    assert sum(tensor.n_bytes for tensor in found.tensors.values()) == len(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    with suppress(JetonError):
        read_header(file(tmp_path_factory.mktemp("x"), data))


# The reference takes the last of two entries of one name, which hides what the first one says.
STRICTER = {"a name twice"}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_reference_refuses_them_too(tmp_path: Path, name: str) -> None:
    reference = importlib.import_module("safetensors")
    path = file(tmp_path, HOSTILE[name])
    try:
        with reference.safe_open(path, framework="np"):
            accepted = True
    except reference.SafetensorError:
        accepted = False
    assert accepted is (name in STRICTER)


def test_rows_and_types_that_are_not_there(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        written(
            {
                "w": entry("F32", [1, 1], 0, 4),
                "v": entry("F32", [1], 4, 8),
                "i": entry("I64", [1, 1], 8, 16),
            },
            bytes(16),
        ),
    )
    tensors = read_header(path).tensors
    with pytest.raises(UsageError):
        read_rows(tensors["w"], [1])
    with pytest.raises(FormatError, match="dimensions"):
        read_rows(tensors["v"], [0])
    with pytest.raises(FormatError, match="I64"):
        row_statistics(tensors["i"])
    path.write_bytes(path.read_bytes()[:-14])
    with pytest.raises(FormatError, match="shorter"):
        row_statistics(tensors["w"])
