"""nanochat: Parquet files of text in many small row groups, which it tokenizes as it trains.

The ids are only counted: they decide where a shard ends. nanochat reads row groups in turn on its
processes and takes the last file for validation, so that two files are the least.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton.datasets.formats.base import (
    FileRecord,
    ShardFile,
    ShardFormat,
    ShardIds,
    ShardLayout,
    ShardRecord,
)
from jeton.datasets.formats.columns import ShardSink, require_pyarrow
from jeton.errors import FormatError

if TYPE_CHECKING:
    from jeton._core import TextBatch

GROUP_ROWS = 1024
"""Documents of a row group, as nanochat's own files have."""


class NanochatFormat(ShardFormat):
    """``shard_NNNNN.parquet`` with the column ``text``."""

    name = "nanochat"
    default_shard_tokens = 1 << 26
    holds_text = True

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Four bytes; no id is written."""
        return np.dtype("<u4")

    def open_shard(self, layout: ShardLayout, number: int) -> _TextShard:
        """Begin a shard."""
        return _TextShard(layout, number)

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Refuse: there are no ids in these files."""
        raise FormatError(
            f"{shard.files[0].name}: files for nanochat hold text, no ids\n"
            "hint: tokenize them, they are Parquet with the field text",
            path=shard.files[0].name,
            format="nanochat",
        )


class _TextShard:
    def __init__(self, layout: ShardLayout, number: int) -> None:
        require_pyarrow("writing Parquet")
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = pa.schema([("text", pa.string())])
        self._file = ShardFile(layout.folder, f"shard_{number:05d}.parquet", layout.options.digest)
        self._target = ShardSink(self._file)
        self._sink = pa.PythonFile(self._target, mode="w")
        self._writer = pq.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=False,
            write_statistics=False,
        )
        self._texts: list[str] = []

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        assert texts is not None
        self._texts += list(texts)
        while len(self._texts) >= GROUP_ROWS:
            self._write(self._texts[:GROUP_ROWS])
            del self._texts[:GROUP_ROWS]

    def _write(self, texts: list[str]) -> None:
        import pyarrow as pa

        table = pa.table([pa.array(texts, pa.string())], schema=self._schema)
        self._writer.write_table(table, row_group_size=GROUP_ROWS)

    def close(self) -> tuple[FileRecord, ...]:
        if self._texts:
            self._write(self._texts)
        self._writer.close()
        self._sink.flush()
        return (self._file.close(),)

    def abandon(self) -> None:
        self._target.is_dropped = True
        self._writer.close()
        self._file.abandon()
