"""MDS of MosaicML Streaming: one sample a document, its ids in the column ``tokens``.

A shard: the number of samples (u32), where each begins and the last ends (u32 each), the settings
as JSON, the samples. A sample: the size of its one column (u32), a byte for the shape's kind, the
shape, the ids. ``index.json`` lists the shards.
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
from jeton.errors import FormatError

if TYPE_CHECKING:
    from jeton._core import TextBatch

MAX_SHARD_BYTES = 2**32 - 1
"""Positions in a shard have 32 bits."""

_SHAPE_CODES = ((1 << 8, 0, "u1"), (1 << 16, 1, "<u2"), (1 << 32, 2, "<u4"))
"""Shapes below the number are written with this code and these integers."""

READ_DOCUMENTS = 4096


class MdsFormat(ShardFormat):
    """``shard.NNNNN.mds`` and ``index.json``."""

    name = "mds"
    default_shard_tokens = 1 << 24

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Two bytes up to 65,536 ids, else signed four."""
        return np.dtype("<u2" if vocab_size <= 1 << 16 else "<i4")

    def largest_shard_tokens(self, dtype: np.dtype[Any]) -> int | None:
        """Tokens that fit if each is a document: 14 bytes around it."""
        return (MAX_SHARD_BYTES - (1 << 16)) // (dtype.itemsize + 14)

    def open_shard(self, layout: ShardLayout, number: int) -> _MdsShard:
        """Begin a shard."""
        return _MdsShard(layout, number)

    def finish(self, layout: ShardLayout, shards: Sequence[ShardRecord]) -> tuple[str, ...]:
        """Write ``index.json``."""
        index = {
            "shards": [
                {
                    **_settings(layout.dtype),
                    "raw_data": {
                        "basename": shard.files[0].name,
                        "bytes": shard.files[0].n_bytes,
                        "hashes": {},
                    },
                    "samples": shard.n_documents,
                    "zip_data": None,
                }
                for shard in shards
            ],
            "version": 2,
        }
        write_whole(layout.folder / "index.json", json.dumps(index, sort_keys=True))
        return ("index.json",)

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents, some thousand at a time."""
        path = layout.folder / shard.files[0].name
        mapped = np.memmap(path, dtype="u1", mode="r")

        def fail(message: str) -> FormatError:
            return FormatError(f"{path}: {message}", path=str(path), format="mds")

        n = int(mapped[:4].view("<u4")[0]) if len(mapped) >= 8 else -1
        if n < 0 or len(mapped) < 8 + 4 * n:
            raise fail("it is shorter than its header")
        places = np.asarray(mapped[4 : 8 + 4 * n].view("<u4")).astype(np.int64)
        if places[-1] != len(mapped):
            raise fail(f"it has {len(mapped):,} bytes; its header tells of {int(places[-1]):,}")
        data: NDArray[Any] = mapped
        for first in range(0, n, READ_DOCUMENTS):
            arrays = []
            for i in range(first, min(n, first + READ_DOCUMENTS)):
                sample = data[places[i] : places[i + 1]]
                if len(sample) < 6:
                    raise fail(f"sample {i:,} is shorter than its header")
                head = 5 + (1 << (int(sample[4]) & 3))
                arrays.append(np.frombuffer(sample[head:].tobytes(), dtype=layout.dtype))
            lengths = np.array([len(array) for array in arrays], dtype=np.int64)
            yield ShardIds(np.concatenate(arrays), np.concatenate([[0], np.cumsum(lengths)]))


def _settings(dtype: np.dtype[Any]) -> dict[str, Any]:
    return {
        "column_encodings": [f"ndarray:{dtype.name}"],
        "column_names": ["tokens"],
        "column_sizes": [None],
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": None,
        "version": 2,
    }


class _MdsShard:
    def __init__(self, layout: ShardLayout, number: int) -> None:
        self._layout = layout
        self._body = BodySpool(layout.folder)
        self._file = ShardFile(layout.folder, f"shard.{number:05d}.mds", layout.options.digest)

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        dtype = self._layout.dtype
        data = memoryview(ids.astype(dtype).tobytes())
        lengths = np.diff(offsets)
        parts: list[bytes | memoryview] = []
        sizes = np.empty(len(lengths), dtype=np.int64)
        at = 0
        for i, length in enumerate(lengths.tolist()):
            code, kind = next((code, kind) for limit, code, kind in _SHAPE_CODES if length < limit)
            n_bytes = length * dtype.itemsize
            shape = np.array([length], dtype=kind).tobytes()
            size = 1 + len(shape) + n_bytes
            parts += [size.to_bytes(4, "little"), bytes([1 << 2 | code]), shape]
            parts.append(data[at : at + n_bytes])
            sizes[i] = 4 + size
            at += n_bytes
        self._body.write(b"".join(parts))
        self._body.add_sizes(sizes)

    def close(self) -> tuple[FileRecord, ...]:
        sizes = self._body.sizes()
        settings = json.dumps(_settings(self._layout.dtype), sort_keys=True).encode()
        head = 4 + 4 * (len(sizes) + 1) + len(settings)
        self._body.check(head, MAX_SHARD_BYTES, "MDS shards")
        self._file.write(np.array([len(sizes)], dtype="<u4"))
        self._file.write(np.concatenate([[head], head + np.cumsum(sizes)]).astype("<u4"))
        self._file.write(settings)
        for block in self._body.blocks():
            self._file.write(block)
        self._body.close()
        return (self._file.close(),)

    def abandon(self) -> None:
        self._body.close()
        self._file.abandon()
