"""Lengths of documents under a pipeline: padding of batches, overlap of chunks, packing.

Exact arithmetic on the histogram; only the order in which documents fall into batches is taken to
be random.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass

import numpy as np

from jeton.auditing.evidence import percent
from jeton.metrics import LengthCounts
from jeton.planning.packing import pack


@dataclass(frozen=True, slots=True)
class BatchPadding:
    """Positions of batches that are padded to their longest sequence.

    Attributes:
        n_tokens: Tokens that mean something.
        n_positions: Positions in the mean over all orders of the documents.
        n_positions_sorted: Positions if the documents are sorted by length first.
    """

    n_tokens: int
    n_positions: float
    n_positions_sorted: int

    @property
    def padding_share(self) -> float:
        """Padding of all positions, 0 to 1."""
        return 1 - self.n_tokens / self.n_positions if self.n_positions else 0.0


@dataclass(frozen=True, slots=True)
class ChunkOverlap:
    """Cost of cutting documents into overlapping pieces.

    Attributes:
        n_chunks: Pieces.
        n_repeated_tokens: Tokens that are encoded a second time.
    """

    n_chunks: int
    n_repeated_tokens: int


def batch_padding(lengths: LengthCounts, *, batch_size: int) -> BatchPadding:
    """The expected longest of a batch, drawn without replacement, times its sequences.

    ``P(longest <= l) = C(n(l), b) / C(n, b)`` for ``n(l)`` of ``n`` documents not longer than
    ``l``. A last batch that is not full is taken in proportion.
    """
    n_documents = lengths.n_documents
    total = lengths.total
    if not n_documents:
        return BatchPadding(0, 0.0, 0)
    size = max(1, min(batch_size, n_documents))
    at_most = np.cumsum(lengths.documents).astype(np.int64)
    log_all = _log_choose(n_documents, size)
    distribution = np.array(
        [math.exp(_log_choose(n, size) - log_all) if n >= size else 0.0 for n in at_most.tolist()]
    )
    shares = np.diff(distribution, prepend=0.0)
    expected = float((lengths.lengths.astype(np.float64) * shares).sum())
    ranks = np.minimum(np.arange(size, n_documents + size, size), n_documents)
    longest = lengths.lengths[np.searchsorted(at_most, ranks)]
    sizes = np.diff(ranks, prepend=0)
    n_sorted = sum(int(a) * int(b) for a, b in zip(longest, sizes, strict=True))
    return BatchPadding(total, expected * n_documents, n_sorted)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def chunk_overlap(lengths: LengthCounts, *, chunk_tokens: int, overlap_tokens: int) -> ChunkOverlap:
    """Pieces of ``chunk_tokens`` that begin ``chunk_tokens - overlap_tokens`` apart.

    A document of ``n`` tokens has ``1 + ceil((n - chunk) / (chunk - overlap))`` pieces if it is
    longer than one; each but the first repeats ``overlap_tokens``.
    """
    stride = chunk_tokens - overlap_tokens
    n_chunks = n_repeated = 0
    for length, count in zip(lengths.lengths.tolist(), lengths.documents.tolist(), strict=True):
        pieces = 1 if length <= chunk_tokens else 1 + -(-(length - chunk_tokens) // stride)
        n_chunks += pieces * count
        n_repeated += (pieces - 1) * overlap_tokens * count
    return ChunkOverlap(n_chunks, n_repeated)


BUCKETS = 4
"""Widths of rows that the audit proposes. Our choice: each is a shape to compile, and a few take
most of the padding away."""


@dataclass(frozen=True, slots=True)
class PackedPositions:
    """Positions of the audited documents, arranged in other ways; long ones are cut.

    Attributes:
        capacity: Tokens of a row.
        n_positions: Positions of rows of the capacity, filled by best fit.
        padding_share: Padding of these, 0 to 1.
        edges: Widths of the best buckets.
        bucket_padding_share: Padding of positions if a document is a row as wide as its bucket.
    """

    capacity: int
    n_positions: int
    padding_share: float
    edges: tuple[int, ...]
    bucket_padding_share: float


def packed_positions(lengths: LengthCounts, *, capacity: int) -> PackedPositions:
    """Packs the documents of a histogram, cut to ``capacity``."""
    each = np.repeat(lengths.lengths.astype(np.int64), lengths.documents.astype(np.int64))
    best = pack(each, capacity=capacity, overflow="truncate").report
    buckets = pack(
        each, capacity=capacity, overflow="truncate", method="buckets", max_buckets=BUCKETS
    )
    return PackedPositions(
        capacity=capacity,
        n_positions=best.n_positions,
        padding_share=best.padding_share,
        edges=buckets.edges,
        bucket_padding_share=buckets.report.padding_share,
    )


def packing_remedy(packed: PackedPositions, tokenizer: str, *, overflow: str = "error") -> str:
    """Returns the commands with what they leave of the padding."""
    command = f"jeton pack INPUT --tokenizer {shlex.quote(tokenizer)} --capacity {packed.capacity}"
    if overflow != "error":
        command += f" --overflow {overflow}"
    return (
        f"Pack several documents into a row, with attention within each: `{command}` leaves "
        f"{percent(packed.padding_share)} padding. Or pad to {len(packed.edges)} widths: `--method "
        f"buckets --max-buckets {BUCKETS}` leaves {percent(packed.bucket_padding_share)}."
    )
