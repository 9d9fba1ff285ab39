"""``ThreadPool``: how many threads a list may be encoded with."""

from __future__ import annotations

from jeton._core import available_threads
from jeton.compat.sentencepiece._casting import as_int

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
