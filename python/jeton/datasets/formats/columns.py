"""Parquet and Arrow: one row a document, its ids in the list column ``input_ids``.

Column types are those of Hugging Face ``datasets``: int32 ids, int8 masks, int64 labels. An Arrow
folder opens with ``datasets.load_from_disk``: it has the two small JSON files of that library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.datasets.formats.base import (
    FileRecord,
    ShardFile,
    ShardFormat,
    ShardIds,
    ShardLayout,
    ShardRecord,
)
from jeton.errors import FormatError, LimitError, MissingExtraError

if TYPE_CHECKING:
    from jeton._core import TextBatch

GROUP_TOKENS = 1 << 20
"""Tokens of a row group or record batch, or the one document that has more."""

GROUP_ROWS = 1 << 16
"""Rows of a row group or record batch."""

MAX_LIST_TOKENS = 2**31 - 1
"""Lists of Arrow have offsets of 32 bits."""


def require_pyarrow(feature: str) -> None:
    """Refuse what needs pyarrow where it is not installed.

    Raises:
        MissingExtraError: It is not.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(feature, extra="parquet") from error


def told_columns(layout: ShardLayout) -> tuple[str, ...]:
    """Return the columns that tell of each document's record."""
    options = layout.options
    if not options.keeps_records:
        return ()
    return ("source", "record", *options.keep, *(("fields",) if options.keep_all else ()))


def _cell(value: Any, name: str) -> Any:
    """A field as its column holds it: a text as it is, anything else as JSON."""
    if name == "record" or value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


class RowBuffer:
    """Documents that wait until they fill a group, whose size depends on the documents alone."""

    def __init__(self) -> None:
        self._ids: list[NDArray[np.uint32]] = []
        self._lengths: list[int] = []
        self._n_tokens = 0

    def add(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """Add documents; yield the groups that are full now."""
        n = len(offsets) - 1
        first = 0
        while first < n:
            room = GROUP_TOKENS - self._n_tokens
            last = int(np.searchsorted(offsets, offsets[first] + room, side="right")) - 1
            last = min(last, first + GROUP_ROWS - len(self._lengths), n)
            if last <= first:
                if self._lengths:
                    yield self.take()
                    continue
                last = first + 1
            self._ids.append(ids[int(offsets[first]) : int(offsets[last])])
            self._lengths += np.diff(offsets[first : last + 1]).tolist()
            self._n_tokens += int(offsets[last] - offsets[first])
            first = last

    def take(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return what waits: ids, and where documents begin and end."""
        ids = np.concatenate([np.zeros(0, np.uint32), *self._ids])
        offsets = np.concatenate([[0], np.cumsum(np.array(self._lengths, dtype=np.int64))])
        self._ids, self._lengths, self._n_tokens = [], [], 0
        return ids, offsets.astype(np.int64)

    def __len__(self) -> int:
        return len(self._lengths)


class ParquetFormat(ShardFormat):
    """``train-NNNNN.parquet``."""

    name = "parquet"
    takes_columns = True
    default_shard_tokens = 1 << 27

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Signed four bytes."""
        return np.dtype("<i4")

    def open_shard(self, layout: ShardLayout, number: int) -> _TableShard:
        """Begin a shard."""
        return _TableShard(layout, f"train-{number:05d}.parquet", is_parquet=True)

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents, a row group at a time."""
        require_pyarrow("reading Parquet")
        import pyarrow.parquet as pq

        path = layout.folder / shard.files[0].name
        with _DamageExplained(str(path)):
            file = pq.ParquetFile(path)
        for group in range(file.metadata.num_row_groups):
            with _DamageExplained(str(path)):
                column = file.read_row_group(group, columns=["input_ids"]).column(0)
            for chunk in column.chunks:
                yield _ids_of(chunk)


class ArrowFormat(ShardFormat):
    """``data-NNNNN.arrow``, a stream of record batches each, for ``datasets.load_from_disk``."""

    name = "arrow"
    takes_columns = True
    default_shard_tokens = 1 << 27

    def dtype(self, vocab_size: int) -> np.dtype[Any]:
        """Signed four bytes."""
        return np.dtype("<i4")

    def open_shard(self, layout: ShardLayout, number: int) -> _TableShard:
        """Begin a shard."""
        return _TableShard(layout, f"data-{number:05d}.arrow", is_parquet=False)

    def finish(self, layout: ShardLayout, shards: Sequence[ShardRecord]) -> tuple[str, ...]:
        """Write the two files that ``datasets.load_from_disk`` asks for."""
        kinds = {"input_ids": "int32", "attention_mask": "int8", "labels": "int64"}
        features: dict[str, Any] = {
            name: {"feature": {"dtype": kinds[name], "_type": "Value"}, "_type": "Sequence"}
            for name in ("input_ids", *layout.options.columns)
        }
        features |= {
            name: {"dtype": "int64" if name == "record" else "string", "_type": "Value"}
            for name in told_columns(layout)
        }
        info = {"citation": "", "description": "", "homepage": "", "license": ""}
        state: dict[str, Any] = {
            "_data_files": [{"filename": shard.files[0].name} for shard in shards],
            "_fingerprint": f"{sum(_crc(shard) for shard in shards) % 2**64:016x}",
            "_format_columns": None,
            "_format_kwargs": {},
            "_format_type": None,
            "_output_all_columns": False,
            "_split": None,
        }
        for name, value in (
            ("dataset_info.json", {**info, "features": features}),
            ("state.json", state),
        ):
            write_whole(layout.folder / name, json.dumps(value, indent=2, sort_keys=True))
        return ("dataset_info.json", "state.json")

    def read_shard(
        self, layout: ShardLayout, shard: ShardRecord, eos_id: int | None
    ) -> Iterator[ShardIds]:
        """Yield the documents, a record batch at a time."""
        require_pyarrow("reading Arrow")
        import pyarrow as pa

        path = layout.folder / shard.files[0].name
        with _DamageExplained(str(path)), pa.memory_map(str(path)) as source:
            for batch in pa.ipc.open_stream(source):
                yield _ids_of(batch.column("input_ids"))


def _crc(shard: ShardRecord) -> int:
    return int(shard.files[0].digest.partition(":")[2][:8], 16)


def _ids_of(column: Any) -> ShardIds:
    """The documents of a list column."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.to_numpy(zero_copy_only=False)
    return ShardIds(values[offsets[0] : offsets[-1]].copy(), offsets - offsets[0])


class _TableShard:
    def __init__(self, layout: ShardLayout, name: str, *, is_parquet: bool) -> None:
        require_pyarrow("writing Parquet and Arrow")
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._columns = layout.options.columns
        self._is_parquet = is_parquet
        kinds = {"input_ids": pa.int32(), "attention_mask": pa.int8(), "labels": pa.int64()}
        self._told = told_columns(layout)
        schema = pa.schema(
            [
                *((name, pa.list_(kinds[name])) for name in ("input_ids", *self._columns)),
                *((name, pa.int64() if name == "record" else pa.string()) for name in self._told),
            ]
        )
        self._records: list[str] = []
        self._schema = schema
        self._file = ShardFile(layout.folder, name, layout.options.digest)
        self._target = ShardSink(self._file)
        self._sink = pa.PythonFile(self._target, mode="w")
        open_table: Any = pq.ParquetWriter
        open_stream: Any = pa.ipc.new_stream
        self._writer: Any = (
            open_table(self._sink, schema, compression="zstd", use_dictionary=False)
            if is_parquet
            else open_stream(self._sink, schema)
        )
        self._rows = RowBuffer()

    def append(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], texts: TextBatch | None
    ) -> None:
        if self._told:
            assert texts is not None
            self._records += texts
        for group, bounds in self._rows.add(ids, offsets):
            self._write(group, bounds)

    def _write(self, ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> None:
        import pyarrow as pa

        if int(offsets[-1]) > MAX_LIST_TOKENS:
            raise LimitError(
                f"a document has {int(offsets[-1]):,} tokens; lists hold up to "
                f"{MAX_LIST_TOKENS:,}\nhint: cut it, or take the format numpy or megatron",
                what="document",
                limit=MAX_LIST_TOKENS,
            )
        bounds = pa.array(offsets.astype(np.int32))
        values: dict[str, Callable[[], NDArray[Any]]] = {
            "input_ids": lambda: ids.view(np.int32),
            "attention_mask": lambda: np.ones(len(ids), dtype=np.int8),
            "labels": lambda: ids.astype(np.int64),
        }
        lists = [
            pa.ListArray.from_arrays(bounds, pa.array(values[name]()))
            for name in ("input_ids", *self._columns)
        ]
        n_rows = len(offsets) - 1
        records = [json_of(record) for record in self._records[:n_rows]]
        del self._records[:n_rows]
        told = [[_cell(record[name], name) for record in records] for name in self._told]
        lists += [
            pa.array(cells, self._schema.field(name).type)
            for name, cells in zip(self._told, told, strict=True)
        ]
        batch = pa.record_batch(lists, schema=self._schema)
        if self._is_parquet:
            self._writer.write_table(pa.Table.from_batches([batch]), row_group_size=GROUP_ROWS)
        else:
            self._writer.write_batch(batch)

    def close(self) -> tuple[FileRecord, ...]:
        if len(self._rows):
            self._write(*self._rows.take())
        self._writer.close()
        self._sink.flush()
        return (self._file.close(),)

    def abandon(self) -> None:
        self._target.is_dropped = True
        self._writer.close()
        self._file.abandon()


class ShardSink:
    """A shard's file, as pyarrow writes to one."""

    def __init__(self, file: ShardFile) -> None:
        self._file = file
        self.closed = False
        self.is_dropped = False
        """The shard was abandoned: a writer that ends writes its end all the same."""

    def write(self, data: Any) -> int:
        """Add bytes."""
        view = memoryview(data)
        if not self.is_dropped:
            self._file.write(view)
        return view.nbytes

    def tell(self) -> int:
        """Bytes so far."""
        return self._file.n_bytes

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Take no more; the shard closes its file itself."""
        self.closed = True

    def seekable(self) -> bool:
        """No: bytes go in one direction."""
        return False

    def readable(self) -> bool:
        """No."""
        return False

    def writable(self) -> bool:
        """Yes."""
        return True


class _DamageExplained:
    """pyarrow's complaints about a file become ``FormatError`` with the path."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        import pyarrow as pa

        damaged = isinstance(error, OSError) and error.errno is None
        if isinstance(error, pa.ArrowException | KeyError) or damaged:
            first_line = (str(error).splitlines() or ["unknown"])[0]
            raise FormatError(f"{self._path}: not readable: {first_line}", path=self._path)
