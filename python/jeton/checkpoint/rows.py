"""Rows of a matrix in a safetensors file, read one block at a time.

A row of an embedding matrix is what a model knows of a token. Values become float32, whatever
they are stored as; a matrix is never held as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.checkpoint.elements import QUANTIZED, READERS
from jeton.checkpoint.safetensors import BITS, Tensor
from jeton.errors import FormatError, UsageError

_BLOCK_BYTES = 16 << 20
"""Bytes of a file that are read at once."""


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """Statistics of all rows of a matrix.

    Attributes:
        norms: Euclidean length of each row, float64 (n_rows,); infinite where it overflows, NaN
            where a value is NaN.
        is_finite: True if every value of a row is a number, bool (n_rows,).
        median_norm: Median length of the rows that are finite and not all zeros; 0 without one.
        is_quantized: The values are whole numbers whose scales stand elsewhere, so that lengths of
            different rows may not be comparable.
    """

    norms: NDArray[np.float64]
    is_finite: NDArray[np.bool_]
    median_norm: float
    is_quantized: bool

    @property
    def is_zero(self) -> NDArray[np.bool_]:
        """True if every value of a row is zero, bool (n_rows,)."""
        zero: NDArray[np.bool_] = self.norms == 0.0
        return zero


def can_read_rows(tensor: Tensor) -> bool:
    """True if it is a matrix of a type whose values can be told."""
    return len(tensor.shape) == 2 and tensor.dtype in READERS


def read_rows(tensor: Tensor, rows: Iterable[int]) -> NDArray[np.float32]:
    """Single rows of a matrix, float32 (n, n_columns), in the order asked for.

    Raises:
        FormatError: It is no matrix, or of a type that is not known; or the file changed.
        UsageError: A row is not there.
        OSError: The file cannot be read.
    """
    decode, row_bytes = _plan(tensor)
    wanted = list(rows)
    out = np.empty((len(wanted), tensor.shape[1]), dtype=np.float32)
    with tensor.file.open("rb") as stream:
        for index, row in enumerate(wanted):
            if not 0 <= row < tensor.shape[0]:
                raise UsageError(f"row {row} of {tensor.name!r}, which has {tensor.shape[0]:,}")
            stream.seek(tensor.offset + row * row_bytes)
            out[index] = decode(_whole(tensor, stream.read(row_bytes), row_bytes))
    return out


def row_statistics(tensor: Tensor) -> RowStatistics:
    """Lengths of all rows, in one pass over the matrix.

    Raises:
        FormatError: It is no matrix, or of a type that is not known; or the file changed.
        OSError: The file cannot be read.
    """
    norms = np.empty(tensor.shape[0], dtype=np.float64)
    is_finite = np.empty(tensor.shape[0], dtype=np.bool_)
    at = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for block in row_blocks(tensor):
            after = at + len(block)
            # The squares of float32 may be too large for float32.
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            norms[at:after] = np.sqrt(squares)
            is_finite[at:after] = np.isfinite(squares)
            at = after
    known = norms[is_finite & (norms > 0)]
    median = float(np.median(known)) if len(known) else 0.0
    return RowStatistics(norms, is_finite, median, tensor.dtype in QUANTIZED)


def row_blocks(tensor: Tensor) -> Iterator[NDArray[np.float32]]:
    """Yield the rows of a matrix in blocks of bounded size, float32 (n, n_columns).

    Raises:
        FormatError: It is no matrix, or of a type that is not known; or the file changed.
        OSError: The file cannot be read.
    """
    decode, row_bytes = _plan(tensor)
    n_rows, n_columns = tensor.shape
    at_once = max(1, _BLOCK_BYTES // max(row_bytes, 1))
    with tensor.file.open("rb") as stream:
        stream.seek(tensor.offset)
        for start in range(0, n_rows, at_once):
            n = min(at_once, n_rows - start)
            data = _whole(tensor, stream.read(n * row_bytes), n * row_bytes)
            yield decode(data).reshape(n, n_columns)


def _plan(tensor: Tensor) -> tuple[Callable[[bytes], NDArray[np.float32]], int]:
    if len(tensor.shape) != 2:
        raise FormatError(
            f"{tensor.name!r} in {tensor.file} has {len(tensor.shape)} dimensions; expected a "
            "matrix",
            path=str(tensor.file),
            format="safetensors",
        )
    decode = READERS.get(tensor.dtype)
    if decode is None:
        raise FormatError(
            f"{tensor.name!r} in {tensor.file} is {tensor.dtype}, whose rows cannot be read; known "
            f"are {', '.join(sorted(READERS))}",
            path=str(tensor.file),
            format="safetensors",
        )
    return decode, tensor.shape[1] * BITS[tensor.dtype] // 8


def _whole(tensor: Tensor, data: bytes, n_bytes: int) -> bytes:
    if len(data) != n_bytes:
        raise FormatError(
            f"{tensor.file} became shorter while it was read\nhint: is it still being written?",
            path=str(tensor.file),
            format="safetensors",
        )
    return data
