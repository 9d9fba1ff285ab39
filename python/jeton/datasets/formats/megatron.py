"""Megatron-LM: ids in ``.bin``, and an index of sequences and documents in ``.idx``.

A document is one sequence here. ``jeton.formats.megatron_index`` has the bytes of the index.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton.datasets.formats.base import (
    FileRecord,
    LengthSpool,
    ShardFile,
    ShardFormat,
    ShardIds,
    ShardLayout,
    ShardRecord,
    blocks_of,
)
from jeton.errors import FormatError, LimitError
from jeton.formats.megatron_index import (
    INDEX_HEADER,
    INDEX_MAGIC,
    MEGATRON_DTYPES,
    read_megatron_index,
)

if TYPE_CHECKING:
    from jeton._core import TextBatch

SMALL_VOCABULARY = 65_500
"""A smaller vocabulary has ids of two bytes, as Megatron-LM chooses itself."""

MAX_DOCUMENT_TOKENS = 2**31 - 1
"""The index has 32 bits for the length of a sequence."""

READ_TOKENS = 1 << 22
"""Tokens that are read at a time."""


class MegatronFormat(ShardFormat):
    """Pairs of ``.bin`` and ``.idx``."""

    name = "megatron"

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Two bytes below 65,500 ids, else signed four."""
        return np.dtype("<u2" if vocab_size < SMALL_VOCABULARY else "<i4")

    def open_shard(self, layout: ShardLayout, number: int) -> _MegatronShard:
        """Begin a shard."""
        return _MegatronShard(layout, number)

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents, about four million tokens at a time."""
        name = shard.file_ending(".bin")
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
        index.write(INDEX_HEADER.pack(INDEX_MAGIC, 1, code, n, n + 1))
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


def read_pair(bin_path: Path) -> Iterator[ShardIds]:
    """Yield the documents of a pair of files, about four million tokens at a time.

    Raises:
        FormatError: The index is damaged, or the ids lie elsewhere than it says.
        OSError: A file cannot be read.
    """
    index = read_megatron_index(bin_path.with_suffix(".idx"))
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
    if not np.array_equal(index.pointers, ends[:-1] * index.dtype.itemsize):
        raise FormatError(
            f"{bin_path}: its sequences do not follow one another, as its index has it",
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
