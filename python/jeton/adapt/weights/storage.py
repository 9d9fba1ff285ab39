"""Storage of one matrix: plain values, or quantised ones and the scales beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.weights.matrices import (
    Columns,
    Matrix,
    OpenFiles,
    Plain,
    ScaledRows,
    Values,
    take_rows,
)
from jeton.checkpoint.copying import read_exactly
from jeton.checkpoint.rows import QUANTIZED, can_encode, decoded, encoded
from jeton.checkpoint.safetensors import Tensor
from jeton.errors import AdaptError

# Matrices whose values share scales: by tiles of rows and columns, or by groups within a row.

_LARGEST_E4M3 = 448.0


class BlockScaled:
    """8-bit floats with one scale for each tile of, mostly, 128 x 128 values.

    Rows of one tile share its scale, so that rows can be added at the end and taken from there, and
    not moved. New rows in a tile that is there are stored by its scale.
    """

    def __init__(self, tensor: Tensor, scales: Tensor, block: tuple[int, int]) -> None:
        self.tensors = (tensor, scales)
        self.n_rows, self.n_columns = tensor.shape
        self.block_rows, self._block_columns = block
        self._factors: NDArray[np.float32] | None = None

    def factors(self, files: OpenFiles) -> NDArray[np.float32]:
        """Returns the scales of all tiles."""
        if self._factors is None:
            scales = self.tensors[1]
            data = read_exactly(files[scales.file], scales.offset, scales.n_bytes)
            self._factors = decoded(scales.dtype, data).reshape(scales.shape)
        return self._factors

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows."""
        tensor = self.tensors[0]
        data = take_rows(files, tensor, self.n_rows, rows)
        values = decoded(tensor.dtype, data).reshape(len(rows), self.n_columns)
        return values * self._wide(self.factors(files)[rows // self.block_rows])

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns the bytes of new rows."""
        tensor, scales = self.tensors
        tiles = np.arange(first_row, first_row + len(values)) // self.block_rows
        factors = self._tile_factors(values, tiles)
        if part == 1:
            first = np.flatnonzero(np.diff(tiles, prepend=-1))
            return encoded(scales.dtype, factors[first])
        return encoded(tensor.dtype, values / self._wide(factors))

    def _tile_factors(self, values: Values, tiles: NDArray[np.int64]) -> NDArray[np.float32]:
        """The scale of each row and tile of columns."""
        starts = np.arange(0, self.n_columns, self._block_columns)
        largest = np.maximum.reduceat(np.abs(values), starts, axis=1)
        factors = np.empty_like(largest)
        known = self._factors
        for tile in np.unique(tiles):
            inside = tiles == tile
            if known is not None and tile < len(known):
                factors[inside] = known[tile]
                continue
            made = largest[inside].max(axis=0) / _LARGEST_E4M3
            factors[inside] = np.where(made > 0, made, 1.0)
        written = encoded(self.tensors[1].dtype, factors)
        return decoded(self.tensors[1].dtype, written).reshape(factors.shape)

    def _wide(self, factors: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.repeat(factors, self._block_columns, axis=1)[:, : self.n_columns]


class PackedAffine:
    """MLX: whole numbers of few bits, packed into 32, with a scale and a bias for each group."""

    def __init__(self, tensor: Tensor, scales: Tensor, biases: Tensor) -> None:
        self.tensors = (tensor, scales, biases)
        self.n_rows = tensor.shape[0]
        n_packed, n_groups = tensor.shape[1], scales.shape[1]
        # Groups have 32, 64 or 128 values; of 2, 4 or 8 bits only one fits.
        fitting = [
            (bits, group)
            for group in (64, 32, 128)
            for bits in (4, 8, 2)
            if n_packed * 32 == n_groups * group * bits
        ]
        if not fitting:
            raise AdaptError(
                f"{tensor.name!r} in {tensor.file} is packed in a way that is not known\n"
                "hint: change the vocabulary before the model is quantised"
            )
        self._bits, self._group = fitting[0]
        self.n_columns = n_groups * self._group

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows."""
        tensor, scales, biases = self.tensors
        packed = np.frombuffer(take_rows(files, tensor, self.n_rows, rows), dtype="<u4")
        shifts = np.arange(0, 32, self._bits, dtype=np.uint32)
        whole = packed[:, None] >> shifts & np.uint32((1 << self._bits) - 1)
        whole = whole.reshape(len(rows), -1, self._group).astype(np.float32)
        parts = [
            decoded(t.dtype, take_rows(files, t, self.n_rows, rows)).reshape(len(rows), -1, 1)
            for t in (scales, biases)
        ]
        return (whole * parts[0] + parts[1]).reshape(len(rows), self.n_columns)

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns the bytes of new rows."""
        _, scales, biases = self.tensors
        groups = values.reshape(len(values), -1, self._group)
        least, most = groups.min(axis=2), groups.max(axis=2)
        steps = (most - least) / np.float32((1 << self._bits) - 1)
        written = (
            encoded(scales.dtype, np.where(steps > 0, steps, 1.0)),
            encoded(biases.dtype, least),
        )
        if part:
            return written[part - 1]
        factors, offsets = (
            decoded(t.dtype, data).reshape(*least.shape, 1)
            for t, data in zip((scales, biases), written, strict=True)
        )
        whole = np.rint((groups - offsets) / factors)
        whole = np.clip(whole, 0, (1 << self._bits) - 1).astype(np.uint32)
        per_word = 32 // self._bits
        shifts = np.arange(0, 32, self._bits, dtype=np.uint32)
        words = whole.reshape(-1, per_word) << shifts
        joined: NDArray[np.uint32] = np.bitwise_or.reduce(words, axis=1)
        return joined.astype("<u4").tobytes()


_SCALES = ("weight_scale", "weight_scale_inv", "scale", "scales")
_BESIDE = (*_SCALES, "biases", "weight_zero_point", "input_scale", "qzeros", "g_idx")
_PACKED = ("qweight", "qzeros", "g_idx", "weight_packed", "weight_q")


@dataclass(frozen=True, slots=True)
class Stored:
    """A matrix and the tensors that change with it.

    Attributes:
        matrix: The matrix.
        by_columns: True if tokens lie along the second axis.
    """

    matrix: Matrix
    by_columns: bool = False


def stem_of(name: str) -> str:
    """Returns a name without its last part, ``lm_head`` of ``lm_head.weight``."""
    return name.rpartition(".")[0]


def companions(name: str, tensors: Mapping[str, Tensor]) -> list[str]:
    """Returns the tensors that hold scales and the like of a matrix."""
    stem = stem_of(name)
    return [full for last in _BESIDE if (full := f"{stem}.{last}") in tensors and full != name]


def is_packed(name: str, tensors: Mapping[str, Tensor]) -> bool:
    """True if the matrix of this name is stored by columns of packed integers."""
    stem = stem_of(name)
    return any(f"{stem}.{last}" in tensors for last in _PACKED)


def stored_matrix(
    tensor: Tensor,
    tensors: Mapping[str, Tensor],
    files: OpenFiles,
    *,
    by_columns: bool = False,
    is_row: bool = False,
) -> Stored:
    """Returns how a matrix is stored.

    Raises:
        AdaptError: Its scales have a shape that is not known.
    """
    if is_row:
        return Stored(Plain(tensor, is_row=True))
    if by_columns:
        return Stored(Columns(tensor), by_columns=True)
    stem = stem_of(tensor.name)
    scales = next((tensors[f"{stem}.{s}"] for s in _SCALES if f"{stem}.{s}" in tensors), None)
    if scales is None or (tensor.dtype not in QUANTIZED and tensor.dtype != "U32"):
        return Stored(Plain(tensor))
    n_rows = tensor.shape[0]
    n_scales = math.prod(scales.shape)
    biases = tensors.get(f"{stem}.biases")
    if tensor.dtype == "U32" and biases is not None and scales.shape[:1] == (n_rows,):
        return Stored(PackedAffine(tensor, scales, biases))
    if n_scales == 1 and can_encode(scales.dtype):
        data = read_exactly(files[scales.file], scales.offset, scales.n_bytes)
        return Stored(Plain(tensor, factor=float(decoded(scales.dtype, data)[0])))
    if n_scales == n_rows and scales.shape[0] == n_rows:
        return Stored(ScaledRows(tensor, scales))
    if len(scales.shape) == 2 and len(tensor.shape) == 2:
        block = _block(tensor.shape, scales.shape)
        if block is not None:
            return Stored(BlockScaled(tensor, scales, block))
    raise AdaptError(
        f"{scales.name!r} in {scales.file} has the shape {list(scales.shape)} beside "
        f"{list(tensor.shape)}; scales of that shape are not known\n"
        "hint: change the vocabulary before the model is quantised"
    )


def _block(shape: tuple[int, ...], scales: tuple[int, ...]) -> tuple[int, int] | None:
    """The size of the blocks that share a scale."""
    found = []
    for size, n in zip(shape, scales, strict=True):
        fitting = [b for b in (128, 64, 32, 256) if n and math.ceil(size / b) == n]
        if not fitting:
            return None
        found.append(fitting[0])
    return int(np.int64(found[0])), found[1]
