"""Packing documents by their lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton._core import pack_best_fit, pack_buckets, pack_first_fit, pack_sorted_batches
from jeton._nearest import nearest
from jeton.errors import UsageError
from jeton.planning.packing.checking import MAX_CAPACITY, checked_lengths, whole_number
from jeton.planning.packing.edges import best_bucket_edges
from jeton.planning.packing.reporting import make_report
from jeton.planning.packing.result import BATCH_METHODS, METHODS, Method, Pack
from jeton.planning.packing.segments import OVERFLOWS, Overflow, Segments, cut


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
