"""GGUF files with every key and every tensor, so that they can be written again.

``jeton.formats.gguf`` gives what a loader needs and skips long arrays; here values keep their raw
bytes, and those that nobody changes are written as they were read. Version 3, little-endian.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jeton.formats.gguf import ARRAY, MAX_ITEMS, SCALARS, TEXT, GgufReader

_SIZES = {kind: struct.calcsize("=" + code) for kind, code in SCALARS.items()}

BLOCKS = {
    0: (1, 4, "F32"), 1: (1, 2, "F16"), 2: (32, 18, "Q4_0"), 3: (32, 20, "Q4_1"),
    6: (32, 22, "Q5_0"), 7: (32, 24, "Q5_1"), 8: (32, 34, "Q8_0"), 9: (32, 36, "Q8_1"),
    10: (256, 84, "Q2_K"), 11: (256, 110, "Q3_K"), 12: (256, 144, "Q4_K"), 13: (256, 176, "Q5_K"),
    14: (256, 210, "Q6_K"), 15: (256, 292, "Q8_K"), 16: (256, 66, "IQ2_XXS"),
    17: (256, 74, "IQ2_XS"), 18: (256, 98, "IQ3_XXS"), 19: (256, 50, "IQ1_S"),
    20: (32, 18, "IQ4_NL"),
    21: (256, 110, "IQ3_S"), 22: (256, 82, "IQ2_S"), 23: (256, 136, "IQ4_XS"), 24: (1, 1, "I8"),
    25: (1, 2, "I16"), 26: (1, 4, "I32"), 27: (1, 8, "I64"), 28: (1, 8, "F64"),
    29: (256, 56, "IQ1_M"), 30: (1, 2, "BF16"), 34: (256, 54, "TQ1_0"), 35: (256, 66, "TQ2_0"),
    39: (32, 17, "MXFP4"),
}  # fmt: skip
"""Values of a block, its bytes and its name, by the number of a type in ggml.h.

Written from memory; the types in use were compared with the `gguf` package, 2026-11-28.
"""


@dataclass(frozen=True, slots=True)
class Value:
    """A value as the file has it: the number of its type and its bytes."""

    kind: int
    data: bytes

    @property
    def number(self) -> int | None:
        """The value of an integer; None for any other type."""
        if self.kind in (6, 7, 12) or self.kind not in SCALARS:
            return None
        found: int = struct.unpack("<" + SCALARS[self.kind], self.data)[0]
        return found

    @property
    def text(self) -> str | None:
        """The value of a text; None for any other type."""
        return self.data[8:].decode("utf-8", "replace") if self.kind == TEXT else None

    def texts(self) -> list[bytes]:
        """Returns the items of an array of texts."""
        kind, n = struct.unpack_from("<IQ", self.data)
        if kind != TEXT:
            return []
        items, at = [], 12
        for _ in range(n):
            size = int.from_bytes(self.data[at : at + 8], "little")
            items.append(self.data[at + 8 : at + 8 + size])
            at += 8 + size
        return items

    def numbers(self) -> list[float]:
        """Returns the items of an array of numbers."""
        kind, n = struct.unpack_from("<IQ", self.data)
        if kind not in SCALARS:
            return []
        return list(struct.unpack_from(f"<{n}{SCALARS[kind]}", self.data, 12))


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a file.

    Attributes:
        name: Its name.
        shape: (n_rows, n_columns), in the order of NumPy.
        kind: Number of its type.
        offset: Its first byte, from the beginning of the file.
        n_bytes: Bytes that it takes.
    """

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    n_bytes: int

    @property
    def type_name(self) -> str:
        """Name of its type, ``Q8_0``."""
        return BLOCKS[self.kind][2]


@dataclass(frozen=True, slots=True)
class GgufFile:
    """All keys and tensors of a file, in its order."""

    path: Path
    values: Mapping[str, Value]
    tensors: Mapping[str, StoredTensor]
    alignment: int

    @property
    def architecture(self) -> str:
        """Prefix of the model's own keys."""
        value = self.values.get("general.architecture")
        return (value.text if value is not None else None) or ""


def row_bytes(kind: int, n_columns: int) -> int:
    """Returns the bytes of one row; blocks never cross a row."""
    n, size, _ = BLOCKS[kind]
    return n_columns // n * size


def number_value(like: Value, number: int) -> Value:
    """Returns an integer in the type of another one."""
    return Value(like.kind, struct.pack("<" + SCALARS[like.kind], number))


def texts_value(items: Sequence[bytes]) -> Value:
    """Returns an array of texts."""
    parts = [struct.pack("<IQ", TEXT, len(items))]
    for item in items:
        parts += [len(item).to_bytes(8, "little"), item]
    return Value(ARRAY, b"".join(parts))


def array_value(like: Value, items: Iterable[float]) -> Value:
    """Returns an array of numbers in the type of another one."""
    kind = int.from_bytes(like.data[:4], "little")
    listed = list(items)
    packed = struct.pack(f"<{len(listed)}{SCALARS[kind]}", *listed)
    return Value(ARRAY, struct.pack("<IQ", kind, len(listed)) + packed)


def header_bytes(
    values: Mapping[str, Value],
    tensors: Sequence[tuple[str, tuple[int, ...], int, int]],
    alignment: int,
) -> bytes:
    """Returns all that stands before the tensors' bytes.

    ``tensors`` are names, shapes, types and offsets from the beginning of the data.
    """
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))]
    for key, value in values.items():
        name = key.encode("utf-8")
        parts += [struct.pack("<Q", len(name)), name, struct.pack("<I", value.kind), value.data]
    for tensor, shape, kind, offset in tensors:
        name = tensor.encode("utf-8")
        dims = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        parts += [struct.pack("<Q", len(name)), name, dims, struct.pack("<IQ", kind, offset)]
    data = b"".join(parts)
    return data + bytes(-len(data) % alignment)


def read_gguf_file(path: str | os.PathLike[str]) -> GgufFile:
    """Read all keys and the places of all tensors.

    Raises:
        FormatError: It is no GGUF file of version 3, is cut off, or contradicts itself.
        LimitError: It has more of something than any model.
        OSError: It cannot be read.
    """
    file = Path(path)
    with file.open("rb") as stream:
        reader = _Reader(stream, file)
        return reader.whole(os.fstat(stream.fileno()).st_size)


class _Reader(GgufReader):
    def whole(self, n_file_bytes: int) -> GgufFile:
        n_tensors, n_values = self._head()
        values: dict[str, Value] = {}
        for _ in range(n_values):
            key = self._text()
            if key in values:
                raise self._bad(f"has the key {key[:80]!r} twice")
            kind = self._number("I")
            values[key] = Value(kind, self._value_bytes(kind, depth=0))
        infos = [self._tensor() for _ in range(n_tensors)]
        stated = values.get("general.alignment")
        alignment = 32 if stated is None else stated.number or 0
        if alignment < 8 or alignment % 8 or alignment > 1 << 20:
            raise self._bad(f"has an alignment of {alignment} bytes")
        start = self._at + -self._at % alignment
        tensors: dict[str, StoredTensor] = {}
        for name, shape, kind, offset in infos:
            if name in tensors:
                raise self._bad(f"has the tensor {name[:80]!r} twice")
            n_bytes = row_bytes(kind, shape[-1] if shape else 1) * math.prod(shape[:-1])
            if start + offset + n_bytes > n_file_bytes:
                raise self._bad(f"is cut off within tensor {name[:80]!r}")
            tensors[name] = StoredTensor(name, shape, kind, start + offset, n_bytes)
        return GgufFile(self._file, values, tensors, alignment)

    def _check_version(self, version: int) -> None:
        if version != 3 or self._order != "<":
            raise self._bad(f"is of version {version}; only 3, little-endian, can be written again")

    def _value_bytes(self, kind: int, *, depth: int) -> bytes:
        if kind in _SIZES:
            return self._take(_SIZES[kind])
        if kind == TEXT:
            size = self._take(8)
            return size + self._take(int.from_bytes(size, "little"))
        if kind != ARRAY or depth > 4:
            raise self._bad(f"has a value of the unknown type {kind}")
        head = self._take(12)
        inner, n = struct.unpack("<IQ", head)
        if n > MAX_ITEMS:
            raise self._bad(f"announces an array of {n:,} items")
        if inner in _SIZES:
            return head + self._take(n * _SIZES[inner])
        return head + b"".join(self._value_bytes(inner, depth=depth + 1) for _ in range(n))

    def _tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name, shape, kind, offset = super()._tensor()
        if kind not in BLOCKS:
            raise self._bad(f"has tensor {name[:80]!r} of the unknown type {kind}")
        block = BLOCKS[kind][0]
        if (shape and shape[-1] % block) or any(size >= 1 << 40 for size in shape):
            raise self._bad(f"has tensor {name[:80]!r} whose rows are no whole blocks of {block}")
        return name, shape, kind, offset
