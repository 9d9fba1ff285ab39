"""Data sets of ids where they lie: Parquet, Arrow, JSON Lines, and Megatron's index."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jeton._foreign import json_of
from jeton.corpus.objects import copy_to, is_address, objects_at
from jeton.errors import CorpusError, FormatError, MissingExtraError, RecordError
from jeton.formats.megatron_index import damaged_index, read_megatron_index
from jeton.planning.packing.token_columns import (
    COLUMNS,
    ID_COLUMN,
    TokenPart,
    check_lists,
    columns_beside,
    token_part,
)

LENGTH_SUFFIXES = (".idx", ".parquet", ".pq", ".arrow")
"""Files of a folder that hold lengths."""

TOKEN_SUFFIXES = (*LENGTH_SUFFIXES, ".bin")
"""Files of a folder that hold lengths or ids."""


@contextmanager
def local_place(path: str | os.PathLike[str], suffixes: tuple[str, ...]) -> Iterator[Path]:
    """The path of a file or folder; for an address that of a copy, which is removed at the end.

    Args:
        path: A path or an address.
        suffixes: Names of the files of a folder end in one of these.

    Raises:
        FileNotFoundError: There is nothing at the address.
        MissingExtraError: An address, and fsspec is not installed.
        OSError: There is no room for the copy.
    """
    address = os.fspath(path)
    if not is_address(address):
        yield Path(path)
        return
    found = list(objects_at(address))
    is_folder = any(was_found for *_, was_found in found)
    if not is_folder:
        # The two files of Megatron's pair go together.
        partner = {".idx": ".bin", ".bin": ".idx"}.get(PurePosixPath(address).suffix)
        if partner in suffixes:
            found += objects_at(str(address).removesuffix(PurePosixPath(address).suffix) + partner)
    with tempfile.TemporaryDirectory(prefix="jeton-", ignore_cleanup_errors=True) as folder:
        copies = []
        for place, *_ in found:
            name = PurePosixPath(place).name
            if is_folder and not name.lower().endswith(suffixes):
                continue
            copies.append(Path(folder) / name)
            copy_to(place, copies[-1])
        yield Path(folder) if is_folder else copies[0]


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


@dataclass(frozen=True, slots=True, eq=False)
class DocumentIndex:
    """Places of documents.

    Attributes:
        dtype: Type of the ids in the ``.bin`` file.
        starts: int64 (n_documents,): place of the first id, counted in ids.
        lengths: int64 (n_documents,): ids of each document.
        ends_bytes: int64 (n_documents,): end of each document in bytes.
    """

    dtype: np.dtype[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ends_bytes: NDArray[np.int64]


def read_document_index(path: Path) -> DocumentIndex:
    """Reads an index; sequences of one document are counted together.

    Raises:
        FormatError: The file is damaged, or its numbers are no ids.
        OSError: It cannot be read.
    """
    index = read_megatron_index(path)
    if index.dtype.kind == "f":
        raise damaged_index(path, f"its numbers are {index.dtype.name}, which no ids are")
    # Copies: the file may be replaced while they are used.
    sizes = index.lengths.astype(np.int64)
    pointers = index.pointers.astype(np.int64)
    bounds = index.documents.astype(np.int64)
    n_sequences = len(sizes)
    if n_sequences and (sizes.min() < 0 or pointers.min() < 0):
        raise damaged_index(path, "a length or a place is negative")
    if (pointers % index.dtype.itemsize).any():
        raise damaged_index(path, f"a place is no multiple of {index.dtype.itemsize} bytes")
    if len(bounds) < 2:
        # Files without documents have one bound, 0, or none.
        bounds = np.arange(n_sequences + 1)
    if bounds[0] != 0 or bounds[-1] != n_sequences or (np.diff(bounds) < 0).any():
        raise damaged_index(
            path, f"its documents do not cover its {n_sequences:,} sequences from first to last"
        )
    return _by_document(path, index.dtype, sizes, pointers, bounds)


def _by_document(
    path: Path,
    dtype: np.dtype[Any],
    sizes: NDArray[np.int64],
    pointers: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> DocumentIndex:
    ends = pointers + sizes * dtype.itemsize
    is_first = np.zeros(len(sizes) + 1, dtype=bool)
    is_first[bounds] = True
    follows = pointers[1:] == ends[:-1]
    if not (follows | is_first[1:-1]).all():
        raise damaged_index(path, "sequences of one document do not lie one after another")
    totals = np.concatenate([[0], np.cumsum(sizes)])
    lengths = totals[bounds[1:]] - totals[bounds[:-1]]
    starts = np.zeros(len(lengths), dtype=np.int64)
    full = bounds[1:] > bounds[:-1]
    starts[full] = pointers[bounds[:-1][full]] // dtype.itemsize
    return DocumentIndex(dtype, starts, lengths, (starts + lengths) * dtype.itemsize)
