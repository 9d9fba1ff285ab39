"""Contents and waste of bins, in figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jeton.planning.packing.result import PackReport, RankSpread
from jeton.planning.packing.segments import Overflow, Segments


def make_report(
    given: NDArray[np.int64],
    segments: Segments,
    *,
    bin_offsets: NDArray[np.int64],
    packed_lengths: NDArray[np.int64],
    widths: NDArray[np.int64],
    is_batches: bool,
    overflow: Overflow,
    n_ranks: int,
    multiple: int,
) -> PackReport:
    """Counts what was given, packed, padded, cut and left out."""
    n_bins = len(widths)
    n_packed = exact_sum(packed_lengths)
    rows = np.diff(bin_offsets) if is_batches else np.ones(n_bins, dtype=np.int64)
    n_positions = exact_sum(rows * widths)
    n_long = len(segments.long_documents)
    n_tokens = exact_sum(given)
    n_dropped_tokens = exact_sum(given[segments.dropped])
    longest = int(packed_lengths.max()) if len(packed_lengths) else 0
    padded = -(-longest // multiple) * multiple * len(packed_lengths)
    return PackReport(
        n_documents=len(given),
        n_tokens=n_tokens,
        n_bins=n_bins,
        n_segments=len(packed_lengths),
        n_packed_tokens=n_packed,
        n_positions=n_positions,
        n_padding_tokens=n_positions - n_packed,
        fill=n_packed / n_positions if n_positions else 1.0,
        padding_share=(n_positions - n_packed) / n_positions if n_positions else 0.0,
        n_cut_documents=n_long if overflow == "split" else 0,
        n_truncated_documents=n_long if overflow == "truncate" else 0,
        n_truncated_tokens=n_tokens - n_packed - n_dropped_tokens,
        n_dropped_documents=len(segments.dropped),
        n_dropped_tokens=n_dropped_tokens,
        n_own_bins=n_long if overflow == "own" else 0,
        n_positions_padded=padded,
        saved_share=1 - n_positions / padded if padded else 0.0,
        ranks=rank_spread(packed_lengths, bin_offsets, n_ranks=n_ranks),
    )


def exact_sum(numbers: NDArray[np.int64]) -> int:
    """Returns a sum that cannot overflow."""
    if not len(numbers):
        return 0
    if int(numbers.max()) * len(numbers) < 2**63:
        return int(numbers.sum())
    return int((numbers >> 32).sum()) * 2**32 + int((numbers & (2**32 - 1)).sum())


def rank_spread(
    packed_lengths: NDArray[np.int64], bin_offsets: NDArray[np.int64], *, n_ranks: int
) -> RankSpread:
    """Sums squared lengths by rank; bin ``b`` goes to rank ``b mod n_ranks``."""
    n_bins = len(bin_offsets) - 1
    if not n_bins:
        return RankSpread(n_ranks, 0.0, 0.0, 0.0, 1.0, 0.0)
    # Squares of long documents pass 64 bits together; 53 bits of precision suffice for a spread.
    work = np.add.reduceat(np.square(packed_lengths.astype(np.float64)), bin_offsets[:-1])
    steps = np.zeros((-(-n_bins // n_ranks), n_ranks))
    steps.reshape(-1)[:n_bins] = work
    by_rank = steps.sum(axis=0)
    mean, most = float(by_rank.mean()), float(by_rank.max())
    waited = n_ranks * float(steps.max(axis=1).sum())
    return RankSpread(
        n_ranks=n_ranks,
        least=float(by_rank.min()),
        mean=mean,
        most=most,
        spread=most / mean if mean else 1.0,
        waiting_share=1 - float(work.sum()) / waited if waited else 0.0,
    )
