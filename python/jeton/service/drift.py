"""Drift of what the service counts: the monitor of `jeton.watch`, fed by the routes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from litestar import get

from jeton.watch import Monitor, WatchedRequest, WatchSettings
from jeton.watch.background import MonitorThread

if TYPE_CHECKING:
    from jeton.service.settings import ServiceSettings
    from jeton.service.state import ServiceState
    from jeton.service.wire import Worked

LEARN = "-"
_WINDOW = 200
"""Texts of a window: a point of the chart."""

_MAX_CHARS = 100_000
"""Longer texts are not watched: their copies would be the service's memory."""


class ServiceDrift:
    """The monitor of one application, in a thread of its own.

    Args:
        state: State of the service; texts under its first tokenizer are watched.
        history: File of a history; None: the first texts are it.
    """

    def __init__(self, state: ServiceState, history: str | None) -> None:
        self._name = state.tokenizers.names[0]
        tokenizer = state.tokenizers.get(self._name).tokenizer
        self.monitor = Monitor(
            history,
            tokenizer=tokenizer,
            settings=WatchSettings(window_requests=_WINDOW),
            encode=lambda text: state.tokenizers.get(self._name).tokenizer.encode(text),
        )
        self._thread = MonitorThread(self.monitor)
        state.watchers.append(self._watch)

    def start(self) -> None:
        """Start the thread."""
        self._thread.__enter__()

    def stop(self) -> None:
        """Take what waits, then end the thread."""
        self._thread.stop()

    def handler(self) -> Any:
        """Return the framework's handler of ``/v1/drift``."""

        @get(
            "/v1/drift",
            summary="Show what moved, and why: states of signals, windows, alerts.",
            tags=["own"],
            operation_id="v1_drift",
            sync_to_thread=True,
        )
        def drift() -> dict[str, Any]:
            from jeton._plain import finite_values

            found: dict[str, Any] = finite_values(self.monitor.to_dict())
            return found

        return drift

    def _watch(self, route: str, worked: Worked) -> None:
        """Called in a thread of the pool: hand the texts over, and never wait."""
        if worked.served.name != self._name:
            return
        now = time.time()
        for text in worked.texts:
            if isinstance(text, str) and 0 < len(text) <= _MAX_CHARS:
                self._thread.offer(WatchedRequest(text, route=route, at=now))


def open_drift(settings: ServiceSettings, state: ServiceState) -> ServiceDrift | None:
    """Return the watch of a service; None where none was asked for.

    Raises:
        FileNotFoundError: The history is missing.
        FormatError: It is no history.
    """
    if not settings.watch:
        return None
    return ServiceDrift(state, None if settings.watch == LEARN else settings.watch)
