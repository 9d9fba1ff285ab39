"""Packed Parquet: a row for each bin, in the columns that a trainer reads.

- ``megatron`` (Megatron-Bridge, NeMo): ``input_ids``, ``loss_mask``, ``seq_start_id``. The mask of
  a token says whether the token after it is learned, so the last token of each segment has 0: what
  comes after it is another document.
- ``trl``: ``input_ids``, ``labels``, ``seq_lengths``.
- ``axolotl``: ``input_ids``, ``attention_mask``, ``labels``, ``position_ids``.
- ``padding-free`` (transformers): ``input_ids``, ``labels``, ``position_ids``, ``cu_seqlens``,
  ``max_seqlen``.

Labels are not shifted; -100 is not learned: padding, the first token of each segment, and what the
data set's own masks leave out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton._files import written_whole
from jeton.errors import MissingExtraError, UsageError
from jeton.planning.packing.result import Pack
from jeton.planning.packing.token_columns import IGNORED_LABEL
from jeton.planning.packing.token_source import TokenSource
from jeton.progress import OnProgress, Progress

Layout: TypeAlias = Literal["megatron", "trl", "axolotl", "padding-free"]

LAYOUTS: dict[Layout, dict[str, str]] = {
    "megatron": {"input_ids": "int32", "loss_mask": "int8", "seq_start_id": "int32"},
    "trl": {"input_ids": "int32", "labels": "int32", "seq_lengths": "int32"},
    "axolotl": {
        "input_ids": "int32",
        "attention_mask": "int8",
        "labels": "int32",
        "position_ids": "int32",
    },
    "padding-free": {
        "input_ids": "int32",
        "labels": "int32",
        "position_ids": "int32",
        "cu_seqlens": "int32",
        "max_seqlen": "",
    },
}
"""Columns of each, with the type of their lists; empty: one number a row."""

_TOKENS_AT_ONCE = 1 << 21
_MAX_BINS_AT_ONCE = 500
"""Rows of a row group: readers fetch a whole group for one row."""


def write_packed_parquet(
    pack: Pack,
    path: str | os.PathLike[str],
    *,
    tokens: TokenSource,
    pad_id: int = 0,
    layout: Layout = "megatron",
    on_progress: OnProgress | None = None,
) -> None:
    """Writes the tokens of every bin, whole or not at all.

    Segments without tokens are left out. Rows are not filled up to the capacity: the reader pads.

    Args:
        pack: Bins of ``"best-fit"`` or ``"first-fit"``.
        path: The file to write.
        tokens: Tokens of the documents.
        pad_id: The id that fills segments up to a multiple.
        layout: The columns.
        on_progress: Told the tokens that are written, after each row group.

    Raises:
        UsageError: The bins are batches or of other documents, or an id has more than 31 bits.
        OSError: The file cannot be written.
    """
    if pack.is_batches:
        raise UsageError(
            f"bins of {pack.method!r} are batches of padded rows, not packed rows\n"
            "hint: pack by 'best-fit' or 'first-fit'"
        )
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("writing Parquet", extra="parquet") from error
    tokens.check(pack, tokens_too=True)
    if layout not in LAYOUTS:
        raise UsageError(f"layout is {layout!r}; expected one of {', '.join(LAYOUTS)}")
    schema = pa.schema(
        [
            (name, pa.list_(pa.type_for_alias(kind)) if kind else pa.int32())
            for name, kind in LAYOUTS[layout].items()
        ]
    )
    width = int(pack.widths.max()) if len(pack) else 1
    at_once = max(1, min(_MAX_BINS_AT_ONCE, _TOKENS_AT_ONCE // max(1, width)))
    n_tokens = np.concatenate([[0], np.cumsum(pack.lengths)])
    with written_whole(path) as stream, pq.ParquetWriter(stream, schema) as writer:
        for first in range(0, len(pack), at_once):
            bounds = pack.bin_offsets[first : first + at_once + 1]
            writer.write_table(_rows(pa, schema, pack, bounds, tokens, pad_id))
            if on_progress is not None:
                done, total = int(n_tokens[bounds[-1]]), int(n_tokens[-1])
                on_progress(Progress("write", done, total, "tokens"))


def _rows(
    pa: Any, schema: Any, pack: Pack, bounds: NDArray[np.int64], tokens: TokenSource, pad_id: int
) -> Any:
    part = slice(int(bounds[0]), int(bounds[-1]))
    full = pack.lengths[part] > 0
    bin_of = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))[full]
    lengths = pack.lengths[part][full]
    sizes = -(-lengths // pack.multiple) * pack.multiple
    row_sizes = np.bincount(bin_of, weights=sizes, minlength=len(bounds) - 1).astype(np.int64)
    row_ends = np.concatenate([[0], np.cumsum(row_sizes)])
    firsts = np.cumsum(sizes) - sizes
    before = np.cumsum(lengths) - lengths
    places = np.repeat(firsts - before, lengths) + np.arange(int(lengths.sum()))
    found = tokens.take(pack.documents[part][full], pack.starts[part][full], lengths)
    if len(found) and not 0 <= int(found.min()) <= int(found.max()) < 2**31:
        raise UsageError("an id is outside 0 to 2,147,483,647, which packed Parquet can hold")
    ids = np.full(int(row_ends[-1]), pad_id, dtype=np.int32)
    ids[places] = found
    learned = tokens.take_learned(pack.documents[part][full], pack.starts[part][full], lengths)
    segment_ends = np.concatenate([[0], np.cumsum(np.bincount(bin_of, minlength=len(bounds) - 1))])
    made = _Laid(ids, places, learned, sizes, lengths, firsts, bin_of, row_ends, segment_ends)
    columns = []
    for kind in schema:
        ends, values = made.column(kind.name)
        if ends is None:
            columns.append(pa.array(values, type=kind.type))
            continue
        inner = pa.array(values, type=kind.type.value_type)
        columns.append(pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), inner))
    return pa.table(columns, schema=schema)


@dataclass(frozen=True, slots=True, eq=False)
class _Laid:
    """Rows laid out one after another.

    Attributes:
        ids: Ids at all positions.
        places: Positions that hold a token.
        learned: Which of these are learned.
        sizes: Positions of each segment.
        lengths: Tokens of each segment.
        firsts: First position of each segment.
        bin_of: Row of each segment.
        row_ends: Positions before each row, and of all.
        segment_ends: Segments before each row, and of all.
    """

    ids: NDArray[np.int32]
    places: NDArray[np.int64]
    learned: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    firsts: NDArray[np.int64]
    bin_of: NDArray[np.int64]
    row_ends: NDArray[np.int64]
    segment_ends: NDArray[np.int64]

    def column(self, name: str) -> tuple[NDArray[np.int64] | None, NDArray[Any]]:
        """Returns the ends of the rows of a column, and its values."""
        match name:
            case "input_ids":
                return self.row_ends, self.ids
            case "loss_mask":
                mask = np.zeros(len(self.ids), dtype=np.int8)
                # A token has the mask of the one behind it.
                mask[self.places[:-1]] = self.learned[1:]
                mask[self.firsts + self.lengths - 1] = 0
                return self.row_ends, mask
            case "labels":
                labels = np.full(len(self.ids), IGNORED_LABEL, dtype=np.int32)
                labels[self.places] = np.where(self.learned, self.ids[self.places], IGNORED_LABEL)
                labels[self.firsts] = IGNORED_LABEL
                return self.row_ends, labels
            case "attention_mask":
                attended = np.zeros(len(self.ids), dtype=np.int8)
                attended[self.places] = 1
                return self.row_ends, attended
            case "position_ids":
                return self.row_ends, np.arange(len(self.ids)) - np.repeat(self.firsts, self.sizes)
            case "seq_start_id":
                return self.segment_ends, self.firsts - self.row_ends[self.bin_of]
            case "seq_lengths":
                return self.segment_ends, self.sizes
            case "cu_seqlens":
                n_rows = len(self.row_ends) - 1
                bounds = np.insert(
                    self.firsts + self.sizes - self.row_ends[self.bin_of], self.segment_ends[:-1], 0
                )
                return self.segment_ends + np.arange(n_rows + 1), bounds
            case _:
                longest = np.zeros(len(self.row_ends) - 1, dtype=np.int32)
                np.maximum.at(longest, self.bin_of, self.sizes.astype(np.int32))
                return None, longest
