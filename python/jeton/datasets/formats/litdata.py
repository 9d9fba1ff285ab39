"""LitData: chunks of items that its ``TokensLoader`` reads as blocks of tokens.

A chunk: the number of items (u32), where each begins and the last ends (u32 each), the ids. The
loader maps the ids and leaves out what is no whole block at the end of a chunk. ``index.json``
lists the chunks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import write_whole
from jeton.datasets.formats.base import (
    BodySpool,
    FileRecord,
    ShardFile,
    ShardFormat,
    ShardIds,
    ShardLayout,
    ShardRecord,
)
from jeton.datasets.formats.megatron import read_in_blocks
from jeton.errors import FormatError

if TYPE_CHECKING:
    from jeton._core import TextBatch

MAX_CHUNK_BYTES = 2**32 - 1
"""Positions in a chunk have 32 bits."""

_CODES = {np.dtype("<u2"): 5, np.dtype("<i4"): 2}
"""Places of number types in LitData's list of NumPy's."""

_SPEC = '[1, {"type": null, "context": null, "children_spec": []}]'
"""An item that is one array, in the notation of PyTorch's trees."""


class LitDataFormat(ShardFormat):
    """``chunk-0-N.bin`` and ``index.json``."""

    name = "litdata"
    marks_documents = False
    default_shard_tokens = 1 << 24

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Two bytes up to 65,536 ids, else signed four: PyTorch takes both."""
        return np.dtype("<u2" if vocab_size <= 1 << 16 else "<i4")

    def largest_shard_tokens(self, dtype: np.dtype[Any]) -> int | None:
        """Tokens of one byte over the header for each: 32 bits must hold the last position."""
        return MAX_CHUNK_BYTES // (dtype.itemsize + 4) - 2

    def open_shard(self, layout: ShardLayout, number: int) -> _LitDataShard:
        """Begin a chunk."""
        return _LitDataShard(layout, number)

    def finish(self, layout: ShardLayout, shards: Sequence[ShardRecord]) -> tuple[str, ...]:
        """Write ``index.json``."""
        index = {
            "chunks": [
                {
                    "chunk_bytes": shard.files[0].n_bytes,
                    "chunk_size": shard.n_documents,
                    "dim": shard.n_tokens,
                    "filename": shard.files[0].name,
                }
                for shard in shards
            ],
            "config": {
                "chunk_bytes": max((shard.files[0].n_bytes for shard in shards), default=0),
                "chunk_size": None,
                "compression": None,
                "data_format": [f"no_header_numpy:{_CODES[layout.dtype]}"],
                "data_spec": _SPEC,
                "encryption": None,
                "item_loader": "TokensLoader",
            },
            "updated_at": "0",
        }
        write_whole(layout.folder / "index.json", json.dumps(index, sort_keys=True))
        return ("index.json",)

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents, one an item."""
        path = layout.folder / shard.files[0].name
        mapped = np.memmap(path, dtype="u1", mode="r")

        def fail(message: str) -> FormatError:
            return FormatError(f"{path}: {message}", path=str(path), format="litdata")

        if len(mapped) < 8:
            raise fail("it is shorter than the header of a chunk")
        n = int(mapped[:4].view("<u4")[0])
        head = 4 + 4 * (n + 1)
        if len(mapped) < head:
            raise fail(f"it is shorter than the header of {n:,} items")
        places = np.asarray(mapped[4:head].view("<u4")).astype(np.int64)
        if places[0] != head or places[-1] != len(mapped):
            raise fail(f"it has {len(mapped):,} bytes; its header tells of {int(places[-1]):,}")
        bounds = (places - head) // layout.dtype.itemsize
        yield from read_in_blocks(mapped[head:].view(layout.dtype), bounds)


class _LitDataShard:
    def __init__(self, layout: ShardLayout, number: int) -> None:
        self._layout = layout
        self._body = BodySpool(layout.folder)
        self._file = ShardFile(layout.folder, f"chunk-0-{number}.bin", layout.options.digest)

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        self._body.write(ids.astype(self._layout.dtype, copy=False))
        self._body.add_sizes(np.diff(offsets) * self._layout.dtype.itemsize)

    def close(self) -> tuple[FileRecord, ...]:
        sizes = self._body.sizes()
        head = 4 + 4 * (len(sizes) + 1)
        self._body.check(head, MAX_CHUNK_BYTES, "LitData's chunks")
        self._file.write(np.array([len(sizes)], dtype="<u4"))
        self._file.write(np.concatenate([[head], head + np.cumsum(sizes)]).astype("<u4"))
        for block in self._body.blocks():
            self._file.write(block)
        self._body.close()
        return (self._file.close(),)

    def abandon(self) -> None:
        self._body.close()
        self._file.abandon()
