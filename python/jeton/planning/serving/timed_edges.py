"""Edges of buckets by the time that padding costs, not by the positions that it fills."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-12
"""Gain below which two sums are equal but for rounding."""


def timed_edges(
    widths: NDArray[np.int64],
    weights: NDArray[np.float64],
    seconds: NDArray[np.float64],
    *,
    max_edges: int,
) -> tuple[int, ...]:
    """Return the edges with which padded work takes the least time: an exact optimum.

    Work of a width is done at the first edge that is not below it. Where a step waits for memory,
    a wider one takes no longer, and padding is free; so the edges lie where time grows.

    Formula: ``D_k(e) = min over p < e of D_(k-1)(p) + (W(e) - W(p)) t(e)``, W the running sum of
    the weights, t the seconds at an edge.

    Args:
        widths: Distinct widths, ascending; each may be an edge, and the last one is.
        weights: How often each comes.
        seconds: Time of the work at each width; does not fall.
        max_edges: Edges at most.
    """
    n = len(widths)
    if not n:
        return ()
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    times = np.maximum.accumulate(seconds)
    best = sums[1:] * times
    came_from = [np.full(n, -1, dtype=np.int64)]
    for _ in range(min(max_edges, n) - 1):
        # Row e, column p: the last edge before e is p.
        found = np.full(n, np.inf)
        places = np.full(n, -1, dtype=np.int64)
        for edge in range(1, n):
            costs = best[:edge] + (sums[edge + 1] - sums[1 : edge + 1]) * times[edge]
            place = int(costs.argmin())
            found[edge], places[edge] = costs[place], place
        # One edge more that gains nothing is none: the layer falls back on the one before.
        places[found >= best * (1 - _ROUNDING)] = -1
        best = np.where(places >= 0, found, best)
        came_from.append(places)
    layer, edge = len(came_from) - 1, n - 1
    edges = [edge]
    while layer > 0:
        place = int(came_from[layer][edge])
        if place >= 0:
            edge = place
            edges.append(edge)
        layer -= 1
    return tuple(int(widths[place]) for place in reversed(edges))


def padded_seconds(
    edges: tuple[int, ...],
    widths: NDArray[np.int64],
    weights: NDArray[np.float64],
    seconds_at: dict[int, float],
) -> float:
    """Return the time of all work, each width at the first edge that holds it."""
    at = np.searchsorted(np.array(edges), widths)
    times = np.array([seconds_at[edge] for edge in edges])
    return float((times[at] * weights).sum())
