"""Threads that encode, with a bounded queue in front of them.

The core lets go of the interpreter while it encodes, so a few threads use all cores, and the event
loop only moves bytes. Results of many small jobs wake the loop once.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

_NICENESS = 5
"""Niceness of the threads, on Linux: an event loop that wakes up goes before those that encode."""

_R = TypeVar("_R")
_Done = tuple[asyncio.Future[Any], Any, BaseException | None]


class PoolIsFull(Exception):
    """As many jobs wait as may wait."""


class WorkPool:
    """Threads of one event loop.

    Args:
        n_threads: Threads; None: the cores that this process may use.
        max_waiting: Jobs that may wait for a thread.
    """

    def __init__(self, *, n_threads: int | None = None, max_waiting: int) -> None:
        self._n_threads = n_threads or len(os.sched_getaffinity(0))
        self._max_waiting = max_waiting
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done: deque[_Done] = deque()
        self._is_waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._n_open = 0

    @property
    def n_waiting(self) -> int:
        """Jobs that wait for a thread."""
        return max(0, self._n_open - self._n_threads)

    @property
    def n_running(self) -> int:
        """Jobs that a thread has."""
        return min(self._n_open, self._n_threads)

    def start(self) -> None:
        """Start the threads; call it in the loop that will ask."""
        self._loop = asyncio.get_running_loop()
        for number in range(self._n_threads):
            thread = threading.Thread(
                target=self._work, name=f"jeton-service-{number}", daemon=True
            )
            thread.start()

    def stop(self) -> None:
        """Let the threads end when the jobs that were taken are done."""
        for _ in range(self._n_threads):
            self._jobs.put(None)

    async def run(self, work: Callable[..., _R], *given: Any) -> _R:
        """Return what a function gives, called by one of the threads.

        Raises:
            PoolIsFull: Too many jobs wait.
        """
        if self._loop is None:
            self.start()
        if self._n_open >= self._n_threads + self._max_waiting:
            raise PoolIsFull
        future: asyncio.Future[_R] = asyncio.get_running_loop().create_future()
        self._n_open += 1
        self._jobs.put((future, work, given))
        return await future

    def _work(self) -> None:
        if sys.platform == "linux":  # elsewhere a niceness is that of all threads
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        while (job := self._jobs.get()) is not None:
            future, work, given = job
            result, error = None, None
            # Nobody waits for a request whose client has gone.
            if not future.cancelled():
                try:
                    result = work(*given)
                except BaseException as raised:
                    error = raised
            self._done.append((future, result, error))
            job = future = work = given = result = error = None
            if not self._is_waking:
                self._is_waking = True
                loop = self._loop
                if loop is None or loop.is_closed():
                    return
                loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # Before looking: a job that ends from now on wakes the loop again.
        self._is_waking = False
        while self._done:
            future, result, error = self._done.popleft()
            self._n_open -= 1
            if future.cancelled():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
