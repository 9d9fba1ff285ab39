"""Metadata of a GGUF file: what llama.cpp is told about a model and its vocabulary.

The core reads the vocabulary itself; this reader gives the other keys, the number of tokens and
the shapes of the tensors. Layout: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>
(version 3; versions 1 and 2, and both byte orders, likewise). Only as much of the file is read as
the metadata takes; each count is checked against the bytes that are there.

``with_pairs`` puts pairs of key and value behind those of a file without tensors, version 3 and
little-endian, as the core writes it. Keys are those of llama.cpp's converter.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from jeton.errors import FormatError, LimitError
from jeton.formats.reading import regular_size

MAX_METADATA_BYTES = 512 << 20
"""Most bytes of metadata that are read; the largest published vocabularies take 20 MB."""
MAX_PAIRS = 1 << 16
MAX_TENSORS = 1 << 20
MAX_ITEMS = 1 << 24

_STEP_BYTES = 1 << 20
"""Bytes that are asked of a file at once."""


MAX_TEXT_BYTES = 16 << 20
"""Longest single text; the longest published are chat templates of 20 kB."""
MAX_KEPT_ITEMS = 64
"""Items of an array that are kept; of longer ones only how many there are."""
MAX_DIMENSIONS = 4

TEXT, ARRAY = 8, 9
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
"""Codes of ``struct`` by the type's number in the file."""


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor's name and shape; ``shape`` is in the order of NumPy, (n_rows, n_columns)."""

    name: str
    shape: tuple[int, ...]
    type_number: int


@dataclass(frozen=True, slots=True)
class GgufModel:
    """Facts from the beginning of a GGUF file.

    Attributes:
        path: The file.
        metadata: Values by key; arrays of more than 64 items are left out.
        lengths: How many items each array has, by key.
        tensors: The tensors by name.
    """

    path: Path
    metadata: Mapping[str, Any]
    lengths: Mapping[str, int]
    tensors: Mapping[str, GgufTensor]

    @property
    def architecture(self) -> str:
        """Name of the kind of model, the prefix of its keys; empty where it is not told."""
        value = self.metadata.get("general.architecture")
        return value if isinstance(value, str) else ""

    @property
    def n_tokens(self) -> int | None:
        """Entries of the vocabulary."""
        return self.lengths.get("tokenizer.ggml.tokens")

    @property
    def n_rows(self) -> int | None:
        """Rows of the embedding matrix; None where it is not in this file."""
        tensor = self.tensors.get("token_embd.weight")
        return tensor.shape[0] if tensor is not None and len(tensor.shape) == 2 else None

    @property
    def context_tokens(self) -> int | None:
        """The longest context that it was made for."""
        value = self.metadata.get(f"{self.architecture}.context_length")
        return value if isinstance(value, int) and value > 0 else None

    def token_id(self, role: str) -> int | None:
        """The id under ``tokenizer.ggml.{role}_token_id``."""
        value = self.metadata.get(f"tokenizer.ggml.{role}_token_id")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_gguf(path: str | os.PathLike[str]) -> GgufModel:
    """Read the metadata of a GGUF file.

    Raises:
        FormatError: It is no GGUF file, or is cut off within the metadata.
        LimitError: It has more of something than any model.
        OSError: It cannot be read.
    """
    file = Path(path)
    regular_size(file, format="GGUF")
    with file.open("rb") as stream:
        return GgufReader(stream, file).model()


def gguf_of_bytes(data: bytes, *, path: str | os.PathLike[str]) -> GgufModel:
    """Read the metadata of a GGUF file in memory; ``path`` is what to call it.

    Raises:
        FormatError, LimitError: As ``read_gguf``.
    """
    return GgufReader(io.BytesIO(data), Path(path)).model()


class GgufReader:
    """Reads a file from its beginning, within limits; its errors name the file and the place."""

    def __init__(self, stream: BinaryIO, file: Path) -> None:
        self._stream = stream
        self._file = file
        self._at = 0
        self._order = "<"
        self._is_wide = True

    def _bad(self, reason: str) -> FormatError:
        return FormatError(
            f"{self._file} {reason}\nhint: fetch or copy it again",
            path=str(self._file),
            format="GGUF",
            offset=self._at,
        )

    def _take(self, n: int) -> bytes:
        if self._at + n > MAX_METADATA_BYTES:
            raise LimitError(
                f"{self._file} has more than {MAX_METADATA_BYTES:,} bytes of metadata\n"
                "hint: no model has so much: fetch or copy the file again",
                what="GGUF metadata",
                limit=MAX_METADATA_BYTES,
            )
        data = self._stream.read(min(n, _STEP_BYTES))
        if n > _STEP_BYTES and len(data) == _STEP_BYTES:
            data = self._long(data, n)
        if len(data) != n:
            raise self._bad(f"is cut off within its metadata, at byte {self._at + len(data):,}")
        self._at += n
        return data

    def _long(self, start: bytes, n: int) -> bytes:
        """Reads on in steps: a stream makes room for all that is asked for, there or not."""
        parts = [start]
        left = n - len(start)
        while left:
            part = self._stream.read(min(left, _STEP_BYTES))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def model(self) -> GgufModel:
        """The metadata, to its end."""
        n_tensors, n_pairs = self._head()
        metadata: dict[str, Any] = {}
        lengths: dict[str, int] = {}
        for _ in range(n_pairs):
            key = self._text()
            if key in metadata or key in lengths:
                raise self._bad(f"has the key {key[:80]!r} twice")
            kind = self._number("I")
            if kind == ARRAY:
                n, items = self._array(depth=1)
                lengths[key] = n
                if items is not None:
                    metadata[key] = items
            else:
                metadata[key] = self._value(kind)
        tensors = {}
        for _ in range(n_tensors):
            name, shape, type_number, _ = self._tensor()
            tensors[name] = GgufTensor(name, shape, type_number)
        return GgufModel(self._file, metadata, lengths, tensors)

    def _head(self) -> tuple[int, int]:
        """Numbers of tensors and of pairs, behind the magic and the version."""
        if self._take(4) != b"GGUF":
            raise self._bad("does not begin with GGUF")
        version = int.from_bytes(self._take(4), "little")
        if version and not version & 0xFFFF:
            # Versions are small: one in the other byte order has an empty lower half.
            self._order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        self._check_version(version)
        self._is_wide = version > 1
        n_tensors = self._count("tensors", MAX_TENSORS)
        return n_tensors, self._count("pairs of key and value", MAX_PAIRS)

    def _check_version(self, version: int) -> None:
        if not 1 <= version <= 3:
            raise self._bad(f"is version {version}; those known are 1 to 3")

    def _number(self, code: str) -> Any:
        value = struct.unpack(self._order + code, self._take(struct.calcsize("=" + code)))[0]
        return value

    def _size(self) -> int:
        size: int = self._number("Q" if self._is_wide else "I")
        return size

    def _count(self, what: str, limit: int) -> int:
        n = self._size()
        if n > limit:
            raise LimitError(
                f"{self._file} says that it has {n:,} {what}, at byte {self._at:,}; the limit is "
                f"{limit:,}\nhint: no model has so many: fetch or copy the file again",
                what=what,
                limit=limit,
            )
        return n

    def _text(self) -> str:
        n = self._count("bytes in one text", MAX_TEXT_BYTES)
        return self._take(n).decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == TEXT:
            return self._text()
        code = SCALARS.get(kind)
        if code is None:
            raise self._bad(f"has a value of the unknown type {kind}")
        return self._number(code)

    def _array(self, *, depth: int) -> tuple[int, list[Any] | None]:
        """How many items an array has, and the items where they are few."""
        kind = self._number("I")
        n = self._count("items in one array", MAX_ITEMS)
        keep = n <= MAX_KEPT_ITEMS
        if kind == ARRAY:
            if depth > 4:
                raise self._bad("has arrays that are nested too deeply")
            for _ in range(n):
                self._array(depth=depth + 1)
            return n, None
        if kind == TEXT:
            items = []
            for _ in range(n):
                if keep:
                    items.append(self._text())
                else:
                    self._take(self._count("bytes in one text", MAX_TEXT_BYTES))
            return n, items if keep else None
        code = SCALARS.get(kind)
        if code is None:
            raise self._bad(f"has an array of the unknown type {kind}")
        data = self._take(n * struct.calcsize("=" + code))
        return n, list(struct.unpack(f"{self._order}{n}{code}", data)) if keep else None

    def _tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, shape, number of the type and place of a tensor."""
        name = self._text()
        n_dimensions = self._number("I")
        if n_dimensions > MAX_DIMENSIONS:
            raise self._bad(f"has tensor {name[:80]!r} of {n_dimensions} dimensions")
        # The file has the fastest dimension first.
        shape = tuple(self._size() for _ in range(n_dimensions))[::-1]
        return name, shape, self._number("I"), self._number("Q")


ROLES_IN_GGUF = {
    "bos": "bos",
    "eos": "eos",
    "unk": "unknown",
    "sep": "seperator",  # spelled so
    "pad": "padding",
    "cls": "cls",
    "mask": "mask",
}
"""Names of roles in llama.cpp: ``tokenizer.ggml.{name}_token_id``."""

Value = int | str | list[str]
"""An id, a text, or several texts."""

_UINT32 = 4
_N_PAIRS_AT = 16
"""Offset of the number of pairs: behind the magic, the version and the number of tensors."""


def with_pairs(data: bytes, pairs: Mapping[str, Value]) -> bytes:
    """A file's bytes with further pairs, which it must not have yet.

    Args:
        data: A GGUF file that ends with its metadata.
        pairs: Keys and values.
    """
    out = bytearray(data)
    (n_pairs,) = struct.unpack_from("<Q", out, _N_PAIRS_AT)
    struct.pack_into("<Q", out, _N_PAIRS_AT, n_pairs + len(pairs))
    for key, value in pairs.items():
        out += _counted_text(key)
        if isinstance(value, int):
            out += struct.pack("<II", _UINT32, value)
        elif isinstance(value, str):
            out += struct.pack("<I", TEXT) + _counted_text(value)
        else:
            out += struct.pack("<IIQ", ARRAY, TEXT, len(value))
            out += b"".join(map(_counted_text, value))
    return bytes(out)


def _counted_text(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data
