"""Lengths of documents from files, checked: numbers as they stand, or lengths of lists of ids."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton._foreign import array_of, json_of
from jeton._plain import strict_json
from jeton.errors import CorpusError, FormatError, MissingExtraError, RecordError, UsageError
from jeton.planning.packing.token_columns import BOUNDARY_COLUMNS, ID_COLUMN
from jeton.planning.packing.token_tables import (
    LENGTH_SUFFIXES,
    local_place,
    read_document_index,
    table_files,
    table_parts,
)

LENGTH_FIELDS = ("length", "n_tokens", "num_tokens", "input_ids")
"""Columns that are looked for, in this order, where none is named."""

_LINES_AT_ONCE = 1 << 16


def read_lengths(path: str | os.PathLike[str], *, field: str | None = None) -> NDArray[np.int64]:
    """Reads the tokens of each document.

    Args:
        path: ``.npy`` (one dimension of whole numbers); ``.jsonl`` or ``.parquet``; ``.idx`` of
            Megatron, or its ``.bin``; a folder of ``.idx`` or Parquet files, in the order of their
            names; anything else is text with one number a line, ``-`` standard input. An address
            (``s3://...``) is copied, with fsspec.
        field: The field or column of JSON Lines and Parquet: numbers, or lists whose lengths count.
            The first of ``length``, ``n_tokens``, ``num_tokens``, ``input_ids`` if not given.

    Returns:
        int64 (n_documents,).

    Raises:
        RecordError: A line holds no length.
        FormatError: A file is damaged.
        UsageError: There is no such field, or nothing to read in a folder.
        OSError: A file cannot be read.
    """
    if os.fspath(path) == "-":
        return _text(sys.stdin.buffer, "-")
    with local_place(path, LENGTH_SUFFIXES) as place:
        return _lengths_at(place, field)


def _lengths_at(place: Path, field: str | None) -> NDArray[np.int64]:
    name = place.name.lower()
    if place.is_dir():
        return _folder(place, field)
    if name.endswith(".npy"):
        return _npy(place)
    if name.endswith((".idx", ".bin")):
        return read_document_index(place.with_suffix(".idx")).lengths
    if name.endswith((".parquet", ".pq")):
        return _joined([_parquet(place, field)])
    if name.endswith(".arrow"):
        return _joined([lengths for _, lengths, _ in table_parts([place], field)])
    with place.open("rb") as stream:
        if name.endswith((".jsonl", ".ndjson")):
            return _jsonl(stream, place, field)
        return _text(stream, str(place))


def _folder(folder: Path, field: str | None) -> NDArray[np.int64]:
    indexes, tables = sorted(folder.glob("*.idx")), table_files(folder)
    if indexes and tables:
        raise UsageError(
            f"{folder} holds both .idx files and tables\nhint: name one file, or move some"
        )
    if indexes:
        return _joined([read_document_index(file).lengths for file in indexes])
    if tables:
        return _joined([_lengths_at(file, field) for file in tables])
    raise UsageError(
        f"{folder} holds no token data set\n"
        "hint: expected NAME.idx with NAME.bin, or Parquet files with input_ids or lengths"
    )


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _npy(path: Path) -> NDArray[np.int64]:
    try:
        found = array_of(path)
    except ValueError as error:
        raise FormatError(
            f"{path} is no array of NumPy: {error}\n"
            "hint: np.save(path, lengths) writes one; headerless files of ids have no lengths",
            path=str(path),
            format="npy",
        ) from None
    return checked_lengths(found, where=str(path))


def _text(stream: IO[bytes], where: str) -> NDArray[np.int64]:
    """Reads one number a line; blank lines at the end do not count."""
    parts: list[NDArray[np.int64]] = []
    first, blank = 1, 0
    while lines := list(islice(stream, _LINES_AT_ONCE)):
        numbers: list[int] = []
        for line_number, line in enumerate(lines, first):
            word = line.strip()
            if not word:
                blank = blank or line_number
                continue
            if blank:
                raise _no_length(where, blank, "is blank", "a document of no tokens is 0")
            if not word.isdigit() or len(word) > 18:
                shown = word[:40].decode("utf-8", "replace")
                raise _no_length(where, line_number, f"is {shown!r}", "one whole number a line")
            numbers.append(int(word))
        parts.append(np.array(numbers, dtype=np.int64))
        first += len(lines)
    return _joined(parts)


def _jsonl(stream: IO[bytes], path: Path, field: str | None) -> NDArray[np.int64]:
    chosen = field
    lengths: list[int] = []
    for line_number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json_of(line, any_integer=True)
        except (ValueError, RecursionError) as error:
            raise _no_length(
                path, line_number, f"is no JSON: {error}", "one object a line"
            ) from None
        if not isinstance(record, dict):
            raise _no_length(path, line_number, "is no object", "one object a line")
        if chosen is None:
            chosen = _chosen(list(record), path)
            if chosen == ID_COLUMN and {*record} & {*BOUNDARY_COLUMNS}:
                return _joined([part for _, part, _ in table_parts([path], None)])
        if chosen not in record:
            raise _no_length(
                path, line_number, f"has no field {chosen!r}", "every record needs the field"
            )
        lengths.append(_length(record[chosen], path, line_number, chosen))
    return np.array(lengths, dtype=np.int64)


def _length(value: Any, path: Path, line_number: int, field: str) -> int:
    if isinstance(value, list):
        return len(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62:
        return value
    shown = strict_json(value)[:40]
    raise _no_length(
        path, line_number, f"has {field!r} = {shown}", "a whole number from 0 on, or a list of ids"
    )


def _no_length(where: object, line: int, what: str, hint: str) -> RecordError:
    return RecordError(
        f"{where}, line {line} {what}; expected a length\nhint: {hint}", path=str(where), line=line
    )


def _chosen(names: list[str], path: Path) -> str:
    for name in LENGTH_FIELDS:
        if name in names:
            return name
    raise UsageError(
        f"{path} has none of the fields {', '.join(LENGTH_FIELDS)}; it has "
        f"{', '.join(names[:20]) or 'none'}\n"
        "hint: --field names the one with lengths or ids"
    )


def _parquet(path: Path, field: str | None) -> NDArray[np.int64]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", extra="parquet") from error
    try:
        table = pq.ParquetFile(path)
        names = table.schema_arrow.names
        if field is not None and field not in names:
            raise UsageError(
                f"{path} has no column {field!r}; it has {', '.join(names[:20]) or 'none'}"
            )
        column = field or _chosen(names, path)
        if field is None and column == ID_COLUMN and {*names} & {*BOUNDARY_COLUMNS}:
            return _joined([lengths for _, lengths, _ in table_parts([path], None)])
        batches = table.iter_batches(columns=[column])
        return _joined(list(_column_lengths(pa, batches, path, column)))
    except pa.ArrowException as error:
        raise FormatError(f"{path}: {error}", path=str(path), format="parquet") from error


def _column_lengths(
    pa: Any, batches: Iterator[Any], path: Path, column: str
) -> Iterator[NDArray[np.int64]]:
    n_rows = 0
    for batch in batches:
        rows = batch.column(0)
        if rows.null_count:
            missing = int(np.flatnonzero(rows.is_null().to_numpy(zero_copy_only=False))[0])
            raise CorpusError(f"{path}: column {column!r} is null in row {n_rows + missing}")
        n_rows += len(rows)
        if pa.types.is_list(rows.type) or pa.types.is_large_list(rows.type):
            rows = rows.value_lengths()
        elif pa.types.is_fixed_size_list(rows.type):
            rows = pa.array([rows.type.list_size] * len(rows))
        yield checked_lengths(
            rows.to_numpy(zero_copy_only=False), where=f"{path}, column {column!r}"
        )


MAX_CAPACITY = 2**32 - 1
"""Greatest capacity: lengths within a bin have 32 bits in the core."""


def whole_number(value: Any, name: str, *, least: int, most: int | None = None) -> int:
    """Returns a whole number within bounds.

    Raises:
        UsageError: It is no whole number, or out of range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}; expected a whole number") from None
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most:,}"
        raise UsageError(f"{name} is {number:,}; expected {bounds}")
    return number


def checked_lengths(lengths: ArrayLike, *, where: str = "lengths") -> NDArray[np.int64]:
    """Returns lengths as int64 (n_documents,).

    Raises:
        UsageError: They are no whole numbers from 0 on in one dimension.
    """
    try:
        given = np.asarray(lengths)
    except ValueError as error:
        raise UsageError(f"{where} are no array of numbers: {error}") from None
    if given.ndim != 1:
        hint = "\nhint: give the length of each document, not its ids" if given.ndim == 2 else ""
        raise UsageError(f"{where} have {given.ndim} dimensions; expected one{hint}")
    if not given.size:
        return np.zeros(0, dtype=np.int64)
    if given.dtype.kind not in "iu":
        raise UsageError(
            f"{where} are of type {given.dtype}; expected whole numbers\n"
            "hint: give the number of tokens of each document"
        )
    worst = int(given.argmin())
    if given[worst] < 0:
        raise UsageError(f"{where}: document {worst} has {int(given[worst])} tokens; expected >= 0")
    worst = int(given.argmax())
    if int(given[worst]) > 2**62:
        raise UsageError(
            f"{where}: document {worst} has {int(given[worst]):,} tokens; expected at most 2^62"
        )
    return given.astype(np.int64, copy=False)
