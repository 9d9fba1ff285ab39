"""datatrove: ids in ``.ds``, ends of documents in ``.ds.index``, words in ``.ds.metadata``."""

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
)
from jeton.datasets.formats.megatron import read_in_blocks
from jeton.errors import FormatError

if TYPE_CHECKING:
    from jeton._core import TextBatch


class DatatroveFormat(ShardFormat):
    """Little-endian integers of two or four bytes, with an index of 64 bits."""

    name = "datatrove"

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Two bytes up to 65,536 ids, else four; both unsigned."""
        return np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")

    def open_shard(self, layout: ShardLayout, number: int) -> _DatatroveShard:
        """Begin a shard."""
        return _DatatroveShard(layout, number)

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents, as the index has them."""
        name = shard.file_ending(".ds")
        path = layout.folder / name
        ends = np.fromfile(Path(f"{path}.index"), dtype="<u8").astype(np.int64)
        bounds = np.concatenate([[0], ends]).astype(np.int64)
        n_bytes = path.stat().st_size
        if int(bounds[-1]) * layout.dtype.itemsize != n_bytes:
            raise FormatError(
                f"{path}: it has {n_bytes:,} bytes; its index tells of "
                f"{int(bounds[-1]) * layout.dtype.itemsize:,}",
                path=str(path),
                format="datatrove",
            )
        if n_bytes:
            yield from read_in_blocks(np.memmap(path, dtype=layout.dtype, mode="r"), bounds)


class _DatatroveShard:
    def __init__(self, layout: ShardLayout, number: int) -> None:
        self._layout = layout
        self._name = f"{number:05d}_tokens.ds"
        self._ids = ShardFile(layout.folder, self._name, layout.options.digest)
        self._others: list[ShardFile] = []
        self._lengths = LengthSpool(layout.folder)
        self._n_tokens = 0

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        self._ids.write(ids.astype(self._layout.dtype, copy=False))
        self._lengths.append(np.diff(offsets))
        self._n_tokens += len(ids)

    def close(self) -> tuple[FileRecord, ...]:
        index = self._beside("index")
        for ends in self._lengths.ends():
            index.write(ends.astype("<u8"))
        self._lengths.close()
        metadata = self._beside("metadata")
        size = self._layout.dtype.itemsize
        name = self._layout.tokenizer_name or "Unknown Tokenizer"
        words = f"{name}|{size}\n{self._n_tokens}\n{_shortened(self._n_tokens)}"
        metadata.write(words.encode())
        records = [metadata.close(), index.close()]
        # The ids last: the reader looks for names in .ds.
        return (self._ids.close(), *reversed(records))

    def _beside(self, suffix: str) -> ShardFile:
        file = ShardFile(self._layout.folder, f"{self._name}.{suffix}", self._layout.options.digest)
        self._others.append(file)
        return file

    def abandon(self) -> None:
        self._lengths.close()
        for file in (self._ids, *self._others):
            file.abandon()


def _shortened(n_tokens: int) -> str:
    """A number of tokens for people: ``1.2 GT``."""
    value, prefixes = float(n_tokens), ("", "k", "M", "G", "T")
    place = 0
    while value >= 1000 and place < len(prefixes) - 1:
        value /= 1000
        place += 1
    return f"{value:.3g} {prefixes[place]}T"
