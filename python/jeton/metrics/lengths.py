"""Lengths of documents as an exact histogram, and what is read off it.

A histogram (length, number of documents) holds everything that a mean or a quantile needs, merges
exactly, and is small: as long as the number of *different* lengths. Quantiles are nearest-rank:
the smallest length that at least the wanted share of the documents does not exceed (NumPy's
``method="inverted_cdf"``), so a quantile is always a length that really occurs.

Waste of padding every sequence to one length, and the text that it cuts.

Padding waste is ``1 - sum(lengths) / sum(padded lengths)``, over what is left after documents
above the fixed length were cut; truncation loss is ``tokens cut / tokens``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import EmptyCorpusError, UsageError

_MAX_BINS = 40
"""Bins of a display histogram: about as many bars as a plot of 800 pixels shows apart."""

_LINEAR_MAX_RATIO = 20
"""Lengths that spread over more than this ratio are binned by powers: linear bins of equal width
would put nearly all documents of such a workload into the first bar."""

_NICE_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins; bin ``i`` is ``edges[i] <= x < edges[i + 1]``, the last bin closed."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """Tokens per document; quantiles are exact (nearest rank)."""

    mean: float
    p50: int
    p95: int
    p99: int
    max: int
    histogram: Histogram


@dataclass(frozen=True, slots=True, eq=False)
class LengthCounts:
    """An exact histogram of lengths: ``documents[i]`` documents have ``lengths[i]`` units.

    Attributes:
        lengths: uint64 (n_lengths,), ascending, without repetition.
        documents: uint64 (n_lengths,), each at least 1.
    """

    lengths: NDArray[np.uint64]
    documents: NDArray[np.uint64]

    @classmethod
    def from_lengths(cls, lengths: ArrayLike) -> LengthCounts:
        """Count a plain list of lengths."""
        values, documents = np.unique(np.asarray(lengths, dtype=np.uint64), return_counts=True)
        return cls(values, documents.astype(np.uint64))

    def merge(self, other: LengthCounts) -> LengthCounts:
        """The histogram of both sets of documents together."""
        lengths, inverse = np.unique(
            np.concatenate([self.lengths, other.lengths]), return_inverse=True
        )
        documents = np.zeros(len(lengths), dtype=np.uint64)
        np.add.at(documents, inverse, np.concatenate([self.documents, other.documents]))
        return LengthCounts(lengths, documents)

    @property
    def n_documents(self) -> int:
        """How many documents were counted."""
        return int(self.documents.sum())

    @property
    def total(self) -> int:
        """The sum of all lengths, as a Python integer (it cannot overflow)."""
        return sum(
            int(length) * int(count)
            for length, count in zip(self.lengths, self.documents, strict=True)
        )

    @property
    def mean(self) -> float:
        """The mean length; 0.0 without documents."""
        n_documents = self.n_documents
        return self.total / n_documents if n_documents else 0.0

    @property
    def max(self) -> int:
        """The greatest length; 0 without documents."""
        return int(self.lengths[-1]) if len(self.lengths) else 0

    def quantile(self, share: float) -> int:
        """The nearest-rank quantile.

        Args:
            share: 0 to 1; 0.95 is the 95th percentile.

        Raises:
            UsageError: ``share`` is outside 0 to 1.
            EmptyCorpusError: no document was counted.
        """
        if not 0 <= share <= 1:
            raise UsageError(f"quantile {share!r} is out of range; expected 0 to 1")
        n_documents = self.n_documents
        if n_documents == 0:
            raise EmptyCorpusError("no documents; a quantile needs at least one")
        # In fractions of the decimal as written: 0.95 * 20 is 19, not 18.999999999999996 or above.
        rank = max(1, math.ceil(Fraction(str(share)) * n_documents))
        return int(self.lengths[np.searchsorted(np.cumsum(self.documents), rank)])

    def above(self, limit: int) -> tuple[int, int]:
        """``(documents longer than limit, units that lie beyond it)``."""
        first = int(np.searchsorted(self.lengths, limit, side="right"))
        n_documents = 0
        n_units = 0
        for length, count in zip(self.lengths[first:], self.documents[first:], strict=True):
            n_documents += int(count)
            n_units += (int(length) - limit) * int(count)
        return n_documents, n_units

    def edges(self, *, max_bins: int = _MAX_BINS) -> tuple[int, ...]:
        """Edges of bins for display: round ones, or powers where lengths spread widely.

        The last edge is the first one that is not below the greatest length.
        """
        if not len(self.lengths):
            return ()
        low, high = int(self.lengths[0]), int(self.lengths[-1])
        if high <= _LINEAR_MAX_RATIO * max(low, 1):
            return tuple(_round_edges(low, high, max_bins))
        return tuple(_power_edges(low, high, max_bins))

    def histogram(
        self, *, max_bins: int = _MAX_BINS, edges: Sequence[int] | None = None
    ) -> Histogram:
        """Count documents in bins for display; every document is in exactly one bin.

        Args:
            max_bins: Bins at most, where no edges are given.
            edges: Edges that hold all lengths, so that histograms can be compared; the last bin is
                closed. By default those of these lengths.
        """
        if not len(self.lengths):
            return Histogram((), ())
        edges = self.edges(max_bins=max_bins) if edges is None else edges
        indices = np.searchsorted(np.asarray(edges), self.lengths.astype(np.float64), side="right")
        indices = np.minimum(indices - 1, len(edges) - 2)
        counts = np.zeros(len(edges) - 1, dtype=np.uint64)
        np.add.at(counts, indices, self.documents)
        return Histogram(tuple(float(edge) for edge in edges), tuple(int(n) for n in counts))

    def summary(self, *, edges: Sequence[int] | None = None) -> LengthSummary:
        """Mean, quantiles and display histogram.

        Args:
            edges: Edges of the histogram, as `histogram` takes them.

        Raises:
            EmptyCorpusError: no document was counted.
        """
        return LengthSummary(
            mean=self.mean,
            p50=self.quantile(0.5),
            p95=self.quantile(0.95),
            p99=self.quantile(0.99),
            max=self.max,
            histogram=self.histogram(edges=edges),
        )


def common_edges(counts: Iterable[LengthCounts]) -> tuple[int, ...]:
    """Return edges that hold the lengths of all, for histograms that are shown side by side."""
    filled = [each for each in counts if len(each.lengths)]
    if not filled:
        return ()
    ends = [length for each in filled for length in (each.lengths[0], each.lengths[-1])]
    return LengthCounts.from_lengths(ends).edges()


def _round_edges(low: int, high: int, max_bins: int) -> list[int]:
    """Edges at multiples of 1, 2 or 5 times a power of ten, at most ``max_bins`` bins."""
    raw_step = max(1, math.ceil((high - low) / max(1, max_bins - 2)))
    power = 10 ** (len(str(raw_step)) - 1)
    step = next(nice * power for nice in _NICE_STEPS if nice * power >= raw_step)
    first = low // step * step
    n_bins = max(1, math.ceil((high - first) / step))
    return [first + step * index for index in range(n_bins + 1)]


def _power_edges(low: int, high: int, max_bins: int) -> list[int]:
    """Integer edges that grow by a constant factor: 2 to the power of 1, 1/2, 1/3 or 1/4."""
    start = max(low, 1)
    doublings = math.log2(high / start)
    per_doubling = max(1, min(4, int(max_bins / max(doublings, 1.0))))
    edges = [0] if low == 0 else []
    index = math.floor(math.log2(start) * per_doubling)
    while True:
        edge = math.floor(2 ** (index / per_doubling))
        if not edges or edge > edges[-1]:
            edges.append(edge)
        if edges[-1] >= high and len(edges) > 1:
            return edges
        index += 1


@dataclass(frozen=True, slots=True)
class PaddingWaste:
    """The effect of one fixed sequence length.

    Attributes:
        padded_to_tokens: The fixed length.
        n_padding_tokens: Positions that hold padding.
        padding_share: Padding positions of all positions, 0 to 1.
        n_truncated_documents: Documents longer than the fixed length.
        n_truncated_tokens: Tokens cut from them.
        truncation_share: Tokens cut of all tokens, 0 to 1.
    """

    padded_to_tokens: int
    n_padding_tokens: int
    padding_share: float
    n_truncated_documents: int
    n_truncated_tokens: int
    truncation_share: float


def padding_waste(lengths: LengthCounts, *, padded_to_tokens: int) -> PaddingWaste:
    """Pad every document to ``padded_to_tokens`` and cut what is longer.

    Raises:
        UsageError: ``padded_to_tokens`` is not positive.
        EmptyCorpusError: no document was counted.
    """
    if padded_to_tokens < 1:
        raise UsageError(f"cannot pad to {padded_to_tokens} tokens; expected at least 1")
    n_documents = lengths.n_documents
    if n_documents == 0:
        raise EmptyCorpusError("no documents; padding waste needs at least one")
    total = lengths.total
    n_truncated_documents, n_truncated_tokens = lengths.above(padded_to_tokens)
    n_positions = n_documents * padded_to_tokens
    n_padding_tokens = n_positions - (total - n_truncated_tokens)
    return PaddingWaste(
        padded_to_tokens=padded_to_tokens,
        n_padding_tokens=n_padding_tokens,
        padding_share=n_padding_tokens / n_positions,
        n_truncated_documents=n_truncated_documents,
        n_truncated_tokens=n_truncated_tokens,
        truncation_share=n_truncated_tokens / total if total else 0.0,
    )
