"""Edges of buckets: the widths to which rows are padded."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jeton._core import bucket_edges
from jeton.errors import UsageError
from jeton.planning.packing.checking import MAX_CAPACITY, checked_lengths, whole_number


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
