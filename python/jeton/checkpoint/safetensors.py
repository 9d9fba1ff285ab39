"""Headers of safetensors files: what tensors there are, and where.

Layout: a little-endian unsigned 64-bit number N, N bytes of JSON, then the tensors' bytes. The JSON
names each tensor with its type, shape and ``data_offsets`` (counted from the end of the JSON). The
rules that make a file safe to read are those of the reference: no byte of the data belongs to two
tensors or to none, and a tensor has as many bytes as its shape and type say. Source:
<https://github.com/huggingface/safetensors#format> (version 0.8.0, read 2026-11-21).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton.errors import FormatError, LimitError
from jeton.formats.reading import LFS_START as LFS_POINTER
from jeton.formats.reading import regular_size

__all__ = ["BITS", "LFS_POINTER", "MAX_HEADER_BYTES", "SafetensorsFile", "Tensor", "read_header"]

MAX_HEADER_BYTES = 32 << 20
"""Largest header that is parsed, in bytes. One tensor takes about 100 bytes, so this is 300,000
tensors; the reference refuses 100 MB, which as Python objects would be gigabytes."""

MAX_DIMENSIONS = 16
"""Most dimensions of a tensor; published ones have at most 5."""

BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "U16": 16,
    "I16": 16,
    "F16": 16,
    "BF16": 16,
    "U32": 32,
    "I32": 32,
    "F32": 32,
    "U64": 64,
    "I64": 64,
    "F64": 64,
    "C64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}
"""Bits of one element by the name of its type."""

_HINT = "hint: fetch or copy it again"


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor is.

    Attributes:
        name: Its name in the checkpoint.
        file: The file that holds it.
        dtype: Type of its elements, as the format names it (``"BF16"``).
        shape: Its dimensions; a matrix of embeddings is ``(n_rows, hidden_size)``.
        offset: Its first byte, from the beginning of the file.
        n_bytes: Bytes that it takes.
    """

    name: str
    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class SafetensorsFile:
    """The header of a file.

    Attributes:
        path: The file.
        tensors: Its tensors by name, in the header's order.
        metadata: Free text that the writer put in (``{"format": "pt"}``).
        n_header_bytes: Bytes of the JSON.
    """

    path: Path
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    n_header_bytes: int


def read_header(path: str | os.PathLike[str]) -> SafetensorsFile:
    """Read and check a file's header. The tensors themselves are not read.

    Raises:
        FormatError: It is no safetensors file, is cut off, or contradicts itself.
        LimitError: The header is larger than ``MAX_HEADER_BYTES``.
        OSError: It cannot be read.
    """
    file = Path(path)
    n_bytes = regular_size(file, format="safetensors")
    with file.open("rb") as stream:
        head = stream.read(8)
        if LFS_POINTER.startswith(head) and head:
            raise _bad(
                file,
                "is a Git LFS pointer, not the weights",
                hint="hint: git lfs pull fetches the file itself",
            )
        if len(head) < 8:
            raise _bad(file, f"has {len(head)} bytes; a header takes at least 10")
        n_header_bytes = int.from_bytes(head, "little")
        if n_header_bytes > n_bytes - 8:
            raise _bad(
                file,
                f"announces a header of {n_header_bytes:,} bytes and has {n_bytes:,}",
                hint="hint: it is cut off, or no safetensors file; fetch or copy it again",
            )
        if n_header_bytes > MAX_HEADER_BYTES:
            raise LimitError(
                f"{file} has a header of {n_header_bytes:,} bytes; the limit is "
                f"{MAX_HEADER_BYTES:,}\nhint: fetch or copy the file again",
                what="safetensors header",
                limit=MAX_HEADER_BYTES,
            )
        data = stream.read(n_header_bytes)
    entries = _entries(file, data)
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _bad(file, "has __metadata__ that is not text by name")
    start = 8 + n_header_bytes
    tensors = {name: _tensor(file, name, entry, start) for name, entry in entries.items()}
    _check_places(file, tensors, start=start, end=n_bytes)
    return SafetensorsFile(file, tensors, metadata, n_header_bytes)


def _bad(file: Path, reason: str, *, hint: str = _HINT, offset: int | None = None) -> FormatError:
    return FormatError(
        f"{file} {reason}\n{hint}", path=str(file), format="safetensors", offset=offset
    )


def _entries(file: Path, data: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise _bad(file, "names something twice in its header")
        return found

    if not data.startswith(b"{"):
        raise _bad(file, "has no header in JSON at byte 8", offset=8)
    try:
        value = json_of(data.decode("utf-8"), object_pairs_hook=unique)
    except FormatError:
        raise
    except RecursionError:
        raise _bad(file, "has a header that is nested too deeply") from None
    except ValueError as error:
        raise _bad(file, f"has a damaged header: {str(error)[:200]}") from None
    if not isinstance(value, dict):
        raise _bad(file, "has a header that is no JSON object")
    return value


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _tensor(file: Path, name: str, entry: object, start: int) -> Tensor:
    shown = f"tensor {name[:120]!r}"
    if not isinstance(entry, dict):
        raise _bad(file, f"describes {shown} by something that is no object")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in BITS:
        raise _bad(
            file, f"has {shown} of the unknown type {str(dtype)[:40]!r}", hint="hint: update jeton"
        )
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(map(_is_size, shape)):
        raise _bad(file, f"has {shown} without a shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise _bad(file, f"has {shown} without data_offsets")
    n_bits = math.prod(shape) * BITS[dtype]
    if n_bits % 8 or offsets[1] - offsets[0] != n_bits // 8:
        raise _bad(
            file,
            f"gives {shown} {offsets[1] - offsets[0]:,} bytes; {dtype} of the shape "
            f"{shape[:MAX_DIMENSIONS]} takes {n_bits / 8:,.10g}",
        )
    return Tensor(name, file, dtype, tuple(shape), start + offsets[0], n_bits // 8)


def _check_places(file: Path, tensors: Mapping[str, Tensor], *, start: int, end: int) -> None:
    """No byte of the data in two tensors or in none; so a file that is cut off shows, too."""
    at = start
    for tensor in sorted(tensors.values(), key=lambda t: (t.offset, t.n_bytes)):
        if tensor.offset != at:
            what = "overlaps another" if tensor.offset < at else "leaves a hole before it"
            raise _bad(
                file, f"has tensor {tensor.name[:120]!r}, which {what}", offset=tensor.offset
            )
        at += tensor.n_bytes
    if at > end:
        raise _bad(
            file,
            f"is cut off: its tensors take {at:,} bytes and it has {end:,}",
            hint="hint: the download was not finished; fetch it again",
        )
    if at < end:
        raise _bad(file, f"has {end - at:,} bytes that belong to no tensor", offset=at)
