"""Storage of one matrix: plain values, or quantised ones and the scales beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from jeton.adapt.weights.blocks import BlockScaled, PackedAffine
from jeton.adapt.weights.matrices import Columns, Matrix, OpenFiles, Plain, ScaledRows
from jeton.checkpoint.copying import read_exactly
from jeton.checkpoint.rows import QUANTIZED, can_encode, decoded
from jeton.checkpoint.safetensors import Tensor
from jeton.errors import AdaptError

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
