"""Megatron's ``.idx`` file: lengths and places of the documents of its ``.bin`` file.

Little-endian: ``MMIDIDX`` and two zero bytes; version 1 as u64; a code of the type as u8; numbers
of sequences and of document bounds as u64; then lengths (i32), byte places (i64) and bounds (i64).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.errors import FormatError

__all__ = ["DocumentIndex", "read_megatron_index"]

_MAGIC = b"MMIDIDX\0\0"
_HEADER_BYTES = 34
_TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
"""Types of ids by code; 6 and 7 are floating-point numbers, which no ids are."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentIndex:
    """Places of documents.

    Attributes:
        dtype: Type of the ids in the ``.bin`` file.
        starts: int64 (n_documents,): place of the first id, counted in ids.
        lengths: int64 (n_documents,): ids of each document.
        ends_bytes: int64 (n_documents,): end of each document in bytes.
    """

    dtype: np.dtype[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ends_bytes: NDArray[np.int64]


def read_megatron_index(path: Path) -> DocumentIndex:
    """Reads an index; sequences of one document are counted together.

    Raises:
        FormatError: The file is damaged.
        OSError: It cannot be read.
    """
    data = path.read_bytes()
    if data[: len(_MAGIC)] != _MAGIC:
        raise _damaged(path, "it does not begin with MMIDIDX")
    if len(data) < _HEADER_BYTES:
        raise _damaged(path, f"it ends after {len(data)} bytes, within its header")
    version, code, n_sequences, n_bounds = struct.unpack_from("<QBQQ", data, len(_MAGIC))
    if version != 1:
        raise _damaged(path, f"its version is {version}; expected 1")
    if code not in _TYPES:
        raise _damaged(path, f"its type has code {code}; expected one of {sorted(_TYPES)}")
    needed = _HEADER_BYTES + 12 * n_sequences + 8 * n_bounds
    if len(data) < needed:
        raise _damaged(path, f"it has {len(data):,} bytes of {needed:,}")
    dtype = np.dtype(_TYPES[code])
    at = _HEADER_BYTES
    sizes = np.frombuffer(data, "<i4", n_sequences, at).astype(np.int64)
    pointers = np.frombuffer(data, "<i8", n_sequences, at + 4 * n_sequences)
    bounds = np.frombuffer(data, "<i8", n_bounds, at + 12 * n_sequences)
    if n_sequences and (sizes.min() < 0 or pointers.min() < 0):
        raise _damaged(path, "a length or a place is negative")
    if (pointers % dtype.itemsize).any():
        raise _damaged(path, f"a place is no multiple of {dtype.itemsize} bytes")
    if n_bounds < 2:
        # Files without documents have one bound, 0, or none.
        bounds = np.arange(n_sequences + 1)
    if bounds[0] != 0 or bounds[-1] != n_sequences or (np.diff(bounds) < 0).any():
        raise _damaged(
            path, f"its documents do not cover its {n_sequences:,} sequences from first to last"
        )
    return _by_document(path, dtype, sizes, pointers.astype(np.int64), bounds.astype(np.int64))


def _by_document(
    path: Path,
    dtype: np.dtype[Any],
    sizes: NDArray[np.int64],
    pointers: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> DocumentIndex:
    ends = pointers + sizes * dtype.itemsize
    is_first = np.zeros(len(sizes) + 1, dtype=bool)
    is_first[bounds] = True
    follows = pointers[1:] == ends[:-1]
    if not (follows | is_first[1:-1]).all():
        raise _damaged(path, "sequences of one document do not lie one after another")
    totals = np.concatenate([[0], np.cumsum(sizes)])
    lengths = totals[bounds[1:]] - totals[bounds[:-1]]
    starts = np.zeros(len(lengths), dtype=np.int64)
    full = bounds[1:] > bounds[:-1]
    starts[full] = pointers[bounds[:-1][full]] // dtype.itemsize
    return DocumentIndex(dtype, starts, lengths, (starts + lengths) * dtype.itemsize)


def _damaged(path: Path, reason: str) -> FormatError:
    return FormatError(
        f"{path}: {reason}\nhint: make the data set again", path=str(path), format="megatron"
    )
