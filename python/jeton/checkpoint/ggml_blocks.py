"""Blocks of quantised values as ggml has them: to float32, and back.

Layouts are those of ggml-quants.c, compared with the `gguf` package (2026-11-28). Rounding of new
values is that of the simple reference functions there: the largest value of a block sets its scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.checkpoint.rows import decoded, encoded

Values = NDArray[Any]
"""Floats, float32 (n_rows, n)."""
Bytes = NDArray[Any]
"""Bytes, uint8 (n_rows, n)."""


def from_blocks(type_name: str, data: bytes, n_columns: int) -> Values:
    """Returns the values of whole rows, float32 (n_rows, n_columns)."""
    if type_name in ("F32", "F16", "BF16"):
        return decoded(type_name, data).reshape(-1, n_columns)
    size, read = _READERS[type_name]
    blocks = np.frombuffer(data, dtype=np.uint8).reshape(-1, size)
    return read(blocks).reshape(-1, n_columns).astype(np.float32)


def to_blocks(type_name: str, values: Values) -> bytes:
    """Returns the blocks of rows."""
    if type_name in ("F32", "F16", "BF16"):
        return encoded(type_name, values)
    n = 256 if type_name.endswith("_K") else 32
    return _WRITERS[type_name](np.ascontiguousarray(values, np.float32).reshape(-1, n)).tobytes()


def _half(blocks: Bytes, at: int) -> NDArray[np.float32]:
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _halves(values: NDArray[Any]) -> Bytes:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values.astype("<f2")).view(np.uint8).reshape(len(values), 2)


def _nibbles(packed: Bytes) -> Bytes:
    # The first half of a block is in the low nibbles.
    return np.concatenate([packed & 15, packed >> 4], axis=1)


def _packed(nibbles: NDArray[Any]) -> NDArray[Any]:
    half = nibbles.shape[1] // 2
    packed: NDArray[Any] = nibbles[:, :half] | (nibbles[:, half:] << 4)
    return packed


def _fifth_bits(blocks: Bytes, at: int) -> NDArray[np.uint8]:
    bits = np.ascontiguousarray(blocks[:, at : at + 4]).view("<u4")
    return (bits >> np.arange(32, dtype=np.uint32) & 1).astype(np.uint8)


def _read_q8_0(blocks: Bytes) -> Values:
    values: Values = _half(blocks, 0) * np.ascontiguousarray(blocks[:, 2:]).view(np.int8)
    return values


def _read_q4_0(blocks: Bytes) -> Values:
    values: Values = _half(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)
    return values


def _read_q4_1(blocks: Bytes) -> Values:
    values: Values = _half(blocks, 0) * _nibbles(blocks[:, 4:]).astype(np.float32) + _half(
        blocks, 2
    )
    return values


def _read_q5_0(blocks: Bytes) -> Values:
    whole = _nibbles(blocks[:, 6:]) | (_fifth_bits(blocks, 2) << 4)
    values: Values = _half(blocks, 0) * (whole.astype(np.float32) - 16)
    return values


def _read_q5_1(blocks: Bytes) -> Values:
    whole = _nibbles(blocks[:, 8:]) | (_fifth_bits(blocks, 4) << 4)
    values: Values = _half(blocks, 0) * whole.astype(np.float32) + _half(blocks, 2)
    return values


def _read_q6_k(blocks: Bytes) -> Values:
    low, high = blocks[:, :128].reshape(-1, 2, 2, 32), blocks[:, 128:192].reshape(-1, 2, 1, 32)
    scales = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8).astype(np.float32)
    whole = np.concatenate([low & 15, low >> 4], axis=2)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8).reshape(1, 1, 4, 1)
    whole = whole | ((high >> shifts & 3) << 4)
    signed = whole.astype(np.float32).reshape(-1, 16, 16) - 32
    values: Values = (_half(blocks, 208)[:, :, None] * scales[:, :, None] * signed).reshape(-1, 256)
    return values


def _write_q8_0(values: Values) -> Bytes:
    scale = np.abs(values).max(axis=1, keepdims=True) / 127
    whole = np.rint(values / np.where(scale > 0, scale, 1)).astype(np.int8)
    return np.concatenate([_halves(scale), whole.view(np.uint8)], axis=1)


def _signed_largest(values: NDArray[Any]) -> NDArray[Any]:
    places = np.abs(values).argmax(axis=1)
    largest: NDArray[Any] = values[np.arange(len(values)), places][:, None]
    return largest


def _write_q4_0(values: Values) -> Bytes:
    scale = _signed_largest(values) / -8
    whole = np.floor(values / np.where(scale != 0, scale, 1) + 8.5)
    nibbles = np.clip(whole, 0, 15).astype(np.uint8)
    return np.concatenate([_halves(scale), _packed(nibbles)], axis=1)


def _write_q4_1(values: Values) -> Bytes:
    least = values.min(axis=1, keepdims=True)
    scale = (values.max(axis=1, keepdims=True) - least) / 15
    whole = np.floor((values - least) / np.where(scale > 0, scale, 1) + 0.5)
    nibbles = np.clip(whole, 0, 15).astype(np.uint8)
    return np.concatenate([_halves(scale), _halves(least), _packed(nibbles)], axis=1)


def _bits_of(whole: Bytes) -> Bytes:
    return np.packbits(whole >> 4 & 1, axis=1, bitorder="little")


def _write_q5_0(values: Values) -> Bytes:
    scale = _signed_largest(values) / -16
    whole = np.floor(values / np.where(scale != 0, scale, 1) + 16.5)
    fives = np.clip(whole, 0, 31).astype(np.uint8)
    return np.concatenate([_halves(scale), _bits_of(fives), _packed(fives & 15)], axis=1)


def _write_q5_1(values: Values) -> Bytes:
    least = values.min(axis=1, keepdims=True)
    scale = (values.max(axis=1, keepdims=True) - least) / 31
    whole = np.floor((values - least) / np.where(scale > 0, scale, 1) + 0.5)
    fives = np.clip(whole, 0, 31).astype(np.uint8)
    parts = [_halves(scale), _halves(least), _bits_of(fives), _packed(fives & 15)]
    return np.concatenate(parts, axis=1)


def _write_q6_k(values: Values) -> Bytes:
    groups = values.reshape(-1, 16)
    scales = (_signed_largest(groups) / -32).reshape(-1, 16)
    largest = _signed_largest(scales)
    step = np.where(largest != 0, largest / -128, 0).astype("<f2").astype(np.float32)
    whole_scales = np.rint(scales / np.where(step != 0, step, 1)).clip(-128, 127).astype(np.int8)
    by = (step * whole_scales)[:, :, None]
    whole = np.rint(values.reshape(-1, 16, 16) / np.where(by != 0, by, 1))
    sixes = (np.clip(np.where(by != 0, whole, 0), -32, 31) + 32).astype(np.uint8)
    quarters = sixes.reshape(-1, 2, 4, 32)
    low = (quarters[:, :, :2] & 15) | ((quarters[:, :, 2:] & 15) << 4)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8).reshape(1, 1, 4, 1)
    high = np.bitwise_or.reduce((quarters >> 4) << shifts, axis=2)
    n = len(step)
    parts = [low.reshape(n, 128), high.reshape(n, 64), whole_scales.view(np.uint8), _halves(step)]
    return np.concatenate(parts, axis=1)


_READERS: dict[str, tuple[int, Callable[[Bytes], Values]]] = {
    "Q8_0": (34, _read_q8_0),
    "Q4_0": (18, _read_q4_0),
    "Q4_1": (20, _read_q4_1),
    "Q5_0": (22, _read_q5_0),
    "Q5_1": (24, _read_q5_1),
    "Q6_K": (210, _read_q6_k),
}
_WRITERS: dict[str, Callable[[Values], Bytes]] = {
    "Q8_0": _write_q8_0,
    "Q4_0": _write_q4_0,
    "Q4_1": _write_q4_1,
    "Q5_0": _write_q5_0,
    "Q5_1": _write_q5_1,
    "Q6_K": _write_q6_k,
}
CAN_ENCODE = frozenset({"F32", "F16", "BF16", *_WRITERS})
"""Names of the types that new values can be stored in."""
