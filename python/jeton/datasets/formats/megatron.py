"""Megatron-LM: ids in ``.bin``, and an index of sequences and documents in ``.idx``.

The index, little-endian: 9 bytes of magic, version (u64), code of the dtype (u8), sequences (u64),
documents plus one (u64), lengths (i32 each), first bytes in the ``.bin`` (i64 each), and the number
of sequences before each document (i64 each, and one at the end). A document is one sequence here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton.datasets.formats.base import (
    FileRecord,
    ShardFile,
    ShardIds,
    ShardLayout,
    ShardRecord,
    blocks_of,
)
from jeton.datasets.formats.lengths import LengthSpool
from jeton.errors import FormatError, LimitError

if TYPE_CHECKING:
    from jeton._core import TextBatch

__all__ = ["MEGATRON_DTYPES", "MegatronFormat", "MegatronIndex", "read_index"]

MAGIC = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<9sQBQQ")

MEGATRON_DTYPES = {
    1: np.dtype("u1"),
    2: np.dtype("i1"),
    3: np.dtype("<i2"),
    4: np.dtype("<i4"),
    5: np.dtype("<i8"),
    6: np.dtype("<f8"),
    7: np.dtype("<f4"),
    8: np.dtype("<u2"),
}
"""Codes of number types in the index."""

SMALL_VOCABULARY = 65_500
"""A smaller vocabulary has ids of two bytes, as Megatron-LM chooses itself."""

MAX_DOCUMENT_TOKENS = 2**31 - 1
"""The index has 32 bits for the length of a sequence."""

READ_TOKENS = 1 << 22
"""Tokens that are read at a time."""


class MegatronFormat:
    """Pairs of ``.bin`` and ``.idx``."""

    name = "megatron"
    default_shard_tokens = 1 << 30
    holds_text = False

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Two bytes below 65,500 ids, else signed four."""
        return np.dtype("<u2" if vocab_size < SMALL_VOCABULARY else "<i4")

    def largest_shard_tokens(self, dtype: np.dtype[Any]) -> int | None:
        """None: positions have 64 bits."""
        return None

    def open_shard(self, layout: ShardLayout, number: int) -> _MegatronShard:
        """Begin a shard."""
        return _MegatronShard(layout, number)

    def finish(self, layout: ShardLayout, shards: Sequence[ShardRecord]) -> tuple[str, ...]:
        """Nothing tells of all shards."""
        return ()

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents, about four million tokens at a time."""
        name = next(file.name for file in shard.files if file.name.endswith(".bin"))
        yield from read_pair(layout.folder / name)


class _MegatronShard:
    def __init__(self, layout: ShardLayout, number: int) -> None:
        name = f"tokens-{number:05d}"
        self._layout = layout
        self._index_name = f"{name}.idx"
        self._bin = ShardFile(layout.folder, f"{name}.bin", layout.options.digest)
        self._index: ShardFile | None = None
        self._lengths = LengthSpool(layout.folder)

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        lengths = np.diff(offsets)
        if len(lengths) and int(lengths.max()) > MAX_DOCUMENT_TOKENS:
            raise LimitError(
                f"a document has {int(lengths.max()):,} tokens; Megatron's index holds lengths up "
                f"to {MAX_DOCUMENT_TOKENS:,}\nhint: cut it, or take the format numpy",
                what="document",
                limit=MAX_DOCUMENT_TOKENS,
            )
        self._bin.write(ids.astype(self._layout.dtype, copy=False))
        self._lengths.append(lengths)

    def close(self) -> tuple[FileRecord, ...]:
        dtype = self._layout.dtype
        code = next(code for code, known in MEGATRON_DTYPES.items() if known == dtype)
        n = self._lengths.n
        index = self._index = ShardFile(
            self._layout.folder, self._index_name, self._layout.options.digest
        )
        index.write(HEADER.pack(MAGIC, 1, code, n, n + 1))
        for block in self._lengths.blocks():
            index.write(block.astype("<i4"))
        first = 0
        for block in self._lengths.blocks():
            ends = first + np.cumsum(block * dtype.itemsize)
            index.write((ends - block * dtype.itemsize).astype("<i8"))
            first = int(ends[-1])
        for start, end in blocks_of(n + 1):
            index.write(np.arange(start, end, dtype="<i8"))
        self._lengths.close()
        # The index last: a reader that finds it finds the ids, too.
        record = self._bin.close()
        return record, index.close()

    def abandon(self) -> None:
        self._bin.abandon()
        self._lengths.close()
        if self._index is not None:
            self._index.abandon()


class MegatronIndex:
    """The contents of an ``.idx``, mapped into memory.

    Attributes:
        dtype: Type of the ids.
        lengths: Tokens of each sequence, int32.
        pointers: First byte of each sequence in the ``.bin``, int64.
        documents: Sequences before each document, and after the last one, int64.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        lengths: NDArray[np.int32],
        pointers: NDArray[np.int64],
        documents: NDArray[np.int64],
    ) -> None:
        self.dtype = dtype
        self.lengths = lengths
        self.pointers = pointers
        self.documents = documents


def read_index(path: Path) -> MegatronIndex:
    """Return the contents of an index.

    Raises:
        FormatError: It is no index, or it is cut short.
        OSError: It cannot be read.
    """
    n_bytes = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(HEADER.size)

    def fail(message: str) -> FormatError:
        return FormatError(f"{path}: {message}", path=str(path), format="megatron")

    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise fail("it does not begin as an index of Megatron-LM does")
    _, version, code, n_sequences, n_documents = HEADER.unpack(head)
    if version != 1:
        raise fail(f"its version is {version}; expected 1")
    if code not in MEGATRON_DTYPES:
        raise fail(f"the code of its dtype is {code}; expected 1 to 8")
    expected = HEADER.size + 12 * n_sequences + 8 * n_documents
    # A byte more for each sequence: modes, of data with pictures.
    if n_bytes not in (expected, expected + n_sequences):
        raise fail(
            f"it has {n_bytes:,} bytes; {n_sequences:,} sequences and {n_documents:,} document "
            f"bounds need {expected:,}"
        )
    mapped = np.memmap(path, dtype="u1", mode="r")
    at = HEADER.size
    parts: list[Any] = []
    for kind, n in (("<i4", n_sequences), ("<i8", n_sequences), ("<i8", n_documents)):
        size = np.dtype(kind).itemsize * n
        parts.append(mapped[at : at + size].view(kind))
        at += size
    dtype: Any = MEGATRON_DTYPES[int(code)]
    return MegatronIndex(dtype, parts[0], parts[1], parts[2])


def read_pair(bin_path: Path) -> Iterator[ShardIds]:
    """Yield the documents of a pair of files, about four million tokens at a time.

    Raises:
        FormatError: The index is damaged, or the ids lie elsewhere than it says.
        OSError: A file cannot be read.
    """
    index = read_index(bin_path.with_suffix(".idx"))
    n_bytes = bin_path.stat().st_size
    lengths = np.asarray(index.lengths, dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if int(ends[-1]) * index.dtype.itemsize != n_bytes:
        raise FormatError(
            f"{bin_path}: it has {n_bytes:,} bytes; its index tells of "
            f"{int(ends[-1]) * index.dtype.itemsize:,}",
            path=str(bin_path),
            format="megatron",
        )
    # Sequences of one document follow each other.
    bounds = ends[np.asarray(index.documents)] if len(index.documents) else ends[:1]
    ids = np.memmap(bin_path, dtype=index.dtype, mode="r") if n_bytes else np.zeros(0, index.dtype)
    yield from read_in_blocks(ids, bounds)


def read_in_blocks(ids: NDArray[Any], bounds: NDArray[np.int64]) -> Iterator[ShardIds]:
    """Yield documents of a long array of ids, about four million tokens at a time."""
    first = 0
    while first < len(bounds) - 1:
        last = int(np.searchsorted(bounds, bounds[first] + READ_TOKENS, side="right")) - 1
        last = max(last, first + 1)
        start = int(bounds[first])
        yield ShardIds(np.asarray(ids[start : int(bounds[last])]), bounds[first : last + 1] - start)
        first = last
