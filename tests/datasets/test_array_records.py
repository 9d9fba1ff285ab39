"""Records of arrays: what is written comes back; other bytes are an error and nothing else."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jeton.datasets.spool import read_arrays, read_texts, text_arrays, write_arrays
from jeton.errors import CorpusError

ARRAYS = st.lists(
    st.tuples(
        st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64, np.int64]),
        st.lists(st.integers(0, 255), max_size=9),
    ).map(lambda drawn: np.array(drawn[1], drawn[0])),
    max_size=5,
)


@given(st.lists(ARRAYS, max_size=4))
def test_records_come_back(records: list[list[NDArray[Any]]]) -> None:
    stream = io.BytesIO()
    for record in records:
        write_arrays(stream, record)
    stream.seek(0)
    for record in records:
        found = read_arrays(stream)
        assert [array.dtype for array in found] == [array.dtype for array in record]
        assert [array.tolist() for array in found] == [array.tolist() for array in record]
    with pytest.raises(EOFError):
        read_arrays(stream)


@given(st.lists(st.text(max_size=8)))
def test_texts_come_back(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    assert read_texts(text_arrays(texts)) == texts


@given(ARRAYS.filter(len), st.data())
def test_a_cut_record_is_an_error(record: list[NDArray[Any]], data: st.DataObject) -> None:
    stream = io.BytesIO()
    write_arrays(stream, record)
    whole = stream.getvalue()
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    if not any(len(array) for array in record) and cut + b"\n" == whole:
        return  # only the end of the line is missing, and no byte of an array
    with pytest.raises(CorpusError, match="damaged"):
        read_arrays(io.BytesIO(cut))


@given(st.binary(min_size=1, max_size=60))
def test_other_bytes_are_an_error_or_nothing(data: bytes) -> None:
    with contextlib.suppress(CorpusError):
        read_arrays(io.BytesIO(data))


@pytest.mark.parametrize(
    "header",
    [b'[["O", 1]]', b'[["u1", -1]]', b'[["u8", 1e300]]', b'[["u1", 99999999999999999999]]'],
)
def test_no_other_type_and_no_other_length_is_read(header: bytes) -> None:
    with pytest.raises(CorpusError):
        read_arrays(io.BytesIO(header + b"\nabc"))
