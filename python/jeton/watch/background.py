"""A monitor in a thread of its own, so that a service never waits for it."""

from __future__ import annotations

import queue
import threading
from types import TracebackType
from typing import Final, Self

from jeton.watch.monitor import Monitor, WatchedRequest

_BATCH: Final = 64


class MonitorThread:
    """Feeds a monitor from a bounded queue. Causes of an alert can take a second to find.

    Args:
        monitor: The monitor.
        max_waiting: Requests that may wait; further ones are dropped and counted.
        canary_seconds: Seconds between two canaries; None: no canary.

    Example:
        >>> with MonitorThread(Monitor(tokenizer="jeton-general-32k")) as watch:
        ...     watch.offer(WatchedRequest("Hello"))
        True
        >>> watch.monitor.n_requests
        1
    """

    def __init__(
        self, monitor: Monitor, *, max_waiting: int = 10_000, canary_seconds: float | None = 60.0
    ) -> None:
        self.monitor = monitor
        self.n_dropped = 0
        self.last_error: Exception | None = None
        """The last error that an alert's receiver raised; the watch goes on."""
        self._waiting: queue.Queue[WatchedRequest | None] = queue.Queue(max_waiting)
        self._canary_seconds = canary_seconds
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, name="jeton-watch", daemon=True)]
        if canary_seconds is not None:
            self._threads.append(threading.Thread(target=self._sing, daemon=True))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def offer(self, request: WatchedRequest) -> bool:
        """Hand over a request; False if it was dropped. Never waits."""
        try:
            self._waiting.put_nowait(request)
        except queue.Full:
            self.n_dropped += 1
            return False
        return True

    def stop(self) -> None:
        """Take what waits, then end."""
        self._ended.set()
        self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < _BATCH and not self._waiting.empty():
                batch.append(self._waiting.get())
            requests = [request for request in batch if request is not None]
            try:
                self.monitor.observe(*requests)
            except Exception as error:
                self.last_error = error
            if len(requests) < len(batch):
                return

    def _sing(self) -> None:
        assert self._canary_seconds is not None
        while not self._ended.wait(self._canary_seconds):
            try:
                self.monitor.check_canary()
            except Exception as error:
                self.last_error = error
