"""Requests a minute by key: a bucket of tokens for each, in bounded memory."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_MAX_KEYS = 65_536
"""Buckets that are kept; one that is forgotten is full again, as if its key had been idle."""


class RequestRates:
    """Buckets that fill with time.

    Args:
        per_minute: Requests a minute.
        burst: Requests that a full bucket allows at once.
        clock: Seconds that never go back.
    """

    def __init__(
        self, per_minute: int, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_minute / 60
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one request of a key; return seconds to wait, 0 if it may go now."""
        now = self._clock()
        level, since = self._buckets.pop(key, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._per_second)
        wait = 0.0
        if level >= 1:
            level -= 1
        else:
            wait = (1 - level) / self._per_second
        self._buckets[key] = (level, now)
        if len(self._buckets) > _MAX_KEYS:
            self._buckets.popitem(last=False)
        return wait
