"""Tables with lists of ids: Parquet, Arrow and JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from jeton._foreign import json_of
from jeton.errors import CorpusError, FormatError, MissingExtraError, RecordError
from jeton.planning.packing.token_columns import (
    COLUMNS,
    ID_COLUMN,
    TokenPart,
    check_lists,
    columns_beside,
    token_part,
)

TABLE_SUFFIXES: Final = (".parquet", ".pq", ".arrow", ".jsonl", ".ndjson")

_ROWS_AT_ONCE: Final = 4096


def table_files(folder: Path) -> list[Path]:
    """Returns the tables of a folder by name, less those that begin with ``.`` or ``_``.

    Parquet is taken where there is any, else Arrow, as ``datasets`` saves it.
    """
    for suffixes in (("*.parquet", "*.pq"), ("*.arrow",)):
        found = [file for suffix in suffixes for file in folder.glob(suffix)]
        found = sorted(file for file in found if not file.name.startswith((".", "_")))
        if found:
            return found
    return []


def table_parts(files: list[Path], field: str | None) -> Iterator[TokenPart]:
    """Yields the documents of files, some rows at a time.

    Args:
        files: Tables.
        field: The column with lists of ids, and no other column is read; None: ``input_ids`` with
            the columns of ``token_columns``.

    Raises:
        CorpusError: A row is null, or columns contradict one another.
        FormatError: A file is damaged.
        UsageError: There is no such column of ids, or a mask is not understood.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("reading tables of ids", extra="parquet") from error
    column = field or ID_COLUMN
    for path in files:
        try:
            for batch in _batches(pa, path, column, every=field is None):
                yield token_part(batch, column, path)
        except pa.ArrowException as error:
            raise FormatError(f"{path}: {error}", path=str(path), format="table") from error


def _batches(pa: Any, path: Path, column: str, *, every: bool) -> Iterator[Any]:
    def columns(schema: Any) -> list[str]:
        check_lists(schema, column, path)
        return [column, *(columns_beside(schema, column, path) if every else ())]

    name = path.name.lower()
    if name.endswith((".parquet", ".pq")):
        import pyarrow.parquet as pq

        table = pq.ParquetFile(path)
        wanted = columns(table.schema_arrow)
        yield from table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=wanted)
    elif name.endswith(".arrow"):
        with pa.memory_map(str(path)) as mapped:
            try:
                stream: Any = pa.ipc.open_stream(mapped)
            except pa.ArrowInvalid:
                mapped.seek(0)
                file = pa.ipc.open_file(mapped)
                stream = (file.get_batch(i) for i in range(file.num_record_batches))
            for batch in stream:
                yield batch.select(columns(batch.schema))
    else:
        yield from (batch.select(columns(batch.schema)) for batch in _lines(pa, path, column))


def _lines(pa: Any, path: Path, column: str) -> Iterator[Any]:
    """Yields the records of JSON Lines as tables; each has the columns of the first."""
    names: list[str] | None = None
    with path.open("rb") as stream:
        numbered = enumerate(stream, 1)
        while lines := list(islice(numbered, _ROWS_AT_ONCE)):
            records = []
            for number, line in lines:
                if not line.strip():
                    continue
                try:
                    record = json_of(line)
                except (ValueError, RecursionError) as error:
                    raise _bad(path, number, f"is no JSON: {error}") from None
                if not isinstance(record, dict) or not isinstance(record.get(column), list):
                    raise _bad(path, number, f"has no list of ids in the field {column!r}")
                lists = {name for name, value in record.items() if isinstance(value, list)}
                names = names or [name for name in record if name in lists]
                if gone := (set(names) ^ lists) & {*COLUMNS, column, *names}:
                    raise _bad(path, number, f"has other columns than the first: {sorted(gone)}")
                records.append({name: record[name] for name in names})
            try:
                yield pa.RecordBatch.from_pylist(records, schema=_schema(pa, names or [], records))
            except (pa.ArrowException, OverflowError) as error:
                raise CorpusError(f"{path}, line {lines[0][0]} and behind: {error}") from None


def _schema(pa: Any, names: list[str], records: list[dict[str, Any]]) -> Any:
    """Returns the types of some records; a list without a number is one of whole numbers."""
    fields = []
    for name in names:
        kind = pa.infer_type([record[name] for record in records])
        if pa.types.is_list(kind) and pa.types.is_null(kind.value_type):
            kind = pa.list_(pa.int64())
        fields.append((name, kind))
    return pa.schema(fields)


def _bad(path: Path, line: int, what: str) -> RecordError:
    return RecordError(f"{path}, line {line} {what}", path=str(path), line=line)
