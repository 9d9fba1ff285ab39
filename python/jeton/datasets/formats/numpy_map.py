"""NumPy memory maps: ids and nothing else, as OLMo-core, nanoGPT and others map them.

The files have no header. A reader finds documents by their end tokens, so the manifest is the only
other place that knows them. A label mask has one byte for each token, in a file beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton.datasets.formats.base import (
    RECORDS_SUFFIX,
    FileRecord,
    ShardFile,
    ShardFormat,
    ShardIds,
    ShardLayout,
    ShardRecord,
)
from jeton.datasets.formats.megatron import READ_TOKENS
from jeton.errors import FormatError

if TYPE_CHECKING:
    from jeton._core import TextBatch

MASK_SUFFIX = ".label_mask.npy"


class NumpyFormat(ShardFormat):
    """Raw little-endian integers in ``.npy`` files without a header."""

    name = "numpy"
    marks_documents = False
    takes_label_mask = True

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """The smallest unsigned integers that hold the largest id."""
        for kind in ("u1", "<u2", "<u4"):
            if vocab_size - 1 <= np.iinfo(kind).max:
                return np.dtype(kind)
        return np.dtype("<u8")

    def open_shard(self, layout: ShardLayout, number: int) -> _NumpyShard:
        """Begin a shard."""
        return _NumpyShard(layout, number)

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents: each up to its end token."""
        others = (MASK_SUFFIX, RECORDS_SUFFIX)
        ids = [file.name for file in shard.files if not file.name.endswith(others)]
        if not ids:
            raise ValueError("the manifest names no file of ids of this shard")
        path = layout.folder / ids[0]
        if eos_id is None:
            raise FormatError(
                f"{path}: its documents have no end token, so that nobody can tell them apart",
                path=str(path),
                format="numpy",
            )
        n_bytes = path.stat().st_size
        if n_bytes % layout.dtype.itemsize:
            raise FormatError(
                f"{path}: {n_bytes:,} bytes are no whole number of {layout.dtype.name} ids",
                path=str(path),
                format="numpy",
            )
        if n_bytes:
            yield from documents_by_end(np.memmap(path, dtype=layout.dtype, mode="r"), eos_id)


def documents_by_end(ids: NDArray[Any], eos_id: int) -> Iterator[ShardIds]:
    """Yield documents that end with a token; a rest without one is a document, too."""
    start = 0
    n_read = READ_TOKENS
    while start < len(ids):
        block = np.asarray(ids[start : start + n_read])
        ends = np.flatnonzero(block == eos_id) + 1
        is_last = start + len(block) == len(ids)
        if is_last and (not len(ends) or ends[-1] != len(block)):
            ends = np.append(ends, len(block))
        if not len(ends):
            # One document is longer than what was read.
            n_read *= 2
            continue
        n_read = READ_TOKENS
        offsets = np.concatenate([[0], ends]).astype(np.int64)
        yield ShardIds(block[: offsets[-1]], offsets)
        start += int(offsets[-1])


class _NumpyShard:
    def __init__(self, layout: ShardLayout, number: int) -> None:
        name, digest = f"tokens-{number:05d}", layout.options.digest
        self._dtype = layout.dtype
        self._ids = ShardFile(layout.folder, f"{name}.npy", digest)
        self._mask: ShardFile | None = None
        if layout.options.label_mask:
            self._mask = ShardFile(layout.folder, name + MASK_SUFFIX, digest)

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        self._ids.write(ids.astype(self._dtype, copy=False))
        if self._mask is not None:
            mask = np.ones(len(ids), dtype=np.bool_)
            # Nothing of its own document comes before the first token: it cannot be predicted.
            mask[offsets[:-1]] = False
            self._mask.write(mask)

    def close(self) -> tuple[FileRecord, ...]:
        if self._mask is None:
            return (self._ids.close(),)
        mask = self._mask.close()
        return self._ids.close(), mask

    def abandon(self) -> None:
        self._ids.abandon()
        if self._mask is not None:
            self._mask.abandon()
