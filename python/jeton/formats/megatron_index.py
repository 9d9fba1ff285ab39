"""Megatron-LM's ``.idx``: lengths and places of the sequences in a ``.bin``, and of documents.

Little-endian: 9 bytes of magic, version (u64), code of the number type (u8), sequences (u64),
document bounds (u64); then lengths (i32 each), first bytes in the ``.bin`` (i64 each), and the
number of sequences before each document (i64 each, and one at the end).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.errors import FormatError

INDEX_MAGIC = b"MMIDIDX\x00\x00"
INDEX_HEADER = struct.Struct("<9sQBQQ")

MEGATRON_DTYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("u1"),
    2: np.dtype("i1"),
    3: np.dtype("<i2"),
    4: np.dtype("<i4"),
    5: np.dtype("<i8"),
    6: np.dtype("<f8"),
    7: np.dtype("<f4"),
    8: np.dtype("<u2"),
}
"""Number types by their codes (``indexed_dataset.py`` of Megatron-LM)."""


@dataclass(frozen=True, slots=True, eq=False)
class MegatronIndex:
    """The contents of an ``.idx``, mapped into memory.

    Attributes:
        dtype: Type of the numbers in the ``.bin``; those of other tools may be floating-point.
        lengths: int32 (n_sequences,): numbers of each sequence.
        pointers: int64 (n_sequences,): first byte of each in the ``.bin``.
        documents: int64: sequences before each document, and after the last one.
    """

    dtype: np.dtype[Any]
    lengths: NDArray[np.int32]
    pointers: NDArray[np.int64]
    documents: NDArray[np.int64]


def read_megatron_index(path: Path) -> MegatronIndex:
    """Return the contents of an index.

    Raises:
        FormatError: It is no index, or it is cut short.
        OSError: It cannot be read.
    """
    n_bytes = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(INDEX_HEADER.size)
    if not head.startswith(INDEX_MAGIC):
        raise damaged_index(path, "it does not begin with MMIDIDX, as a Megatron index does")
    if len(head) < INDEX_HEADER.size:
        raise damaged_index(path, f"it ends after {len(head)} bytes, within its header")
    _, version, code, n_sequences, n_bounds = INDEX_HEADER.unpack(head)
    if version != 1:
        raise damaged_index(path, f"its version is {version}; expected 1")
    if code not in MEGATRON_DTYPES:
        raise damaged_index(path, f"the code of its number type is {code}; expected 1 to 8")
    needed = INDEX_HEADER.size + 12 * n_sequences + 8 * n_bounds
    # A byte more for each sequence: modes, of data with pictures.
    if n_bytes not in (needed, needed + n_sequences):
        raise damaged_index(
            path,
            f"it has {n_bytes:,} bytes; {n_sequences:,} sequences and {n_bounds:,} document "
            f"bounds need {needed:,}",
        )
    mapped = np.memmap(path, dtype="u1", mode="r")
    at = INDEX_HEADER.size
    parts: list[Any] = []
    for kind, n in (("<i4", n_sequences), ("<i8", n_sequences), ("<i8", n_bounds)):
        size = np.dtype(kind).itemsize * n
        parts.append(mapped[at : at + size].view(kind))
        at += size
    return MegatronIndex(MEGATRON_DTYPES[int(code)], parts[0], parts[1], parts[2])


def damaged_index(path: Path, reason: str) -> FormatError:
    """Return the error of an index that cannot be used."""
    return FormatError(
        f"{path}: {reason}\nhint: the file is another one or cut off: make the data set again",
        path=str(path),
        format="megatron",
    )
