"""Packing's result: bins, segments of long documents, and a report of contents and waste."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton._shown import NotebookResult
from jeton.errors import LimitError, UsageError

Overflow: TypeAlias = Literal["error", "split", "truncate", "drop", "own"]

OVERFLOWS: tuple[Overflow, ...] = ("error", "split", "truncate", "drop", "own")
"""Rules for a document that is longer than a bin."""


_MAX_SEGMENTS = 1 << 24
"""Segments that a few documents may make: a length in a file costs nothing, and each segment of it
some 60 bytes here."""

_MAX_SEGMENTS_PER_DOCUMENT = 4096
"""Segments that each document may make on the average where there are more."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Pieces of documents that are packed, in the order of the documents.

    Attributes:
        documents: int64 (n_segments,); None: segment ``i`` is document ``i``.
        starts: int64 (n_segments,): tokens of the document before the segment; None: all 0.
        lengths: int64 (n_segments,): tokens.
        long_documents: int64: documents longer than a bin.
        dropped: int64: documents that are left out.
    """

    documents: NDArray[np.int64] | None
    starts: NDArray[np.int64] | None
    lengths: NDArray[np.int64]
    long_documents: NDArray[np.int64]
    dropped: NDArray[np.int64]


def cut(lengths: NDArray[np.int64], *, limit: int, overflow: Overflow) -> Segments:
    """Applies the rule for documents longer than ``limit``; others stay as they are.

    Raises:
        UsageError: A document is longer, and the rule is ``"error"``.
        LimitError: Cut up they are far more segments than such documents make.
    """
    none = np.zeros(0, dtype=np.int64)
    long = np.flatnonzero(lengths > limit)
    if not len(long):
        return Segments(None, None, lengths, none, none)
    if overflow == "error":
        first = int(long[0])
        others = f" ({len(long):,} documents are too long)" if len(long) > 1 else ""
        raise UsageError(
            f"document {first} has {int(lengths[first]):,} tokens, more than the {limit:,} that a "
            f"bin holds{others}\n"
            "hint: overflow 'split' cuts it into several segments, 'truncate' keeps its beginning, "
            "'drop' leaves it out, 'own' gives it a longer bin of its own"
        )
    if overflow == "truncate":
        return Segments(None, None, np.minimum(lengths, limit), long, none)
    if overflow == "drop":
        kept = np.flatnonzero(lengths <= limit)
        return Segments(kept, None, lengths[kept], long, long)
    if overflow == "own":
        return Segments(None, None, lengths, long, none)
    n_pieces = np.maximum(1, -(-lengths // limit))
    most = min(2**32 - 2, max(_MAX_SEGMENTS, _MAX_SEGMENTS_PER_DOCUMENT * len(lengths)))
    if int(n_pieces.sum()) > most:
        raise LimitError(
            f"{len(lengths):,} documents of {int(lengths.sum()):,} tokens make "
            f"{int(n_pieces.sum()):,} segments of {limit:,} tokens; the limit is {most:,}\n"
            "hint: are the lengths right? pack parts of the data set one by one, or give bins "
            "more room",
            what="segments",
            limit=most,
        )
    documents = np.repeat(np.arange(len(lengths)), n_pieces)
    firsts = np.cumsum(n_pieces) - n_pieces
    starts = (np.arange(len(documents)) - firsts[documents]) * limit
    return Segments(documents, starts, np.minimum(limit, lengths[documents] - starts), long, none)


Method: TypeAlias = Literal["best-fit", "first-fit", "sorted-batches", "buckets"]

METHODS: tuple[Method, ...] = ("best-fit", "first-fit", "sorted-batches", "buckets")
"""Ways to pack; the first two fill one row, the others batches of padded rows."""

BATCH_METHODS = ("sorted-batches", "buckets")
"""Methods whose bins are batches with a row for each document."""


@dataclass(frozen=True, slots=True)
class RankSpread:
    """Work of attention over data-parallel ranks: bin ``b`` goes to rank ``b mod n_ranks``.

    Work is the sum of squared lengths of segments, as attention within documents has it.

    Attributes:
        n_ranks: Ranks.
        least: Work of the rank with least.
        mean: Mean work of a rank.
        most: Work of the rank with most.
        spread: ``most / mean``; 1 is even.
        waiting_share: Share of time for which ranks wait, if each step ends with its slowest rank.
    """

    n_ranks: int
    least: float
    mean: float
    most: float
    spread: float
    waiting_share: float


@dataclass(frozen=True, slots=True)
class PackReport(NotebookResult):
    """Contents and waste of the bins.

    Attributes:
        n_documents: Documents given.
        n_tokens: Tokens given.
        n_bins: Bins made.
        n_segments: Segments packed; more than documents where some are split.
        n_packed_tokens: Tokens in bins.
        n_positions: Positions of all bins: rows times their width.
        n_padding_tokens: Positions that hold no token.
        fill: Tokens per position, 0 to 1.
        padding_share: Share of positions that hold no token, 0 to 1.
        n_cut_documents: Documents split into several segments.
        n_truncated_documents: Documents whose end is left out.
        n_truncated_tokens: Tokens left out at their ends.
        n_dropped_documents: Documents left out.
        n_dropped_tokens: Tokens of these.
        n_own_bins: Bins longer than the capacity, with one document each.
        n_positions_padded: Positions if each document were a row as wide as the longest segment.
        saved_share: Share of these positions that packing saves.
        ranks: Spread of work over ranks.
    """

    _line = ("n_documents", "n_bins", "fill")

    n_documents: int
    n_tokens: int
    n_bins: int
    n_segments: int
    n_packed_tokens: int
    n_positions: int
    n_padding_tokens: int
    fill: float
    padding_share: float
    n_cut_documents: int
    n_truncated_documents: int
    n_truncated_tokens: int
    n_dropped_documents: int
    n_dropped_tokens: int
    n_own_bins: int
    n_positions_padded: int
    saved_share: float
    ranks: RankSpread


@dataclass(frozen=True, slots=True, eq=False)
class Bin:
    """One bin: its segments in their order.

    Attributes:
        documents: int64 (n_segments,): places of the documents in the input.
        starts: int64 (n_segments,): tokens of the document before the segment.
        lengths: int64 (n_segments,): tokens.
        width: Positions of a row.
    """

    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Pack:
    """Bins of documents, as flat arrays that cannot be written to.

    Bin ``b`` holds segments ``bin_offsets[b]`` to ``bin_offsets[b + 1]``. With ``"best-fit"`` and
    ``"first-fit"`` a bin is one row; with ``"sorted-batches"`` and ``"buckets"`` it is a batch with
    a row for each segment.

    Attributes:
        capacity: Tokens that a bin holds.
        method: Way to pack.
        overflow: Rule for documents that are longer.
        multiple: Each segment takes a multiple of so many positions.
        seed: Seed of the order of the bins; None: as they were made.
        bin_offsets: int64 (n_bins + 1,).
        documents: int64 (n_segments,): places of the documents in the input.
        starts: int64 (n_segments,): tokens of the document before the segment.
        lengths: int64 (n_segments,): tokens.
        widths: int64 (n_bins,): positions of a row of each bin.
        edges: Widths of the buckets; empty with other methods.
        dropped: int64: documents that are in no bin.
        report: Contents and waste.
    """

    capacity: int
    method: Method
    overflow: Overflow
    multiple: int
    seed: int | None
    bin_offsets: NDArray[np.int64]
    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    widths: NDArray[np.int64]
    edges: tuple[int, ...]
    dropped: NDArray[np.int64]
    report: PackReport

    def __len__(self) -> int:
        """Returns the number of bins."""
        return len(self.widths)

    @property
    def is_batches(self) -> bool:
        """Tells whether a bin is a batch of padded rows rather than one row."""
        return self.method in BATCH_METHODS

    def bin(self, index: int) -> Bin:
        """Returns one bin; negative places count from the end.

        Raises:
            UsageError: There is no such bin.
        """
        if not -len(self) <= index < len(self):
            raise UsageError(f"there is no bin {index}; the pack has {len(self):,} bins")
        index %= len(self)
        part = slice(int(self.bin_offsets[index]), int(self.bin_offsets[index + 1]))
        return Bin(
            self.documents[part], self.starts[part], self.lengths[part], int(self.widths[index])
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns options and report, ready for JSON; the bins are left out."""
        return {
            "schema_version": "jeton.pack/1",
            "capacity": self.capacity,
            "method": self.method,
            "overflow": self.overflow,
            "multiple": self.multiple,
            "seed": self.seed,
            "edges": list(self.edges),
            "report": dataclasses.asdict(self.report),
        }
