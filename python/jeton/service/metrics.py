"""Prometheus metrics of the service. Labels are bounded: routes, names of tokenizers, statuses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from litestar import get
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from jeton.watch import Monitor, WatchedRequest, WatchSettings
from jeton.watch.background import MonitorThread

if TYPE_CHECKING:
    from jeton.service.settings import ServiceSettings
    from jeton.service.state import ServiceState
    from jeton.service.wire import Worked


_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
OTHER = "other"
"""Label of paths that are no route: names that clients invent add no series."""


class ServiceMetrics:
    """Counters of one application.

    Args:
        registry: The registry that ``/metrics`` shows; others may add to it.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._requests = Counter(
            "jeton_http_requests", "Requests answered.", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "jeton_http_request_seconds",
            "Time from a request's header to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._tokens = Counter(
            "jeton_tokens", "Tokens counted or made.", ("route", "tokenizer"), registry=registry
        )
        self._refused = Counter(
            "jeton_http_refused", "Requests refused by a limit.", ("reason",), registry=registry
        )
        self._info = Gauge(
            "jeton_tokenizer_info",
            "Tokenizers that are served.",
            ("tokenizer", "fingerprint"),
            registry=registry,
        )
        self._reloads = Counter(
            "jeton_tokenizer_reloads",
            "Tokenizers loaded again.",
            ("tokenizer", "outcome"),
            registry=registry,
        )
        self.running = Gauge("jeton_http_running", "Requests that run.", registry=registry)
        self.held_bytes = Gauge("jeton_http_held_bytes", "Bytes of bodies.", registry=registry)
        self.waiting = Gauge("jeton_pool_waiting", "Jobs that wait.", registry=registry)
        self._of_requests: dict[tuple[str, int], Counter] = {}
        self._of_seconds: dict[str, Histogram] = {}

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Note one answer."""
        counter = self._of_requests.get((route, status))
        if counter is None:
            counter = self._of_requests[route, status] = self._requests.labels(route, str(status))
            self._of_seconds.setdefault(route, self._seconds.labels(route))
        counter.inc()
        self._of_seconds[route].observe(seconds)

    def worked(self, route: str, outcome: Worked) -> None:
        """Note the tokens of one answer; uploads share a label."""
        name = outcome.served.name
        label = "upload" if name.startswith("upload-") else name
        self._tokens.labels(route, label).inc(outcome.n_tokens)

    def refused(self, reason: str) -> None:
        """Note a request that a limit refused."""
        self._refused.labels(reason).inc()

    def reloaded(self, name: str, *, is_new: bool) -> None:
        """Note a look at a tokenizer's files that found a change."""
        self._reloads.labels(name, "loaded" if is_new else "failed").inc()

    def text(self, state: ServiceState) -> bytes:
        """Return all metrics in Prometheus' text format."""
        self._info.clear()
        for served in state.tokenizers.all():
            name = "upload" if served.name.startswith("upload-") else served.name
            self._info.labels(name, served.fingerprint).set(1)
        return generate_latest(self.registry)


# Drift of what the service counts: the monitor of `jeton.watch`, fed by the routes.

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
