"""Parquet with lists of ids, and the columns beside them that say what is learned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton.errors import CorpusError, FormatError, MissingExtraError, UsageError

__all__ = [
    "ID_COLUMN",
    "IGNORED_LABEL",
    "SEGMENT_COLUMN",
    "TokenPart",
    "parquet_files",
    "parquet_parts",
]

IGNORED_LABEL: Final = -100
"""The label of tokens that are not learned, in PyTorch and everything built on it."""

ID_COLUMN: Final = "input_ids"
LABEL_COLUMN: Final = "labels"
MASK_COLUMN: Final = "loss_mask"

SEGMENT_COLUMN: Final = "seq_start_id"
"""Places at which the documents of a packed row begin."""

_ROWS_AT_ONCE: Final = 4096

TokenPart: TypeAlias = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_] | None]
"""Ids of some documents, their lengths, and which ids are learned; None: all."""


def parquet_files(folder: Path) -> list[Path]:
    """Returns the Parquet files of a folder by name, less those that begin with ``.`` or ``_``."""
    found = [*folder.glob("*.parquet"), *folder.glob("*.pq")]
    return sorted(file for file in found if not file.name.startswith((".", "_")))


def parquet_parts(files: list[Path], field: str | None) -> Iterator[TokenPart]:
    """Yields the documents of files, some rows at a time.

    Args:
        files: Parquet files.
        field: The column with lists of ids, and no other column is read; None: ``input_ids``.

    Raises:
        CorpusError: A row is null, or columns contradict one another.
        FormatError: A file is damaged.
        UsageError: There is no such column of ids.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", extra="parquet") from error
    column = field or ID_COLUMN
    for path in files:
        try:
            table = pq.ParquetFile(path)
            _check_lists(pa, table.schema_arrow, column, path)
            columns = [column]
            for name in (LABEL_COLUMN, MASK_COLUMN, SEGMENT_COLUMN) if field is None else ():
                if name in table.schema_arrow.names:
                    _check_lists(pa, table.schema_arrow, name, path)
                    columns.append(name)
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
                yield _part(batch, column, path)
        except pa.ArrowException as error:
            raise FormatError(f"{path}: {error}", path=str(path), format="parquet") from error


def _part(batch: Any, column: str, path: Path) -> TokenPart:
    ids, lengths = _flat(batch.column(column), column, path)
    learned: NDArray[np.bool_] | None = None
    names = batch.schema.names
    if LABEL_COLUMN in names and column != LABEL_COLUMN:
        labels = _of_each_id(batch.column(LABEL_COLUMN), LABEL_COLUMN, lengths, path)
        learned = labels != IGNORED_LABEL
        if not np.array_equal(labels[learned], ids[learned]):
            raise CorpusError(
                f"{path}: a label is neither its id nor {IGNORED_LABEL}\n"
                "hint: labels stand at the places of their ids, and the trainer shifts them; name "
                "the column of ids with the field to leave labels out"
            )
    is_packed = SEGMENT_COLUMN in names and column != SEGMENT_COLUMN
    if MASK_COLUMN in names and column != MASK_COLUMN:
        mask = _of_each_id(batch.column(MASK_COLUMN), MASK_COLUMN, lengths, path)
        if not np.isin(mask, (0, 1)).all():
            raise CorpusError(
                f"{path}: column {MASK_COLUMN!r} holds other numbers than 0 and 1\n"
                "hint: name the column of ids with the field to leave the mask out"
            )
        asked = mask != 0
        if is_packed:
            # The mask of a packed row is that of the token behind.
            asked = np.concatenate([[False], asked[:-1]])[: len(asked)]
        learned = asked if learned is None else learned & asked
    if is_packed:
        lengths = _segments(batch.column(SEGMENT_COLUMN), lengths, path)
    return ids, lengths, learned


def _flat(rows: Any, column: str, path: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if rows.null_count:
        raise CorpusError(f"{path}: a row of column {column!r} is null")
    values = rows.flatten()
    if values.null_count:
        raise CorpusError(f"{path}: an id of column {column!r} is null")
    lengths = rows.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return values.to_numpy(zero_copy_only=False), lengths


def _of_each_id(rows: Any, column: str, lengths: NDArray[np.int64], path: Path) -> NDArray[Any]:
    """Returns the values of a column that has one for each id."""
    noun = "labels" if column == LABEL_COLUMN else "marks"
    flat = rows.flatten()
    sizes = rows.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    if flat.null_count or not np.array_equal(sizes, lengths):
        raise CorpusError(
            f"{path}: a row of column {column!r} is null or has not as many {noun} as ids"
        )
    values: NDArray[Any] = flat.to_numpy(zero_copy_only=False)
    return values


def _segments(rows: Any, lengths: NDArray[np.int64], path: Path) -> NDArray[np.int64]:
    """Returns the lengths of the documents of packed rows."""
    firsts, counts = _flat(rows, SEGMENT_COLUMN, path)
    ends = np.cumsum(lengths)
    starts = np.repeat(ends - lengths, counts) + firsts
    row_starts = np.cumsum(counts) - counts
    is_full = counts > 0
    is_fine = (
        np.array_equal(is_full, lengths > 0)
        and not firsts[row_starts[is_full]].any()
        and bool((firsts < np.repeat(lengths, counts)).all())
    )
    bounds = np.append(starts, ends[-1] if len(ends) else 0)
    if not is_fine or (np.diff(bounds) <= 0).any():
        raise CorpusError(
            f"{path}: column {SEGMENT_COLUMN!r} does not begin at 0 and rise within its row"
        )
    return np.diff(bounds).astype(np.int64)


def _check_lists(pa: Any, schema: Any, column: str, path: Path) -> None:
    if column not in schema.names:
        raise UsageError(
            f"{path} has no column {column!r}; it has {', '.join(schema.names) or 'none'}\n"
            "hint: name the column with the field"
        )
    kind = schema.field(column).type
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    numbers = lists and (
        pa.types.is_integer(kind.value_type)
        or (column == MASK_COLUMN and _is_mask(pa, kind.value_type))
    )
    if not numbers:
        raise UsageError(f"{path}: column {column!r} is {kind}; expected lists of whole numbers")


def _is_mask(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_boolean(kind) or pa.types.is_floating(kind))
