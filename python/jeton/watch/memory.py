"""Memory of a live process: its slope with an interval, the cache that grows, and an alarm.

The slope is that of Theil and Sen: the median of the slopes of all pairs of points, which one spike
does not move. Its interval is Sen's (Journal of the American Statistical Association 63, 1968). Its
width is Kendall's, made wider for values that follow one another (Hamed and Rao, Journal of
Hydrology 204, 1998).
"""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import UsageError
from jeton.watch.alerts import Alert

_MAX_POINTS: Final = 400
_MIN_POINTS: Final = 10
_CGROUP: Final = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope with its interval, in units a second.

    Attributes:
        per_second: The slope.
        low: Lower end of the interval.
        high: Upper end.
        confidence: Part of cases that the interval holds.
    """

    per_second: float
    low: float
    high: float
    confidence: float

    @property
    def is_growing(self) -> bool:
        """True if the whole interval is above 0."""
        return self.low > 0


def slope_of(seconds: ArrayLike, values: ArrayLike, *, confidence: float = 0.95) -> Slope:
    """Return the slope of values over time.

    Args:
        seconds: Times, ascending, float (n,), at least 10.
        values: Values, float (n,).
        confidence: Part of cases that the interval is to hold.

    Raises:
        UsageError: There are fewer points, or times go backwards.

    Example:
        >>> found = slope_of(range(50), [2 * n + n % 3 for n in range(50)])
        >>> round(found.per_second, 1), found.is_growing
        (2.0, True)
    """
    t, x = np.asarray(seconds, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if t.shape != x.shape or len(t) < _MIN_POINTS or not (np.diff(t) > 0).all():
        raise UsageError(
            f"{len(t)} points in time; expected at least {_MIN_POINTS}, one after another"
        )
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}; expected between 0 and 1")
    if len(t) > _MAX_POINTS:
        kept = np.linspace(0, len(t) - 1, _MAX_POINTS).astype(np.intp)
        t, x = t[kept], x[kept]
    n = len(t)
    first, second = np.triu_indices(n, 1)
    slopes = np.sort((x[second] - x[first]) / (t[second] - t[first]))
    middle = float(np.median(slopes))
    variance = n * (n - 1) * (2 * n + 5) / 18 * _widening(x - middle * t)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)
    low = max(0, math.floor((len(slopes) - half) / 2))
    high = min(len(slopes) - 1, math.ceil((len(slopes) + half) / 2))
    return Slope(middle, float(slopes[low]), float(slopes[high]), confidence)


def _widening(rest: NDArray[np.float64]) -> float:
    """Widening against independent values: by the autocorrelation of ranks."""
    n = len(rest)
    ranks = np.argsort(np.argsort(rest, kind="stable"), kind="stable").astype(np.float64)
    ranks -= ranks.mean()
    whole = float((ranks**2).sum())
    if whole == 0:
        return 1.0
    total = 0.0
    for lag in range(1, n - 3):
        r = float((ranks[:-lag] * ranks[lag:]).sum()) / whole
        if lag > 1 and abs(r) < 1.96 / math.sqrt(n):
            break
        total += (n - lag) * (n - lag - 1) * (n - lag - 2) * r
    return max(1.0, 1 + 2 * total / (n * (n - 1) * (n - 2)))


@dataclass(frozen=True, slots=True)
class CacheGrowth:
    """A cache and its slope, entries or bytes a second."""

    name: str
    size: float
    slope: Slope


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """State of a process.

    Attributes:
        rss_bytes: Resident bytes now.
        limit_bytes: Bytes that it may have; None: no limit is known.
        slope: Slope of the resident bytes; None with too few points.
        full_seconds: Seconds until the limit at the upper end of the slope; None: it may be flat.
        caches: Caches by the lower end of their slope, the fastest first.
        top: Lines of Python that allocated most since the start, with their bytes; empty unless
            ``tracemalloc`` runs.
    """

    rss_bytes: int
    limit_bytes: int | None
    slope: Slope | None
    full_seconds: float | None
    caches: tuple[CacheGrowth, ...] = ()
    top: tuple[tuple[str, int], ...] = ()

    @property
    def in_words(self) -> str:
        """The reading in one line."""
        words = f"{self.rss_bytes / 2**20:,.1f} MiB"
        if self.slope is None:
            return words + ", too short to tell a slope"
        scale = 3600 / 2**20
        ends = f"{self.slope.low * scale:+,.1f} to {self.slope.high * scale:+,.1f}"
        words += f", {self.slope.per_second * scale:+,.1f} MiB an hour ({ends})"
        growing = [cache.name for cache in self.caches if cache.slope.is_growing]
        if growing:
            words += f"; grows: {', '.join(growing)}"
        if self.full_seconds is not None:
            words += f"; full in {self.full_seconds / 60:,.0f} min at the soonest"
        return words

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"schema_version": "jeton.memory/1", **asdict(self), "in_words": self.in_words}


class MemoryWatch:
    """Memory of one process over time.

    Args:
        pid: Process; None: this one.
        caches: Sizes of caches by name, each read at every sample.
        limit_bytes: Bytes that the process may have; None: the limit of its control group.
        confidence: Part of cases that intervals hold.
        trace_python: True to let ``tracemalloc`` find the lines that allocate; it costs time.

    Example:
        >>> watch = MemoryWatch(caches={"ids": lambda: 3.0})
        >>> watch.sample()
        >>> watch.read().slope is None
        True
    """

    def __init__(
        self,
        pid: int | None = None,
        *,
        caches: Mapping[str, Callable[[], float]] | None = None,
        limit_bytes: int | None = None,
        confidence: float = 0.99,
        trace_python: bool = False,
    ) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._caches = dict(caches or {})
        self._limit = limit_bytes if limit_bytes is not None else _cgroup_limit()
        self._confidence = confidence
        self._points: deque[tuple[float, int, tuple[float, ...]]] = deque(maxlen=100_000)
        self._lock = threading.Lock()
        self._start: Any = None
        if trace_python:
            if pid not in (None, os.getpid()):
                raise UsageError("tracemalloc sees this process alone\nhint: leave pid away")
            import tracemalloc

            tracemalloc.start()
            self._start = tracemalloc.take_snapshot()

    def sample(self, *, at: float | None = None) -> None:
        """Take a point.

        Raises:
            OSError: The process is gone, or the system tells no memory of processes.
        """
        sizes = tuple(float(size()) for size in self._caches.values())
        point = (time.monotonic() if at is None else at, resident_bytes(self._pid), sizes)
        with self._lock:
            if not self._points or point[0] > self._points[-1][0]:
                self._points.append(point)

    def read(self) -> MemoryReading:
        """Return the state, with slopes from ten points on."""
        with self._lock:
            points = list(self._points)
        if not points:
            self.sample()
            return self.read()
        now, slope, full = points[-1][1], None, None
        caches: list[CacheGrowth] = []
        if len(points) >= _MIN_POINTS:
            times = [point[0] for point in points]
            slope = slope_of(times, [point[1] for point in points], confidence=self._confidence)
            if slope.is_growing and self._limit is not None:
                full = max(0.0, (self._limit - now) / slope.high)
            for i, name in enumerate(self._caches):
                sizes = [point[2][i] for point in points]
                grown = slope_of(times, sizes, confidence=self._confidence)
                caches.append(CacheGrowth(name, sizes[-1], grown))
            caches.sort(key=lambda cache: -cache.slope.low)
        return MemoryReading(now, self._limit, slope, full, tuple(caches), self._top())

    def alert(self) -> Alert | None:
        """Return an alert if memory grows, but for a chance of half the intervals' misses."""
        found = self.read()
        if found.slope is None or not found.slope.is_growing:
            return None
        return Alert(
            kind="memory", signal="rss_bytes", route="", n_requests=0, since_request=0,
            at_seconds=time.time(), before=float(found.rss_bytes),
            after=found.slope.per_second * 3600, evidence=float("inf"),
            alpha=1 - self._confidence, full_seconds=found.full_seconds,
            memory_words=found.in_words,
        )  # fmt: skip

    def _top(self) -> tuple[tuple[str, int], ...]:
        if self._start is None:
            return ()
        import tracemalloc

        grown = tracemalloc.take_snapshot().compare_to(self._start, "lineno")
        return tuple(
            (f"{one.traceback[0].filename}:{one.traceback[0].lineno}", one.size_diff)
            for one in grown[:10]
            if one.size_diff > 0
        )


def resident_bytes(pid: int) -> int:
    """Return the resident bytes of a process.

    Raises:
        ProcessLookupError: There is no such process.
        OSError: The system has no ``/proc``.
    """
    try:
        text = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            raise ProcessLookupError(errno.ESRCH, f"there is no process {pid}") from None
        raise OSError("this system tells no memory of processes: it has no /proc") from None
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _cgroup_limit() -> int | None:
    try:
        text = _CGROUP.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
