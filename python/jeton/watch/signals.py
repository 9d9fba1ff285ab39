"""Signals of drift, and the evidence that bets gather against each.

A value is kept as a level: a share in steps of a thousandth, anything else in steps of 1/32 of a
doubling. Histograms of levels are integers that merge, and give means, quantiles and buckets.

A bet against "the mean is at most m" multiplies its stake by ``1 + l (x - m)`` at each value x of
[0, 1], for a share ``l`` between 0 and ``1 / m``. While the claim holds, no bet gains on average,
given all values before (Waudby-Smith and Ramdas, arXiv:2010.09686). The stake starts at 1 and is
paid out in parts: a part of it begins to bet at each value, so that a change is found late in a
stream, too. Grown ``1 / alpha`` times it is a false alarm with a chance of at most alpha, over the
whole stream and without the values being independent (Ville's inequality). Cost: O(bets) a value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import UsageError

_SHARES = np.geomspace(0.02, 0.9, 12)
"""Shares of the greatest bet. A tuned bet for shifts of any size is near one of them."""

_PAID_OUT = 64.0
"""Values after which part of the stake is out: ``1 - 1 / (1 + log(1 + n / 64))``."""

_LARGEST = 1e200

Array = NDArray[np.float64]


class MeanEvidence:
    """Bets on several streams of values side by side, each against an interval of its mean.

    Args:
        low: Lower ends of the means, float (n_streams,) within [0, 1].
        high: Upper ends.

    Example:
        >>> bets = MeanEvidence([0.4], [0.6])
        >>> for _ in range(50):
        ...     bets.add([0.9])
        >>> float(bets.evidence[0]) > 1000, bets.direction(0), int(bets.starts[0])
        (True, 1, 0)
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self._low = np.atleast_1d(np.asarray(low, dtype=np.float64))
        self._high = np.atleast_1d(np.asarray(high, dtype=np.float64))
        if (
            self._low.shape != self._high.shape
            or not ((self._low >= 0) & (self._low <= self._high) & (self._high <= 1)).all()
        ):
            raise UsageError(
                f"the intervals of means are {low!r} to {high!r}; expected 0 <= low <= high <= 1"
            )
        n, k = len(self._low), len(_SHARES)
        # Rows: bets on a rise, then bets on a fall.
        self._bets = np.stack(
            [
                _SHARES / np.maximum(self._high, 1e-9)[:, None],
                -_SHARES / np.maximum(1 - self._low, 1e-9)[:, None],
            ]
        )
        self._means = np.stack([self._high, self._low])[:, :, None]
        self._stakes = np.zeros((2, n, k))
        self._kept = np.ones(n)
        self._n = np.zeros(n, dtype=np.int64)
        # The likeliest start of a change: where the best run of a bet begins.
        self._runs = np.ones((2, n, k))
        self._starts = np.zeros((2, n, k), dtype=np.int64)

    @property
    def n_values(self) -> NDArray[np.int64]:
        """Values of each stream so far."""
        return self._n

    @property
    def evidence(self) -> Array:
        """Factor by which the stake of each stream has grown; 1 at the start."""
        sides = np.asarray(self._stakes.mean(axis=2) + self._kept)
        return np.asarray(sides.mean(axis=0))

    @property
    def starts(self) -> NDArray[np.int64]:
        """Number of the value from which a change is likeliest, of each stream."""
        n = len(self._n)
        flat = np.moveaxis(self._runs, 1, 0).reshape(n, -1).argmax(axis=1)
        starts = np.moveaxis(self._starts, 1, 0).reshape(n, -1)
        return np.asarray(starts[np.arange(n), flat], dtype=np.int64)

    def direction(self, stream: int) -> int:
        """1 if the mean has risen rather than fallen, else -1."""
        rise, fall = self._stakes[:, stream].sum(axis=1)
        return 1 if rise >= fall else -1

    def add(self, values: ArrayLike) -> None:
        """Take the next value of each stream, float (n_streams,) within [0, 1]; NaN: none."""
        x = np.asarray(values, dtype=np.float64)
        seen = ~np.isnan(x)
        if not seen.any():
            return
        x = np.where(seen, np.clip(x, 0.0, 1.0), 0.0)
        kept = np.where(seen, 1 / (1 + np.log1p((self._n + 1) / _PAID_OUT)), self._kept)
        factors = 1 + self._bets * (x[None, :, None] - self._means)
        factors = np.where(seen[None, :, None], factors, 1.0)
        paid = (self._kept - kept)[None, :, None]
        self._stakes = np.minimum((self._stakes + paid) * factors, _LARGEST)
        self._kept = kept
        begins = (self._runs <= 1) & seen[None, :, None]
        self._starts = np.where(begins, self._n[None, :, None], self._starts)
        self._runs = np.minimum(np.maximum(self._runs, 1.0) * factors, _LARGEST)
        self._n = self._n + seen

    def restart(self, stream: int) -> None:
        """Forget one stream: it begins anew with its whole stake."""
        self._stakes[:, stream] = 0.0
        self._kept[stream] = 1.0
        self._runs[:, stream] = 1.0
        self._starts[:, stream] = 0
        self._n[stream] = 0


def mean_interval(values: ArrayLike, counts: ArrayLike, *, miss: float) -> tuple[float, float]:
    """The interval that holds the mean of bounded values, but for a chance of ``miss``.

    Formula: every mean against which bets on the values grow less than ``2 / miss`` times.

    Args:
        values: Distinct values, float (n,) within [0, 1].
        counts: How often each came up, integers (n,).
        miss: Chance that the mean is outside.

    Example:
        >>> low, high = mean_interval([0.0, 1.0], [500, 500], miss=0.01)
        >>> 0.43 < low < 0.5 < high < 0.57
        True
    """
    x, n = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if not n.sum() > 0:
        return 0.0, 1.0
    mean = float((x * n).sum() / n.sum())

    def refuted(m: float, sign: int) -> bool:
        # Bets that the mean is above m (sign 1) or below it (-1).
        room = m if sign > 0 else 1 - m
        bets = sign * _SHARES / max(room, 1e-12)
        logs = np.log1p(bets[:, None] * (x - m)[None, :]) @ n
        top = float(logs.max())
        grown = top + math.log(float(np.exp(logs - top).mean()))
        return grown >= math.log(2 / miss)

    return _edge(0.0, mean, refuted, 1), _edge(1.0, mean, refuted, -1)


def _edge(end: float, mean: float, refuted: Callable[[float, int], bool], sign: int) -> float:
    """The mean nearest to ``end`` that is not refuted, by halving."""
    outside, inside = end, mean
    if not refuted(min(max(outside, 1e-9), 1 - 1e-9), sign):
        return end
    for _ in range(40):
        middle = (outside + inside) / 2
        if refuted(middle, sign):
            outside = middle
        else:
            inside = middle
    return inside


_PER_DOUBLING: Final = 32
_PER_SHARE: Final = 1000

_CLIPPED: Final = 0.005
"""Part of the values beyond each end of the range: there they are taken for the end."""

_LEAST_RANGE: Final = 8
"""Levels of a range at the least: a quarter of a doubling, or 0.8 points of a share."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One figure of a request.

    Attributes:
        name: Its stable name.
        label: Its name in sentences.
        is_share: True for a share of 0 to 1; else a positive number, compared by ratio.
        tolerance: Change that is no news: a ratio less one, or points of a share.
        metric: Figure of the decomposition that has its causes.
        only_up: True if less of it is no news either.
    """

    name: str
    label: str
    is_share: bool
    tolerance: float
    metric: str
    only_up: bool = False

    def level(self, value: float) -> int | None:
        """Return the level of a value; None where it has none."""
        if self.is_share:
            return round(min(max(value, 0.0), 1.0) * _PER_SHARE)
        return round(math.log2(value) * _PER_DOUBLING) if value > 0 else None

    def value(self, level: float) -> float:
        """Return the value of a level."""
        return level / _PER_SHARE if self.is_share else float(2.0 ** (level / _PER_DOUBLING))


def _share(name: str, label: str, tolerance: float, metric: str = "") -> Signal:
    is_only_up = not metric or name == "unknown_share"
    return Signal(
        name, label, is_share=True, tolerance=tolerance, metric=metric, only_up=is_only_up
    )


def _ratio(name: str, label: str, metric: str = "") -> Signal:
    return Signal(name, label, is_share=False, tolerance=0.03, metric=metric)


SIGNALS: Final = MappingProxyType(
    {
        signal.name: signal
        for signal in (
            _ratio("tokens_per_request", "tokens a request", "tokens_per_document"),
            _ratio("tokens_per_byte", "tokens a byte", "bytes_per_token"),
            _share("single_byte_share", "share of single-byte tokens", 0.01, "bytes_per_token"),
            _share("unknown_share", "share of unknown tokens", 0.002, "bytes_per_token"),
            _share("special_hit_share", "requests that spell a special token", 0.005),
            _share("invisible_share", "share of invisible characters", 0.002),
            _share("padding_share", "share of padding", 0.03),
            _ratio("estimate_ratio", "our count over the provider's"),
        )
    }
)
"""Every signal of a request by name. The tolerances are our choice: less wakes nobody."""


SOURCE_SHARE: Final = Signal("source_share", "share of a source", True, 0.1, "")  # noqa: FBT003
"""Share of the requests that one source has: followed for each source of a history."""


@dataclass(frozen=True, slots=True)
class Normal:
    """The normal of a signal: a range of levels, and the interval of the mean inside it.

    Attributes:
        signal: The signal.
        bottom: Level of 0; lower ones are taken for it.
        top: Level of 1.
        low: Lower end of the mean that is no news, within [0, 1].
        high: Upper end.
        mean: Mean level of the history.
        n: Values of the history.
    """

    signal: Signal
    bottom: int
    top: int
    low: float
    high: float
    mean: float
    n: int

    @classmethod
    def of(cls, signal: Signal, levels: Counter[int], *, miss: float) -> Normal:
        """Learn it from history.

        Args:
            signal: The signal.
            levels: Histogram of its levels; at least one value.
            miss: Chance that the true mean of the history is outside what its values allow.
        """
        places = np.array(sorted(levels), dtype=np.int64)
        counts = np.array([levels[int(place)] for place in places], dtype=np.int64)
        n = int(counts.sum())
        bottom, top = _range(signal, places, counts)
        x = np.clip((places - bottom) / (top - bottom), 0.0, 1.0)
        low, high = mean_interval(x, counts, miss=miss)
        unit = _PER_SHARE * signal.tolerance
        if not signal.is_share:
            unit = _PER_DOUBLING * math.log2(1 + signal.tolerance)
        room = unit / (top - bottom)
        low = 0.0 if signal.only_up else max(0.0, low - room)
        mean = float((places * counts).sum() / n)
        return cls(signal, bottom, top, low, min(1.0, high + room), mean, n)

    def scaled(self, level: int | None) -> float:
        """A level within [0, 1]; NaN where there is none."""
        if level is None:
            return math.nan
        return min(max((level - self.bottom) / (self.top - self.bottom), 0.0), 1.0)


def _range(signal: Signal, places: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[int, int]:
    """Ends of the range: quantiles, with as much again on both sides for what is to come."""
    below = np.cumsum(counts)
    ends = np.searchsorted(below, [_CLIPPED * below[-1], (1 - _CLIPPED) * below[-1]])
    first, last = (int(places[min(end, len(places) - 1)]) for end in ends)
    width = max(last - first, _LEAST_RANGE)
    if signal.is_share:
        return 0, min(_PER_SHARE, max(last + width, 10))
    return first - width // 4, last + width // 4
