"""Histories of output lengths: their quantiles, corrected online, and their drift.

A history is two windows of counts in bins: the one that fills, and the one before it, which grows
to its full size first. So it forgets what is older than two windows, and its memory is bounded by
the number of bins. Where the two differ by more than chance, the older one is forgotten at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.economics.serving_reference.length_bins import longest_of, shortest_of

__all__ = ["LengthDrift", "LengthHistory", "LengthInterval"]

_REFRESH = 32
"""Finished requests after which quantiles are looked up anew; early on, whenever their number grew
by an eighth."""

_STEP = 0.02
"""Step of the online correction (gamma of arXiv:2106.00072). Steps of 0.005 to 0.05 were
tried; this one came closest to 90% on the later halves of four public traces: 89.9 to 91.2%."""

_LARGEST_MISS = 4.0
"""Multiple of the nominal miss rate that the correction may reach: where one length is most of the
traffic, no interval misses as often as asked, and the correction would grow without end."""

_LEAST_MISS = -0.32
"""Least miss rate that the correction may reach. Where even all of history misses too often, each
step below zero adds a bin: up to twice the longest length that history knows."""

_DRIFT_SCORE = 4.5
"""Standard deviations at which a changed share is called drift: one look in 100,000 by chance."""

_DRIFT_REQUESTS = 64
"""Requests of the window that fills before drift is looked for."""

_FIRST_WINDOW = 128
"""Requests of the first window; each later one has as many as there were, up to the full size."""


@dataclass(frozen=True, slots=True)
class LengthInterval:
    """Output tokens that a request is expected to have.

    Attributes:
        lower_tokens: Fewest.
        upper_tokens: Most.
        coverage: Share of requests whose output lies between the two, both included.
        n_history: Finished requests that the interval was made of.
        group: Fields of the history that was used: the request's own, or the first of them where
            its own group has too few requests.
    """

    lower_tokens: int
    upper_tokens: int
    coverage: float
    n_history: int
    group: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LengthDrift:
    """A change of a group's output lengths against its own window before.

    Attributes:
        group: Fields of the group.
        n_before: Requests of the window before.
        n_now: Requests since.
        expected_longer_share: Share of the window before that was above its upper quantile.
        longer_share: Share since that is above the same length.
        expected_shorter_share: Share of the window before that was below its lower quantile.
        shorter_share: Share since that is below the same length.
        score: The larger change in standard deviations.
    """

    group: tuple[str, ...]
    n_before: int
    n_now: int
    expected_longer_share: float
    longer_share: float
    expected_shorter_share: float
    shorter_share: float
    score: float


class LengthHistory:
    """Output lengths of one group of requests.

    Attributes:
        n: Finished requests in the two windows.
        interval: Interval of the last look-up; None until there is enough history.
        upper: One-sided bound of the last look-up; None as long as the interval.
        drift: Drift that was last noticed, for a window of requests; None while there is none.
        n_drifts: Drifts that were noticed.
    """

    __slots__ = (
        "_before",
        "_drift_ends",
        "_due",
        "_group",
        "_high",
        "_low",
        "_marks",
        "_min_history",
        "_miss",
        "_miss_above",
        "_miss_wanted",
        "_n_before",
        "_n_learned",
        "_n_longer",
        "_n_shorter",
        "_now",
        "_top",
        "_window",
        "drift",
        "interval",
        "n",
        "n_drifts",
        "upper",
    )

    def __init__(
        self, *, coverage: float, min_history: int, window: int, group: tuple[str, ...]
    ) -> None:
        self._group = group
        self._min_history = min_history
        self._window = window
        self._miss_wanted = self._miss = self._miss_above = 1 - coverage
        self._now: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._n_before = 0
        self._due = min_history
        self._low = self._high = self._top = 0
        self._marks: tuple[int, int, float, float] | None = None
        self._n_longer = self._n_shorter = 0
        self._n_learned = self._drift_ends = 0
        self.n = 0
        self.n_drifts = 0
        self.interval: LengthInterval | None = None
        self.upper: int | None = None
        self.drift: LengthDrift | None = None

    def add(self, place: int) -> None:
        """Take the bin of a finished request's output in."""
        if self.interval is not None:
            self._correct(place)
        if self._marks is not None:
            if place > self._marks[1]:
                self._n_longer += 1
            elif place < self._marks[0]:
                self._n_shorter += 1
        self._now[place] = self._now.get(place, 0) + 1
        self.n += 1
        self._n_learned += 1
        if self.n >= self._due:
            self._look_up()

    def _correct(self, place: int) -> None:
        """Adaptive conformal inference: a miss lowers the miss rate aimed at, a hit raises it.

        Formula: ``a(t + 1) = a(t) + gamma (a - miss(t))``.

        Source: Gibbs and Candes, arXiv:2106.00072.
        """
        wanted = self._miss_wanted
        most = min(0.5, _LARGEST_MISS * wanted)
        step = _STEP * wanted
        if not self._low <= place <= self._high:
            self._miss = max(_LEAST_MISS, self._miss + step - _STEP)
        elif self._miss < most:
            self._miss += step
        if place > self._top:
            self._miss_above = max(_LEAST_MISS, self._miss_above + step - _STEP)
        elif self._miss_above < most:
            self._miss_above += step

    def _look_up(self) -> None:
        """Quantiles anew, drift, and a new window where this one is full."""
        n = self.n
        counts = dict(self._now)
        for place, count in self._before.items():
            counts[place] = counts.get(place, 0) + count
        ordered = sorted(counts.items())
        # Finite-sample ranks: a new request is below the r-th smallest of n with a chance of at
        # most r / (n + 1), and above the k-th smallest with 1 - k / (n + 1) at most.
        rank = max(0, math.floor((n + 1) * self._miss / 2))
        low = ordered[0][0] if rank else 0
        n_below = 0
        if rank:
            for place, count in ordered:
                if n_below + count >= rank:
                    low = place
                    break
                n_below += count
        # Equal lengths leave the lower side less than its half: the upper side has the rest.
        kept = (n + 1) * (1 - self._miss) + (n_below + 1 if rank else 0)
        self._low = low
        self._high = _ranked(ordered, kept) + _bins_beyond(self._miss)
        self._top = _ranked(ordered, (n + 1) * (1 - self._miss_above))
        self._top += _bins_beyond(self._miss_above)
        self.upper = longest_of(self._top)
        self.interval = LengthInterval(
            lower_tokens=shortest_of(low),
            upper_tokens=longest_of(self._high),
            coverage=1 - self._miss_wanted,
            n_history=n,
            group=self._group,
        )
        n_now = n - self._n_before
        if self._has_drifted(n_now) and n_now >= self._min_history:
            self._turn(forget=True)
        elif n_now >= min(self._window, max(_FIRST_WINDOW, self._n_before)):
            self._turn(forget=n > self._window)
        self._due = self.n + min(_REFRESH, self.n // 8 + 1)

    def _has_drifted(self, n_now: int) -> bool:
        """Compare the window that fills with the one before."""
        if self.drift is not None and self._n_learned >= self._drift_ends:
            self.drift = None
        if self._marks is None or n_now < _DRIFT_REQUESTS:
            return False
        longer, shorter = self._n_longer / n_now, self._n_shorter / n_now
        expected_shorter, expected_longer = self._marks[2:]
        score = max(
            _score(expected_longer, self._n_before, longer, n_now),
            _score(expected_shorter, self._n_before, shorter, n_now),
        )
        if score < _DRIFT_SCORE:
            return False
        self.drift = LengthDrift(
            group=self._group,
            n_before=self._n_before,
            n_now=n_now,
            expected_longer_share=expected_longer,
            longer_share=longer,
            expected_shorter_share=expected_shorter,
            shorter_share=shorter,
            score=score,
        )
        self.n_drifts += 1
        self._drift_ends = self._n_learned + self._window
        return True

    def _turn(self, *, forget: bool) -> None:
        """The window that filled becomes the one before, or joins it; an empty one begins."""
        counts = self._now
        if not forget:
            for place, count in self._before.items():
                counts[place] = counts.get(place, 0) + count
        self._before, self._now = counts, {}
        n = self._n_before = self.n = sum(counts.values())
        ordered = sorted(counts.items())
        low = _ranked(ordered, n * self._miss_wanted / 2)
        high = _ranked(ordered, n * (1 - self._miss_wanted / 2))
        shorter = sum(count for place, count in ordered if place < low) / n
        longer = sum(count for place, count in ordered if place > high) / n
        self._marks = (low, high, shorter, longer)
        self._n_longer = self._n_shorter = 0


def _ranked(ordered: list[tuple[int, int]], rank: float) -> int:
    """The bin of the smallest length that ``rank`` lengths do not exceed; else the last."""
    seen = 0
    for place, count in ordered:
        seen += count
        if seen >= rank - 1e-9:
            return place
    return ordered[-1][0]


def _bins_beyond(miss: float) -> int:
    """Bins to add where the correction asks for more than all of history."""
    return math.ceil(-miss / _STEP) if miss < 0 else 0


def _score(before: float, n_before: int, now: float, n_now: int) -> float:
    """The z score of two shares being one."""
    pooled = (before * n_before + now * n_now) / (n_before + n_now)
    variance = pooled * (1 - pooled) * (1 / n_before + 1 / n_now)
    return abs(now - before) / math.sqrt(variance) if variance > 0 else 0.0
