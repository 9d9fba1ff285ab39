"""Rows of a matrix in a safetensors file, read one block at a time.

A row of an embedding matrix is what a model knows of a token. Values become float32, whatever
they are stored as; a matrix is never held as a whole.

Elements of tensors: stored bytes to float32, and float32 to the nearest stored value.

Rounding goes to the nearest value, ties to the even one, as the reference does for every type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from jeton.checkpoint.safetensors import BITS, Tensor
from jeton.errors import FormatError, UsageError

QUANTIZED = frozenset({"I8", "U8", "F8_E4M3", "F8_E5M2"})
"""Types whose values are usually multiplied by scales that stand elsewhere."""

_INTEGERS = {"I8": "<i1", "U8": "<u1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}
_FLOATS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}


def decoded(dtype: str, data: bytes) -> NDArray[np.float32]:
    """Returns the values of stored bytes, float32 (n_elements,)."""
    return READERS[dtype](data)


def can_encode(dtype: str) -> bool:
    """True if values can be stored in the type."""
    return dtype in READERS


def encoded(dtype: str, values: NDArray[np.floating]) -> bytes:
    """Returns the bytes of the nearest values that the type has.

    A value beyond the range of an 8-bit float or an integer becomes the end of the range. A
    half-precision float becomes infinite, as in the reference.
    """
    if dtype in _FLOATS:
        with np.errstate(over="ignore"):
            return np.asarray(values, dtype=_FLOATS[dtype]).tobytes()
    if dtype == "BF16":
        return _to_bfloat16(np.asarray(values, dtype=np.float32))
    if dtype in _INTEGERS:
        limits = np.iinfo(_INTEGERS[dtype])
        rounded = np.rint(np.nan_to_num(np.asarray(values, dtype=np.float64)))
        return np.clip(rounded, limits.min, limits.max).astype(_INTEGERS[dtype]).tobytes()
    exponent_bits, has_infinity = _FLOAT8[dtype]
    return _to_float8(np.asarray(values, dtype=np.float32), exponent_bits, has_infinity)


def _to_bfloat16(values: NDArray[np.float32]) -> bytes:
    bits = values.reshape(-1).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    # Rounding would turn a NaN whose upper half is all ones into something else.
    return np.where(np.isnan(values.reshape(-1)), 0x7FC0, rounded).astype("<u2").tobytes()


def _to_float8(
    values: NDArray[np.float32],
    exponent_bits: int,
    has_infinity: bool,  # noqa: FBT001
) -> bytes:
    positive = _float8_table(exponent_bits, has_infinity)[:128].astype(np.float64)
    known = positive[np.isfinite(positive)]
    sizes = np.abs(np.nan_to_num(values.reshape(-1).astype(np.float64), posinf=known[-1]))
    # Codes of finite values ascend with their values, so the place is the code.
    above = np.clip(np.searchsorted(known, sizes), 1, len(known) - 1)
    below = above - 1
    to_above, to_below = known[above] - sizes, sizes - known[below]
    is_below = (to_below < to_above) | ((to_below == to_above) & (below % 2 == 0))
    codes = np.where(is_below, below, above).astype(np.uint8)
    return (codes | (np.signbit(values.reshape(-1)).astype(np.uint8) << 7)).tobytes()


def _plain(dtype: str) -> Callable[[bytes], NDArray[np.float32]]:
    def decode(data: bytes) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return np.frombuffer(data, dtype=dtype).astype(np.float32)

    return decode


def _bfloat16(data: bytes) -> NDArray[np.float32]:
    # bfloat16 is the upper half of a float32.
    upper = np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16
    return upper.view(np.float32)


def _float8(exponent_bits: int, *, has_infinity: bool) -> Callable[[bytes], NDArray[np.float32]]:
    def decode(data: bytes) -> NDArray[np.float32]:
        return _float8_table(exponent_bits, has_infinity)[np.frombuffer(data, dtype=np.uint8)]

    return decode


@cache
def _float8_table(exponent_bits: int, has_infinity: bool) -> NDArray[np.float32]:  # noqa: FBT001
    """All 256 values of an 8-bit float (OCP 8-bit Floating Point Specification 1.0, 2023-06)."""
    mantissa_bits = 7 - exponent_bits
    bias = (1 << (exponent_bits - 1)) - 1
    top = (1 << exponent_bits) - 1
    values = np.empty(256, dtype=np.float32)
    for code in range(256):
        exponent = code >> mantissa_bits & top
        mantissa = code & ((1 << mantissa_bits) - 1)
        fraction = mantissa / (1 << mantissa_bits)
        if exponent == top and has_infinity:
            value = np.inf if mantissa == 0 else np.nan
        elif exponent == top and mantissa == (1 << mantissa_bits) - 1 and not has_infinity:
            # E4M3 has no infinity; only this code is no number.
            value = np.nan
        elif exponent == 0:
            value = fraction * 2.0 ** (1 - bias)
        else:
            value = (1 + fraction) * 2.0 ** (exponent - bias)
        values[code] = -value if code & 0x80 else value
    return values


READERS: dict[str, Callable[[bytes], NDArray[np.float32]]] = {
    "F64": _plain("<f8"),
    "F32": _plain("<f4"),
    "F16": _plain("<f2"),
    "BF16": _bfloat16,
    "F8_E4M3": _float8(4, has_infinity=False),
    "F8_E5M2": _float8(5, has_infinity=True),
    "I8": _plain("<i1"),
    "U8": _plain("<u1"),
}
"""Functions from stored bytes to values, by the name of a type."""

_FLOAT8 = {"F8_E4M3": (4, False), "F8_E5M2": (5, True)}
"""Bits of the exponent, and True if there is an infinity."""


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
