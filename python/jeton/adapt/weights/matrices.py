"""Matrices with one row a token, however they are stored: values out, values in.

A matrix may be several tensors of which each has one row (or one value) a token: quantised values
beside their scales. Rows that survive are moved as bytes; only new rows pass through here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from jeton.checkpoint.configuration import ModelConfiguration
from jeton.checkpoint.copying import BLOCK_BYTES, read_exactly
from jeton.checkpoint.rows import can_encode, decoded, encoded
from jeton.checkpoint.safetensors import BITS, Tensor
from jeton.checkpoint.vocabulary_tensors import Role
from jeton.errors import AdaptError

Values = NDArray[np.float32]


class OpenFiles:
    """Files that are open for reading, each once; closed at the end of a ``with`` block."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._open: dict[Path, IO[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes all of them."""
        self._stack.close()
        self._open.clear()

    def __getitem__(self, path: Path) -> IO[bytes]:
        if path not in self._open:
            if len(self._open) > 64:
                self.close()
            self._open[path] = self._stack.enter_context(path.open("rb", buffering=0))
        return self._open[path]


class Matrix(Protocol):
    """Values of a matrix by row."""

    @property
    def tensors(self) -> Sequence[Tensor]:
        """The tensors that it is stored as."""

    @property
    def n_rows(self) -> int:
        """Rows."""

    @property
    def n_columns(self) -> int:
        """Values of a row."""

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows, float32 (n, n_columns)."""

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns what one of the tensors stores for new rows, from ``first_row`` on."""


class Plain:
    """A tensor whose elements are the values, times one factor.

    With ``is_row`` it is one row that has a value for each token.
    """

    def __init__(self, tensor: Tensor, *, factor: float = 1.0, is_row: bool = False) -> None:
        self.tensors = (tensor,)
        self.n_rows = math.prod(tensor.shape) if is_row else tensor.shape[0] if tensor.shape else 0
        self.n_columns = math.prod(tensor.shape) // self.n_rows if self.n_rows else 0
        self._factor = factor

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows."""
        tensor = self.tensors[0]
        data = take_rows(files, tensor, self.n_rows, rows)
        values = _values(tensor, data).reshape(len(rows), self.n_columns)
        return values if self._factor == 1.0 else values * np.float32(self._factor)

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns the bytes of new rows."""
        tensor = self.tensors[part]
        return _bytes(tensor, values if self._factor == 1.0 else values / self._factor)


class ScaledRows:
    """Quantised values, and a scale for each row."""

    def __init__(self, tensor: Tensor, scales: Tensor) -> None:
        self.tensors = (tensor, scales)
        self.n_rows, self.n_columns = tensor.shape

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows."""
        tensor, scales = self.tensors
        values = _values(tensor, take_rows(files, tensor, self.n_rows, rows))
        factors = _values(scales, take_rows(files, scales, self.n_rows, rows))
        return values.reshape(len(rows), self.n_columns) * factors.reshape(len(rows), 1)

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns the bytes of new rows."""
        tensor, scales = self.tensors
        sizes = np.abs(values).max(axis=1, keepdims=True) if self.n_columns else values
        factors = np.where(sizes > 0, sizes / _LARGEST[tensor.dtype], 1.0).astype(np.float32)
        # The stored scale is the divisor of the values.
        written = _bytes(scales, factors)
        if part == 1:
            return written
        kept = _values(scales, written).reshape(len(values), 1)
        return _bytes(tensor, values / np.where(kept > 0, kept, 1))


class Columns:
    """A tensor with one column a token; it is small enough to be held."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensors = (tensor,)
        self.n_columns, self.n_rows = tensor.shape

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows."""
        tensor = self.tensors[0]
        row_bytes = self.n_rows * BITS[tensor.dtype] // 8
        found = np.empty((len(rows), self.n_columns), dtype=np.float32)
        for i in range(self.n_columns):
            data = read_exactly(files[tensor.file], tensor.offset + i * row_bytes, row_bytes)
            found[:, i] = _values(tensor, data)[rows]
        return found

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns the bytes of new rows."""
        return _bytes(self.tensors[part], values)


class Looked:
    """A matrix whose rows are looked up in a table of places first."""

    def __init__(self, matrix: Matrix, places: NDArray[np.int64]) -> None:
        self._matrix = matrix
        self._places = places
        self.tensors = tuple(matrix.tensors)
        self.n_rows = len(places)
        self.n_columns = matrix.n_columns

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows."""
        return self._matrix.read(files, self._places[rows])

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns the bytes of new rows."""
        return self._matrix.stored(values, part, first_row)


_LARGEST = {"I8": 127.0, "U8": 255.0, "F8_E4M3": 448.0, "F8_E5M2": 57344.0}
"""Largest value that a quantised type has."""


def take_rows(files: OpenFiles, tensor: Tensor, n_rows: int, rows: NDArray[np.int64]) -> bytes:
    """Returns the bytes of some rows of a tensor, one after another."""
    row_bytes = tensor.n_bytes // n_rows if n_rows else 0
    stream = files[tensor.file]
    if not len(rows):
        return b""
    starts = np.flatnonzero(np.diff(rows, prepend=-9) != 1)
    ends = np.append(starts[1:], len(rows))
    return b"".join(
        read_exactly(
            stream, tensor.offset + int(rows[start]) * row_bytes, (end - start) * row_bytes
        )
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    )


def rows_at_once(n_columns: int) -> int:
    """Returns how many rows of float64 fit into one block of memory."""
    return max(1, BLOCK_BYTES // (8 * max(n_columns, 1)))


def _values(tensor: Tensor, data: bytes) -> Values:
    if not can_encode(tensor.dtype):
        raise AdaptError(
            f"{tensor.name!r} in {tensor.file} is {tensor.dtype}, of which no new rows can be made"
            "\nhint: extend the model before it is quantised"
        )
    return decoded(tensor.dtype, data)


def _bytes(tensor: Tensor, values: NDArray[np.floating]) -> bytes:
    if not can_encode(tensor.dtype):
        _values(tensor, b"")
    return encoded(tensor.dtype, values)


# Ties between embeddings and output layers, told by bytes and not by a flag.


def are_equal(one: Tensor, other: Tensor, files: OpenFiles) -> bool:
    """True if two tensors have the same type, shape and bytes."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    for at in range(0, one.n_bytes, BLOCK_BYTES):
        n = min(BLOCK_BYTES, one.n_bytes - at)
        first = read_exactly(files[one.file], one.offset + at, n)
        if first != read_exactly(files[other.file], other.offset + at, n):
            return False
    return True


def tied_names(
    tensors: Mapping[str, Tensor], inputs: Sequence[str], heads: Sequence[str], files: OpenFiles
) -> frozenset[str]:
    """Returns the output layers whose bytes are those of some embeddings."""
    return frozenset(
        head
        for head in heads
        if any(are_equal(tensors[head], tensors[name], files) for name in inputs)
    )


def tie_to_state(
    configuration: ModelConfiguration | None,
    names: Mapping[Role, Sequence[str]],
    tied: frozenset[str],
) -> tuple[bool | None, list[str]]:
    """Returns what ``tie_word_embeddings`` has to become, None where it is right, and notes."""
    heads, inputs = names[Role.HEAD], names[Role.INPUT]
    if configuration is None or not inputs:
        return None, []
    stated = configuration.ties_embeddings
    if not heads:
        if (
            stated is False
            and configuration.architecture is not None
            and (configuration.architecture.endswith(("ForCausalLM", "LMHeadModel")))
        ):
            return None, ["tie_word_embeddings is false and there is no output layer; both stay so"]
        return None, []
    main = min(heads, key=len)
    is_tied = main in tied
    if stated is None or stated is is_tied:
        return None, []
    if is_tied:
        return True, [
            f"tie_word_embeddings was false; {main} has the bytes of {inputs[0]}: now true"
        ]
    return False, [f"tie_word_embeddings was true; {main} differs from {inputs[0]}: now false"]
