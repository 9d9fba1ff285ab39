"""Records of arrays in a file, one behind the other: how a run keeps what waits on the disk.

A record is a line of JSON (type and length of each array) and the bytes of the arrays. Nothing in
it can run, unlike a pickle: the files lie in the output folder, where others may be able to write.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton._foreign import json_of
from jeton.errors import CorpusError

if TYPE_CHECKING:
    from jeton._core import TextBatch

DTYPES = frozenset({"u1", "u2", "u4", "u8", "i4", "i8"})
MAX_HEADER_BYTES = 4_096
"""A header has some dozens of bytes; a longer line is none."""


def write_arrays(stream: IO[bytes], arrays: Sequence[NDArray[Any]]) -> None:
    """Append a record of one-dimensional arrays of integers."""
    little = [np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")) for array in arrays]
    header = [[f"{array.dtype.kind}{array.dtype.itemsize}", len(array)] for array in little]
    stream.write(json.dumps(header).encode() + b"\n")
    for array in little:
        stream.write(array.data)


def read_arrays(stream: IO[bytes], *, n_skipped: int = 0) -> list[NDArray[Any]]:
    """Read the next record.

    Args:
        stream: The file.
        n_skipped: First arrays that are passed over: they come as zeros that take no memory.

    Raises:
        EOFError: There is none.
        CorpusError: The bytes are no whole record.
    """
    line = stream.readline(MAX_HEADER_BYTES)
    if not line:
        raise EOFError
    arrays: list[NDArray[Any]] = []
    try:
        for dtype, length in json_of(line):
            if dtype not in DTYPES or length < 0:
                raise ValueError(dtype)
            n_bytes = int(dtype[1]) * int(length)
            if len(arrays) < n_skipped:
                stream.seek(n_bytes, os.SEEK_CUR)
                arrays.append(np.broadcast_to(np.zeros((), f"<{dtype}"), length))
                continue
            array = np.frombuffer(stream.read(n_bytes), dtype=f"<{dtype}")
            if len(array) != length:
                raise ValueError(length)
            arrays.append(array)
    except (ValueError, TypeError, OverflowError, MemoryError):
        name = getattr(stream, "name", "a temporary file")
        raise CorpusError(
            f"{name}: a record of arrays is damaged\nhint: remove the output folder and start over"
        ) from None
    return arrays


def text_arrays(texts: Sequence[str] | TextBatch) -> list[NDArray[Any]]:
    """Return texts as two arrays: UTF-8 uint8 (n_bytes,) and offsets int64 (n_texts + 1,)."""
    coded = [text.encode() for text in texts]
    offsets = np.zeros(len(coded) + 1, np.int64)
    np.cumsum([len(text) for text in coded], out=offsets[1:])
    return [np.frombuffer(b"".join(coded), np.uint8), offsets]


def read_texts(arrays: Sequence[NDArray[Any]]) -> list[str]:
    """Return the texts of ``text_arrays``."""
    data, offsets = arrays[0].tobytes(), arrays[1].tolist()
    return [data[a:b].decode() for a, b in itertools.pairwise(offsets)]
