"""``ThreadPool``: how many threads a list may be encoded with."""

from __future__ import annotations

import random
import threading

from jeton._core import available_threads
from jeton.compat.sentencepiece.errors import as_int

__all__ = ["ThreadPool"]

_MAX_THREADS = 1024


class ThreadPool:
    """A number of threads. They are started for each call: the core keeps none waiting."""

    def __init__(self, num_threads: int) -> None:
        """Negative: as many as this process may use."""
        number = as_int(num_threads)
        self._num_threads = max(1, min(available_threads() if number < 0 else number, _MAX_THREADS))

    def num_threads(self) -> int:
        """The number."""
        return self._num_threads


# Seeds of drawn segmentations: one stream for the process, as sentencepiece has one.

_lock = threading.Lock()
# Not for secrets; without a seed it begins anywhere.
_stream = random.Random()


def set_seed(seed: int) -> None:
    """Begin the stream anew: the same draws for the same seed and calls."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be int, not {seed!r}")
    if not 0 <= seed < 2**32:
        raise TypeError(f"seed is {seed}; expected 0 to 2**32 - 1")
    with _lock:
        _stream.seed(seed)


def next_seed() -> int:
    """The seed of one draw."""
    with _lock:
        return _stream.getrandbits(64)
