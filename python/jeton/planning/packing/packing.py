"""Packing documents by their lengths; widths of rows, and a report of the bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton._core import (
    bucket_edges,
    pack_best_fit,
    pack_buckets,
    pack_first_fit,
    pack_sorted_batches,
)
from jeton._nearest import nearest
from jeton.errors import UsageError
from jeton.planning.packing.lengths import MAX_CAPACITY, checked_lengths, whole_number
from jeton.planning.packing.result import (
    BATCH_METHODS,
    METHODS,
    OVERFLOWS,
    Method,
    Overflow,
    Pack,
    PackReport,
    RankSpread,
    Segments,
    cut,
)


def best_bucket_edges(
    lengths: ArrayLike, *, max_buckets: int = 8, multiple: int = 1
) -> tuple[int, ...]:
    """Returns the edges with which rows have the least padding: an exact optimum.

    A row is padded to the first edge that is not below its length. Dynamic programming over the
    histogram of the lengths finds the edges; no other choice of as many has less padding.

    Args:
        lengths: Tokens of each document.
        max_buckets: Edges at most. Each is a shape that is compiled or tuned once.
        multiple: The hardware's tile: every edge is a multiple of it.

    Returns:
        Edges, ascending; the last holds the longest document. None without documents.

    Raises:
        UsageError: An argument is out of range.

    Example:
        >>> best_bucket_edges([3, 5, 6, 60, 64], max_buckets=2, multiple=8)
        (8, 64)
    """
    checked = checked_lengths(lengths)
    most = whole_number(max_buckets, "max_buckets", least=1)
    tile = whole_number(multiple, "multiple", least=1, most=MAX_CAPACITY)
    if not len(checked):
        return ()
    # A row has at least one position, since a bucket of width 0 would be no shape.
    widths, counts = np.unique(-(-np.maximum(checked, 1) // tile) * tile, return_counts=True)
    if int(widths[-1]) > MAX_CAPACITY:
        raise UsageError(
            f"the longest document has {int(checked.max()):,} tokens; expected at most "
            f"{MAX_CAPACITY:,}"
        )
    edges = bucket_edges(
        widths.astype(np.uint32), counts.astype(np.uint64), most=min(most, len(widths))
    )
    return tuple(int(edge) for edge in edges)


def pack(
    lengths: ArrayLike,
    *,
    capacity: int,
    method: Method = "best-fit",
    overflow: Overflow = "error",
    multiple: int = 1,
    max_buckets: int = 8,
    n_ranks: int = 1,
    seed: int | None = None,
) -> Pack:
    """Packs documents into bins by their lengths; tokens are never touched.

    The result is a function of the arguments alone. Every document is in exactly one bin, in
    consecutive segments, or named in ``dropped``.

    Args:
        lengths: Tokens of each document.
        capacity: Tokens that a bin holds, padding included.
        method: ``"best-fit"``: longest first, each into the bin that it fills best.
            ``"first-fit"``: in the given order, each into the first bin with room.
            ``"sorted-batches"``: neighbours by length in batches, padded to their longest.
            ``"buckets"``: batches padded to one of a few widths, chosen for the least padding.
        overflow: Rule for a document that is longer than a bin: ``"error"``; ``"split"`` into
            segments; ``"truncate"`` its end; ``"drop"`` it; ``"own"``: a longer bin of its own.
        multiple: Each segment takes a multiple of so many positions, as context parallelism and
            tiles of the hardware want it.
        max_buckets: Widths at most, for ``"buckets"``.
        n_ranks: Data-parallel ranks of the report's spread of work.
        seed: Shuffles the bins, since ``"best-fit"`` makes those of long documents first. None: the
            order in which they were made.

    Returns:
        Bins, segments and a report.

    Raises:
        UsageError: An argument is out of range, or a document is too long and ``overflow`` is
            ``"error"``.

    Example:
        >>> import jeton
        >>> packed = jeton.pack([5, 3, 8, 2, 4], capacity=8)
        >>> [packed.bin(b).documents.tolist() for b in range(len(packed))]
        [[2], [0, 1], [3, 4]]
        >>> packed.report.n_padding_tokens
        2
    """
    method = _choice(method, METHODS, "method")
    overflow = _choice(overflow, OVERFLOWS, "overflow")
    capacity = whole_number(capacity, "capacity", least=1, most=MAX_CAPACITY)
    multiple = whole_number(multiple, "multiple", least=1, most=MAX_CAPACITY)
    max_buckets = whole_number(max_buckets, "max_buckets", least=1)
    n_ranks = whole_number(n_ranks, "n_ranks", least=1)
    if seed is not None:
        seed = whole_number(seed, "seed", least=0, most=2**64 - 1)
    limit = capacity - capacity % multiple
    if not limit:
        raise UsageError(
            f"multiple is {multiple:,} and the capacity {capacity:,}: no segment fits into a bin\n"
            "hint: the capacity must be at least the multiple"
        )
    given = checked_lengths(lengths)
    segments = cut(given, limit=limit, overflow=overflow)
    bins = _arranged(
        _bins(segments, capacity, method, limit=limit, multiple=multiple, max_buckets=max_buckets),
        seed,
    )
    chosen = bins.segments
    documents = chosen if segments.documents is None else segments.documents[chosen]
    starts = segments.starts
    arrays: dict[str, Any] = {
        "bin_offsets": bins.offsets,
        "documents": documents,
        "starts": np.broadcast_to(np.int64(0), len(chosen)) if starts is None else starts[chosen],
        "lengths": segments.lengths[chosen],
        "widths": bins.widths,
        "dropped": segments.dropped,
    }
    for array in arrays.values():
        array.flags.writeable = False
    report = make_report(
        given,
        segments,
        bin_offsets=bins.offsets,
        packed_lengths=arrays["lengths"],
        widths=bins.widths,
        is_batches=method in BATCH_METHODS,
        overflow=overflow,
        n_ranks=n_ranks,
        multiple=multiple,
    )
    return Pack(
        capacity=capacity,
        method=method,
        overflow=overflow,
        multiple=multiple,
        seed=seed,
        edges=bins.edges,
        report=report,
        **arrays,
    )


@dataclass(frozen=True, slots=True)
class _Bins:
    """Bins of segments, before documents stand for them."""

    offsets: NDArray[np.int64]
    segments: NDArray[np.int64]
    widths: NDArray[np.int64]
    edges: tuple[int, ...] = ()


def _bins(
    segments: Segments,
    capacity: int,
    method: Method,
    *,
    limit: int,
    multiple: int,
    max_buckets: int,
) -> _Bins:
    """Packs the segments; those longer than ``limit`` come last, each in a bin of its own."""
    rounded = segments.lengths
    if multiple > 1:
        rounded = -(-rounded // multiple) * multiple
    own = segments.long_documents[:0]
    if len(segments.long_documents) and segments.documents is None:
        own = segments.long_documents[segments.lengths[segments.long_documents] > limit]
    within = None
    packed = rounded
    if len(own):
        within = np.delete(np.arange(len(rounded)), own)
        packed = rounded[within]
    narrow = packed.astype(np.uint32)
    edges: tuple[int, ...] = ()
    if method == "best-fit":
        offsets, places = pack_best_fit(narrow, capacity=capacity)
    elif method == "first-fit":
        offsets, places = pack_first_fit(narrow, capacity=capacity)
    elif method == "sorted-batches":
        offsets, places = pack_sorted_batches(narrow, capacity=capacity)
    else:
        edges = best_bucket_edges(packed, max_buckets=max_buckets, multiple=multiple)
        offsets, places = pack_buckets(narrow, capacity=capacity, edges=edges)
    widths = np.full(len(offsets) - 1, capacity)
    if method in BATCH_METHODS and len(widths):
        widths = np.maximum.reduceat(packed[places], offsets[:-1])
        if edges:
            widths = np.asarray(edges)[np.searchsorted(edges, widths)]
    chosen = places.astype(np.int64) if within is None else within[places]
    if len(own):
        n_segments = int(offsets[-1])
        offsets = np.concatenate([offsets, n_segments + 1 + np.arange(len(own))])
        chosen = np.concatenate([chosen, own])
        widths = np.concatenate([widths, rounded[own]])
    return _Bins(offsets, chosen, widths, edges)


def _arranged(bins: _Bins, seed: int | None) -> _Bins:
    """Shuffles the bins; the order depends on the seed and the number of bins alone."""
    if seed is None:
        return bins
    order = np.argsort(_mixed(seed, len(bins.widths)), kind="stable")
    sizes = np.diff(bins.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(bins.offsets[order] - offsets[:-1], sizes) + np.arange(len(bins.segments))
    return _Bins(offsets, bins.segments[places], bins.widths[order], bins.edges)


def _mixed(seed: int, n: int) -> NDArray[np.uint64]:
    """Returns the first ``n`` numbers of SplitMix64: NumPy promises no order for its generators."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        state = np.uint64(seed) + golden * np.arange(1, n + 1, dtype=np.uint64)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


def _choice(given: Any, names: tuple[Any, ...], what: str) -> Any:
    if given in names:
        return given
    close = nearest(str(given), names, limit=1)
    hint = f"\nhint: did you mean {close[0]!r}?" if close else ""
    raise UsageError(f"{what} is {given!r}; expected one of {', '.join(names)}{hint}")


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
