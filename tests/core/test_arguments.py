"""Arguments that the core should not get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jeton import DecodeError, Tokenizer, UnknownTokenIdError
from tests.core import makers


@pytest.mark.parametrize("value", [None, 5, 1.5, ["a"], bytearray(b"a"), memoryview(b"a")])
def test_what_is_no_text(value: Any, plain: Tokenizer) -> None:
    for take in (plain.encode, plain.encode_array, plain.encode_with_offsets, plain.count):
        with pytest.raises(TypeError, match="a text must be str or bytes, not"):
            take(value)


@pytest.mark.parametrize("excess", [0, 1, 2**31, 2**32, 2**63, 2**64, 2**70])
def test_ids_out_of_range(excess: int, plain: Tokenizer) -> None:
    unknown = plain.vocab_size + excess
    for take in (plain.decode, plain.decode_bytes):
        with pytest.raises(UnknownTokenIdError, match=f"id {unknown} has no token") as caught:
            take([0, unknown])
        assert caught.value.id == unknown
        assert caught.value.vocab_size == plain.vocab_size


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.uint64])
def test_ids_out_of_range_in_arrays(dtype: type, plain: Tokenizer) -> None:
    largest = int(np.iinfo(dtype).max) - 1
    with pytest.raises(UnknownTokenIdError) as caught:
        plain.decode(np.array([0, largest], dtype=dtype))
    assert caught.value.id == largest


def test_a_single_id_out_of_range(plain: Tokenizer) -> None:
    with pytest.raises(UnknownTokenIdError, match=f"below {plain.vocab_size}"):
        plain.id_to_bytes(plain.vocab_size)
    with pytest.raises(ValueError, match="id -1 is negative"):
        plain.id_to_bytes(-1)


def test_ids_in_a_hole(shared: Path) -> None:
    tokenizer = makers.published(shared, "cl100k_base")
    hole = 100_261
    assert tokenizer.token_lengths()[hole] == 0
    for take in (lambda: tokenizer.decode([hole]), lambda: tokenizer.id_to_bytes(hole)):
        with pytest.raises(UnknownTokenIdError) as caught:
            take()
        assert caught.value.id == hole


@pytest.mark.parametrize("ids", [[-1], [0, -(2**70)], np.array([3, -1])])
def test_negative_ids(ids: Any, plain: Tokenizer) -> None:
    with pytest.raises(ValueError, match="is negative"):
        plain.decode(ids)


@pytest.mark.parametrize(
    "ids", [[1.0], ["a"], [None], "abc", [[1]], np.array([1.0]), np.array(["a"]), 5, None]
)
def test_what_are_no_ids(ids: Any, plain: Tokenizer) -> None:
    with pytest.raises(TypeError):
        plain.decode(ids)


@pytest.mark.parametrize("ids", [np.array([[1, 2]]), np.array(5), np.zeros((1, 1, 1), np.int8)])
def test_arrays_of_other_shapes(ids: Any, plain: Tokenizer) -> None:
    with pytest.raises(TypeError, match="one dimension"):
        plain.decode(ids)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        lambda ids: np.array(ids),
        lambda ids: np.array(ids, dtype=np.uint8),
        lambda ids: np.array(ids, dtype=np.uint16),
        lambda ids: np.array(ids, dtype=">i4"),
        lambda ids: np.repeat(np.array(ids), 2)[::2],
        lambda ids: [np.int64(i) for i in ids],
    ],
)
def test_ids_of_many_types(make: Any, plain: Tokenizer) -> None:
    ids = [plain.bytes_to_id(b"a"), plain.bytes_to_id(b"b"), plain.bytes_to_id(b"!")]
    assert plain.decode(make(ids)) == "ab!"


def test_half_a_character(plain: Tokenizer) -> None:
    half = [i for i in (plain.bytes_to_id(b"\xe4"), plain.bytes_to_id(b"\xb8")) if i is not None]
    assert len(half) == 2
    assert plain.decode(half) == "\ufffd"
    assert plain.decode_bytes(half) == b"\xe4\xb8"
    with pytest.raises(DecodeError):
        plain.decode(half, errors="strict")
    with pytest.raises(ValueError, match="ignore"):
        plain.decode(half, errors="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("num_threads", [0, -1])
def test_impossible_numbers_of_threads(num_threads: int, plain: Tokenizer) -> None:
    for take in (plain.encode_batch, plain.count_batch):
        with pytest.raises(ValueError, match="num_threads"):
            take(["a"], num_threads=num_threads)


def test_more_threads_than_texts_and_cores(plain: Tokenizer) -> None:
    assert plain.encode_batch(["a"], num_threads=10_000).to_lists() == [plain.encode("a")]


def test_options_are_keywords(plain: Tokenizer) -> None:
    with pytest.raises(TypeError):
        plain.encode("a", True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        plain.encode_batch(["a"], True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        plain.decode([0], True)  # type: ignore[call-arg]


def test_items_of_a_batch(plain: Tokenizer) -> None:
    batch = plain.encode_batch(["a", "b"])
    assert batch[-1].tolist() == plain.encode("b")
    for index in (2, -3):
        with pytest.raises(IndexError):
            batch[index]
