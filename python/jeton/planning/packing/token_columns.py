"""Columns beside a list of ids: masks, labels, and the places where packed documents begin.

Each is followed as the programs mean it that write it:

- ``labels`` (transformers, axolotl): -100 is not learned, anything else is the id itself.
- ``completion_mask`` and ``assistant_masks`` (TRL), ``assistant_mask`` (``jeton chat``) and
  ``loss_mask``: 0 is not learned. Where several are there, a token needs them all.
- ``loss_mask`` with ``seq_start_id`` (Megatron-Bridge): the mark is that of the token behind.
- ``attention_mask`` (transformers): 0 is padding, which is no part of a document.
- ``seq_lengths`` (TRL), ``seq_start_id`` (Megatron-Bridge), ``cu_seqlens``, ``position_ids`` that
  begin again (axolotl, padding-free batches): a packed row, taken apart into its documents.
- ``special_tokens_mask`` and ``token_type_ids`` of one kind say nothing about what is learned.

Another list of numbers with a name like these is refused: it may say what is not to be learned.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton.errors import CorpusError, UsageError

IGNORED_LABEL: Final = -100
"""The label of tokens that are not learned, in PyTorch and everything built on it."""

ID_COLUMN: Final = "input_ids"
LABEL_COLUMN: Final = "labels"
ATTENTION_COLUMN: Final = "attention_mask"
LOSS_COLUMN: Final = "loss_mask"
SEGMENT_COLUMN: Final = "seq_start_id"
LENGTHS_COLUMN: Final = "seq_lengths"
POSITION_COLUMN: Final = "position_ids"
BOUNDS_COLUMN: Final = "cu_seqlens"

LEARNED_COLUMNS: Final = (LOSS_COLUMN, "completion_mask", "assistant_masks", "assistant_mask")
"""Masks in which 1 is learned and 0 is not."""

_STARTS: Final = (SEGMENT_COLUMN, LENGTHS_COLUMN, BOUNDS_COLUMN, POSITION_COLUMN)

BOUNDARY_COLUMNS: Final = (ATTENTION_COLUMN, *_STARTS)
"""Columns that say which ids make a document."""

WITHOUT_EFFECT: Final = ("special_tokens_mask", "token_type_ids")

COLUMNS: Final = (LABEL_COLUMN, *LEARNED_COLUMNS, *BOUNDARY_COLUMNS, "token_type_ids")
"""Columns that are read beside the ids."""

_LOOKS_LIKE_ONE: Final = re.compile(
    r"mask|label|weight|position|segment|cu_?seq|seq_?(len|start|id)|sequence_(len|id)|document_id",
    re.IGNORECASE,
)

TokenPart: TypeAlias = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_] | None]
"""Ids of some documents, their lengths, and which ids are learned; None: all."""


def columns_beside(schema: Any, column: str, path: Path) -> list[str]:
    """Returns the columns of a table that say what its ids mean.

    Raises:
        UsageError: One that looks like such a column is not understood.
    """
    import pyarrow as pa

    found = []
    for field in schema:
        name, kind = field.name, field.type
        if name == column:
            continue
        if name in COLUMNS:
            check_lists(schema, name, path)
            found.append(name)
        elif name not in WITHOUT_EFFECT and _LOOKS_LIKE_ONE.search(name):
            is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            inner = kind.value_type if is_list else None
            if is_list and (pa.types.is_integer(inner) or _is_mask(inner)):
                raise UsageError(
                    f"{path}: column {name!r} looks like a mask, and is not understood; those that "
                    f"are understood are {', '.join((*COLUMNS, *WITHOUT_EFFECT[:1]))}\n"
                    f"hint: rename it to the one that it is, or name the ids (--field {column}), "
                    "and every other column is left out"
                )
    return found


def check_lists(schema: Any, column: str, path: Path) -> None:
    """Refuses a column that is not there or holds no lists of numbers."""
    import pyarrow as pa

    if column not in schema.names:
        raise UsageError(
            f"{path} has no column {column!r}; it has {', '.join(schema.names) or 'none'}\n"
            "hint: name the column with the field"
        )
    kind = schema.field(column).type
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    inner = kind.value_type if lists else None
    is_mask = column in (*LEARNED_COLUMNS, ATTENTION_COLUMN) and lists and _is_mask(inner)
    if not (lists and (pa.types.is_integer(inner) or is_mask)):
        raise UsageError(f"{path}: column {column!r} is {kind}; expected lists of whole numbers")


def _is_mask(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_boolean(kind) or pa.types.is_floating(kind))


def token_part(batch: Any, column: str, path: Path) -> TokenPart:
    """Returns the documents of some rows.

    Raises:
        CorpusError: A row is null, or columns contradict one another.
    """
    ids, lengths = _flat(batch.column(column), column, path)
    names = [name for name in batch.schema.names if name != column]
    rows = lengths
    learned: NDArray[np.bool_] | None = None
    if LABEL_COLUMN in names:
        labels = _of_each_id(batch, LABEL_COLUMN, rows, path)
        learned = labels != IGNORED_LABEL
        if not np.array_equal(labels[learned], ids[learned]):
            raise CorpusError(
                f"{path}: a label is neither its id nor {IGNORED_LABEL}\n"
                "hint: labels stand at the places of their ids, and the trainer shifts them; name "
                "the column of ids with the field to leave labels out"
            )
    for name in LEARNED_COLUMNS:
        if name not in names:
            continue
        asked = _marks(batch, name, rows, path)
        if name == LOSS_COLUMN and SEGMENT_COLUMN in names:
            # The mask of a packed row is that of the token behind.
            asked = np.concatenate([[False], asked[:-1]])[: len(asked)]
        learned = asked if learned is None else learned & asked
    if "token_type_ids" in names and _of_each_id(batch, "token_type_ids", rows, path).any():
        raise CorpusError(
            f"{path}: column 'token_type_ids' tells several kinds apart, which packed rows cannot "
            "keep\nhint: leave the column out"
        )
    told = [name for name in _STARTS if name in names]
    starts = [_starts(batch, name, rows, path) for name in told]
    for name, other in zip(told[1:], starts[1:], strict=True):
        if not np.array_equal(other, starts[0]):
            raise CorpusError(
                f"{path}: columns {told[0]!r} and {name!r} begin documents at other places\n"
                "hint: leave the wrong one out"
            )
    if starts:
        lengths = np.diff(np.append(starts[0], len(ids)))
    if ATTENTION_COLUMN in names:
        is_token = _marks(batch, ATTENTION_COLUMN, rows, path)
        if not is_token.all():
            lengths = _kept(is_token, lengths, path)
            ids = ids[is_token]
            learned = None if learned is None else learned[is_token]
    return ids, lengths, learned


def _flat(rows: Any, column: str, path: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if rows.null_count:
        raise CorpusError(f"{path}: a row of column {column!r} is null")
    values = rows.flatten()
    if values.null_count:
        raise CorpusError(f"{path}: an id of column {column!r} is null")
    lengths = rows.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return values.to_numpy(zero_copy_only=False), lengths


def _of_each_id(batch: Any, column: str, lengths: NDArray[np.int64], path: Path) -> NDArray[Any]:
    """Returns the values of a column that has one for each id."""
    rows = batch.column(column)
    noun = "labels" if column == LABEL_COLUMN else "marks"
    flat = rows.flatten()
    sizes = rows.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    if flat.null_count or not np.array_equal(sizes, lengths):
        raise CorpusError(
            f"{path}: a row of column {column!r} is null or has not as many {noun} as ids"
        )
    values: NDArray[Any] = flat.to_numpy(zero_copy_only=False)
    return values


def _marks(batch: Any, column: str, lengths: NDArray[np.int64], path: Path) -> NDArray[np.bool_]:
    mask = _of_each_id(batch, column, lengths, path)
    if not np.isin(mask, (0, 1)).all():
        raise CorpusError(
            f"{path}: column {column!r} holds other numbers than 0 and 1\n"
            "hint: name the column of ids with the field to leave the mask out"
        )
    marks: NDArray[np.bool_] = mask != 0
    return marks


def _starts(batch: Any, column: str, lengths: NDArray[np.int64], path: Path) -> NDArray[np.int64]:
    """Returns the places among all ids at which the documents of packed rows begin."""
    ends = np.cumsum(lengths)
    if column == POSITION_COLUMN:
        positions = _of_each_id(batch, column, lengths, path).astype(np.int64)
        begins = np.ones(len(positions), dtype=np.bool_)
        begins[1:] = np.diff(positions) != 1
        begins[(ends - lengths)[lengths > 0]] = True
        if ATTENTION_COLUMN in batch.schema.names:
            # Positions of padding are what they happen to be.
            is_token = _marks(batch, ATTENTION_COLUMN, lengths, path)
            firsts = np.flatnonzero(begins & is_token)
            row_of = np.repeat(np.arange(len(lengths)), lengths)
            first_of_row = np.ones(len(firsts), dtype=np.bool_)
            first_of_row[1:] = np.diff(row_of[firsts]) != 0
            firsts[first_of_row] = (ends - lengths)[row_of[firsts[first_of_row]]]
            return np.union1d(firsts, (ends - lengths)[lengths > 0]).astype(np.int64)
        return np.flatnonzero(begins).astype(np.int64)
    firsts, counts = _flat(batch.column(column), column, path)
    if column == LENGTHS_COLUMN:
        sums = np.zeros(len(counts), dtype=np.int64)
        np.add.at(sums, np.repeat(np.arange(len(counts)), counts), firsts)
        if (firsts < 1).any() or not np.array_equal(sums, lengths):
            raise CorpusError(
                f"{path}: the lengths of column {column!r} do not add up to the ids of their row"
            )
        found: NDArray[np.int64] = np.cumsum(firsts, dtype=np.int64) - firsts
        return found
    if column == BOUNDS_COLUMN:
        # The last of a row is its end.
        lasts = np.cumsum(counts) - 1
        if (counts < 1).any() or not np.array_equal(firsts[lasts], lengths):
            raise CorpusError(f"{path}: column {column!r} does not end at the end of its row")
        firsts, counts = np.delete(firsts, lasts), counts - 1
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
        raise CorpusError(f"{path}: column {column!r} does not begin at 0 and rise within its row")
    return starts.astype(np.int64)


def _kept(is_token: NDArray[np.bool_], lengths: NDArray[np.int64], path: Path) -> NDArray[np.int64]:
    """Returns the lengths of documents without their padding, which may not lie inside."""
    document = np.repeat(np.arange(len(lengths)), lengths)[is_token]
    kept = np.bincount(document, minlength=len(lengths)).astype(np.int64)
    places = np.flatnonzero(is_token)
    inside = (np.diff(places) != 1) & (np.diff(document) == 0)
    if inside.any():
        raise CorpusError(
            f"{path}: column {ATTENTION_COLUMN!r} has 0 between tokens of a document\n"
            "hint: padding stands before or behind; with the ids named by the field no mask is read"
        )
    return kept
