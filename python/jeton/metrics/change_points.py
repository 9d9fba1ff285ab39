"""Since when: places where the level of a series changes, by binary segmentation.

A series of weighted means (tokens per request by day) is cut where two levels fit it better than
one; each part is then looked at again (Scott and Knott 1974, Biometrics 30, 507-512). A cut has to
gain more than a penalty of ``5 log n`` times the noise, which is measured by the differences of
neighbours (von Neumann 1941), so that a slow drift and a change are not taken for noise. Changes of
less than a twentieth are not told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import UsageError

PENALTY = 5.0
"""Times ``log n``: of series of 31 days without a change, one in a hundred has one of any size, by
simulation with normal noise (a test says so); hardly any of 5% and more."""

MIN_SEGMENT = 3
"""Points of a segment: a weekend of two days is no change of the level."""

MIN_CHANGE = 0.05
"""Relative change from which it is told. Our choice: less is not what wakes anybody."""

_MIN_NOISE = 0.002
"""Least noise, as a share of the level: counts of a constant series are not more exact than it."""

_MAD_TO_SIGMA = 1.4826
_MAX_CHANGES = 20


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of the level.

    Attributes:
        index: First point of the new level.
        before: Level of the segment before.
        after: Level of the segment behind.
        gain: Squared deviations that the cut saves, over the variance of the noise.
    """

    index: int
    before: float
    after: float
    gain: float

    @property
    def change(self) -> float:
        """After over before, less one."""
        return self.after / self.before - 1 if self.before else math.inf


def change_points(
    values: ArrayLike,
    weights: ArrayLike,
    *,
    min_segment: int = MIN_SEGMENT,
    min_change: float = MIN_CHANGE,
) -> tuple[ChangePoint, ...]:
    """Return the changes of a series, in order.

    Formula: cut at the greatest ``w1 w2 / (w1 + w2) (m1 - m2)^2 / s^2``, if it is above
    ``5 log n``; ``s`` is 1.4826 times the median of ``|x[i+1] - x[i]| / sqrt(1/w[i] + 1/w[i+1])``.

    Args:
        values: Means, float (n,).
        weights: Weight of each mean (requests, bytes), float (n,); points of weight 0 are left out.
        min_segment: Points of a segment at least.
        min_change: Relative change from which it is told.

    Raises:
        UsageError: The arrays differ in length, or a number is negative or not finite.
    """
    x, w = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if x.shape != w.shape or x.ndim != 1 or not np.isfinite(x).all() or not (w >= 0).all():
        raise UsageError(
            f"values have shape {x.shape}, weights {w.shape}; expected as many of each, finite and "
            "at least 0"
        )
    used = np.flatnonzero(w > 0)
    x, w = x[used], w[used]
    if len(x) < 2 * min_segment:
        return ()
    variance = _noise(x, w)
    threshold = PENALTY * math.log(len(x))
    cuts: list[int] = []
    pending = [(0, len(x))]
    gains: dict[int, float] = {}
    while pending and len(cuts) < _MAX_CHANGES:
        first, last = pending.pop()
        found = _best_cut(x[first:last], w[first:last], min_segment)
        if found is None or found[1] / variance <= threshold:
            continue
        cut = first + found[0]
        cuts.append(cut)
        gains[cut] = found[1] / variance
        pending += [(first, cut), (cut, last)]
    edges = [0, *sorted(cuts), len(x)]
    levels = [float(np.average(x[a:b], weights=w[a:b])) for a, b in pairwise(edges)]
    changes = []
    for place, cut in enumerate(sorted(cuts)):
        point = ChangePoint(int(used[cut]), levels[place], levels[place + 1], gains[cut])
        if abs(point.change) >= min_change:
            changes.append(point)
    return tuple(changes)


def _noise(x: NDArray[np.float64], w: NDArray[np.float64]) -> float:
    """Variance of a value of weight 1."""
    steps = np.abs(np.diff(x)) / np.sqrt(1 / w[1:] + 1 / w[:-1])
    sigma = _MAD_TO_SIGMA * float(np.median(steps))
    least = _MIN_NOISE * abs(float(np.average(x, weights=w))) * math.sqrt(float(np.median(w)))
    return max(sigma, least, 1e-300) ** 2


def _best_cut(
    x: NDArray[np.float64], w: NDArray[np.float64], min_segment: int
) -> tuple[int, float] | None:
    """Where two levels fit best, and the squared deviations that it saves."""
    n = len(x)
    if n < 2 * min_segment:
        return None
    weight, total = np.cumsum(w), np.cumsum(w * x)
    places = np.arange(min_segment, n - min_segment + 1)
    left_w, left = weight[places - 1], total[places - 1]
    right_w, right = weight[-1] - left_w, total[-1] - left
    gain = left_w * right_w / weight[-1] * (left / left_w - right / right_w) ** 2
    best = int(np.argmax(gain))
    return int(places[best]), float(gain[best])
