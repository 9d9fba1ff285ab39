"""Packed Parquet, as Megatron-Bridge and NeMo read it for fine-tuning: a row for each bin.

Columns: ``input_ids`` list<int32>, ``loss_mask`` list<int8>, ``seq_start_id`` list<int32>. The mask
of a token says whether the token after it is learned, so the last token of each segment has 0: what
comes after it is another document. Labels of the data set's own (-100: not learned) are carried on.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import written_whole
from jeton.errors import MissingExtraError, UsageError
from jeton.planning.packing.result import Pack
from jeton.planning.packing.token_source import TokenSource
from jeton.progress import OnProgress, Progress

__all__ = ["write_packed_parquet"]

_TOKENS_AT_ONCE = 1 << 21
_MAX_BINS_AT_ONCE = 500
"""Rows of a row group: readers fetch a whole group for one row."""


def write_packed_parquet(
    pack: Pack,
    path: str | os.PathLike[str],
    *,
    tokens: TokenSource,
    pad_id: int = 0,
    on_progress: OnProgress | None = None,
) -> None:
    """Writes the tokens of every bin, whole or not at all.

    Segments without tokens are left out. Rows are not filled up to the capacity: the reader pads.

    Args:
        pack: Bins of ``"best-fit"`` or ``"first-fit"``.
        path: The file to write.
        tokens: Tokens of the documents.
        pad_id: The id that fills segments up to a multiple.
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
    schema = pa.schema(
        [
            ("input_ids", pa.list_(pa.int32())),
            ("loss_mask", pa.list_(pa.int8())),
            ("seq_start_id", pa.list_(pa.int32())),
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
    mask = np.zeros(len(ids), dtype=np.int8)
    # A token has the mask of the one behind it.
    learned = tokens.take_learned(pack.documents[part][full], pack.starts[part][full], lengths)
    mask[places[:-1]] = learned[1:]
    mask[firsts + lengths - 1] = 0
    segment_ends = np.concatenate([[0], np.cumsum(np.bincount(bin_of, minlength=len(bounds) - 1))])
    columns = [(row_ends, ids), (row_ends, mask), (segment_ends, firsts - row_ends[bin_of])]
    return pa.table(
        [
            pa.ListArray.from_arrays(
                pa.array(ends.astype(np.int32)), pa.array(values, type=kind.type.value_type)
            )
            for (ends, values), kind in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )
