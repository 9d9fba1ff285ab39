"""Rows of one bin as models read them: ids, positions, labels, boundaries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.errors import UsageError
from jeton.planning.packing.lengths import whole_number
from jeton.planning.packing.result import Bin, Pack
from jeton.planning.packing.token_columns import IGNORED_LABEL
from jeton.planning.packing.token_source import TokenSource

__all__ = ["IGNORED_LABEL", "PackedRow", "PaddedBatch", "packed_row", "padded_batch"]


@dataclass(frozen=True, slots=True, eq=False)
class PackedRow:
    """Documents of a bin one after another in a row.

    Attributes:
        input_ids: int64 (n_positions,).
        position_ids: int64 (n_positions,): they begin again at each boundary.
        labels: int64 (n_positions,): the ids; -100 for the first token of each segment, which
            nothing before it may predict, and for padding. Not shifted: the model does that.
        document_ids: int64 (n_positions,): the document at each position; -1 in padding at the end.
        cu_seqlens: int32: boundaries in the row, 0 first and ``n_positions`` last. Segments without
            tokens have none.
        cu_seqlens_unpadded: int32: sums of the real lengths, for kernels that take both; None where
            segments have no padding of their own.
        max_seqlen: Longest distance between two boundaries.
    """

    input_ids: NDArray[np.int64]
    position_ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    cu_seqlens: NDArray[np.int32]
    cu_seqlens_unpadded: NDArray[np.int32] | None
    max_seqlen: int


@dataclass(frozen=True, slots=True, eq=False)
class PaddedBatch:
    """Documents of a bin, a row for each.

    Attributes:
        input_ids: int64 (n_segments, width).
        attention_mask: int64 (n_segments, width): 1 for tokens, 0 for padding.
        position_ids: int64 (n_segments, width).
        labels: int64 (n_segments, width): the ids; -100 for the first token and for padding.
    """

    input_ids: NDArray[np.int64]
    attention_mask: NDArray[np.int64]
    position_ids: NDArray[np.int64]
    labels: NDArray[np.int64]


def packed_row(
    pack: Pack,
    index: int,
    *,
    tokens: TokenSource,
    pad_id: int = 0,
    position_base: int = 0,
    fill_row: bool = False,
) -> PackedRow:
    """Lays out one bin as a row without padding between rows.

    Args:
        pack: The bins.
        index: The bin.
        tokens: Tokens of the documents.
        pad_id: The id of padding.
        position_base: Position of the first token of a document: 0; RoBERTa and its kin count from
            ``pad_id + 1``.
        fill_row: Fills the row up to the bin's width; the padding lies behind a boundary of its
            own, so that no document sees it.

    Raises:
        UsageError: There is no such bin, the documents are others, or boundaries pass 32 bits.
    """
    base = whole_number(position_base, "position_base", least=0)
    bin_ = pack.bin(index)
    tokens.check(pack)
    full = bin_.lengths > 0
    lengths = bin_.lengths[full]
    sizes = -(-lengths // pack.multiple) * pack.multiple
    ends = np.cumsum(sizes)
    n_filled = int(ends[-1]) if len(ends) else 0
    n_positions = max(n_filled, bin_.width) if fill_row else n_filled
    if n_positions > 2**31 - 1:
        raise UsageError(
            f"bin {index} has {n_positions:,} positions; boundaries in int32 end at 2,147,483,647"
        )
    places = _places(ends - sizes, lengths)
    ids = np.full(n_positions, pad_id, dtype=np.int64)
    segments = (bin_.documents[full], bin_.starts[full], lengths)
    ids[places] = tokens.take(*segments)
    labels = np.full(n_positions, IGNORED_LABEL, dtype=np.int64)
    labels[places] = np.where(tokens.take_learned(*segments), ids[places], IGNORED_LABEL)
    labels[ends - sizes] = IGNORED_LABEL
    boundaries = np.concatenate([[0], ends])
    documents = np.repeat(bin_.documents[full], sizes)
    n_tail = n_positions - n_filled
    if n_tail:
        boundaries = np.append(boundaries, n_positions)
        documents = np.concatenate([documents, np.full(n_tail, -1)])
    spans = np.diff(boundaries)
    real = None
    if pack.multiple > 1:
        real = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return PackedRow(
        input_ids=ids,
        position_ids=base + np.arange(n_positions) - np.repeat(boundaries[:-1], spans),
        labels=labels,
        document_ids=documents,
        cu_seqlens=boundaries.astype(np.int32),
        cu_seqlens_unpadded=real,
        max_seqlen=int(spans.max()) if len(spans) else 0,
    )


def padded_batch(
    pack: Pack, index: int, *, tokens: TokenSource, pad_id: int = 0, position_base: int = 0
) -> PaddedBatch:
    """Lays out one bin as a batch: a row for each document, padded to the bin's width.

    Args:
        pack: Bins of ``"sorted-batches"`` or ``"buckets"``.
        index: The bin.
        tokens: Tokens of the documents.
        pad_id: The id of padding.
        position_base: Position of the first token; padding has ``position_base - 1``, or 0.

    Raises:
        UsageError: There is no such bin, the documents are others, or the bins are single rows.
    """
    base = whole_number(position_base, "position_base", least=0)
    if not pack.is_batches:
        raise UsageError(
            f"bins of {pack.method!r} are single rows\n"
            "hint: packed_row lays them out; 'buckets' and 'sorted-batches' make batches"
        )
    bin_: Bin = pack.bin(index)
    tokens.check(pack)
    columns = np.arange(bin_.width)
    is_token = columns < bin_.lengths[:, None]
    ids = np.full(is_token.shape, pad_id, dtype=np.int64)
    segments = (bin_.documents, bin_.starts, bin_.lengths)
    ids[is_token] = tokens.take(*segments)
    is_label = is_token & (columns > 0)
    is_label[is_token] &= tokens.take_learned(*segments)
    labels = np.where(is_label, ids, IGNORED_LABEL)
    return PaddedBatch(
        input_ids=ids,
        attention_mask=is_token.astype(np.int64),
        position_ids=np.where(is_token, base + columns, max(base - 1, 0)),
        labels=labels,
    )


def _places(firsts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the places of all tokens; segment ``i`` begins at ``firsts[i]``."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(firsts - before, lengths) + np.arange(int(lengths.sum()))
