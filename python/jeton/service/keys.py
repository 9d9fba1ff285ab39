"""API keys: compared by digest, so that the time of a comparison tells nothing."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

_Headers = Iterable[tuple[bytes, bytes]]


class ApiKeys:
    """Keys by name.

    Args:
        keys: Key of each name; empty: everybody may ask.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._names = {_digest(key.encode()): name for name, key in keys.items()}

    def name_of(self, headers: _Headers) -> str | None:
        """Return the name of the key that a request has; None: it has none that is known.

        Both usual places count: ``Authorization: Bearer KEY`` and ``x-api-key: KEY``. Without any
        keys, each request has the name ``""``.
        """
        if not self._names:
            return ""
        for name, value in headers:
            if name == b"x-api-key":
                given = value.strip()
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                given = value[7:].strip()
            else:
                continue
            found = self._names.get(_digest(given))
            if found is not None:
                return found
        return None


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


# Requests a minute by key: a bucket of tokens for each, in bounded memory.

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
