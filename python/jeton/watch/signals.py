"""The signals of a request: what a watch follows, and how each becomes a whole number.

A value is kept as a level: a share in steps of a thousandth, anything else in steps of 1/32 of a
doubling. Histograms of levels are integers that merge, and give means, quantiles and buckets.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton.watch.evidence import mean_interval

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
