"""Prometheus metrics of the service. Labels are bounded: routes, names of tokenizers, statuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
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
