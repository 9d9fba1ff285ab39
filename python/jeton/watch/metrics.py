"""Metrics of a monitor: one list of figures, for Prometheus and for OpenTelemetry.

Names begin with ``jeton_watch_`` or ``jeton_drift_``, and units are base units. Labels are route,
source and script of the groups that the monitor keeps (at most 200), so that invented names add no
series.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from jeton.errors import MissingExtraError
from jeton.watch.signals import SIGNALS, Signal

if TYPE_CHECKING:
    from jeton.watch.monitor import Monitor

Kind = Literal["counter", "gauge", "histogram"]

_TOKEN_BUCKETS: Final = tuple(float(4**n) for n in range(14))
"""1, 4, 16 ... 67,108,864: the grid of OpenTelemetry for tokens."""

_RATIO_BUCKETS: Final = tuple(round(0.05 * n, 2) for n in range(1, 21))


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its kind, unit and help."""

    name: str
    kind: Kind
    unit: str
    help: str


def _metrics(*metrics: Metric) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


METRICS: Final = _metrics(
    Metric("jeton_watch_requests", "counter", "", "Requests seen."),
    Metric("jeton_watch_tokens", "counter", "", "Tokens sent."),
    Metric("jeton_watch_text_bytes", "counter", "bytes", "Bytes of text sent."),
    Metric("jeton_watch_single_byte_tokens", "counter", "", "Tokens of a single byte."),
    Metric("jeton_watch_unknown_tokens", "counter", "", "Unknown tokens."),
    Metric("jeton_watch_special_token_hits", "counter", "", "Special tokens that texts spelled."),
    Metric("jeton_watch_invisible_characters", "counter", "", "Characters that nobody sees."),
    Metric("jeton_watch_padding_tokens", "counter", "", "Tokens of padding."),
    Metric("jeton_watch_request_tokens", "histogram", "", "Tokens a request."),
    Metric("jeton_watch_tokens_per_byte", "histogram", "", "Tokens a byte of text."),
    Metric("jeton_watch_estimate_ratio", "histogram", "", "Estimated over counted tokens."),
    Metric("jeton_drift_evidence_ratio", "gauge", "", "Evidence of a drift over that of an alarm."),
    Metric("jeton_drift_raised", "gauge", "", "1 from an alarm on."),
    Metric("jeton_drift_cause_share", "gauge", "", "Share of the last drift that a cause has."),
    Metric("jeton_canary_same", "gauge", "", "1 if the canary has the ids of the history."),
    Metric("jeton_memory_full_seconds", "gauge", "seconds", "Seconds until memory is full."),
    Metric("jeton_watch_tokenizer_info", "gauge", "", "The tokenizer in use."),
)
"""Every metric by name; counters end in ``_total`` where Prometheus reads them."""

_AMOUNTS: Final = {
    "jeton_watch_requests": "n_requests",
    "jeton_watch_tokens": "n_tokens",
    "jeton_watch_text_bytes": "n_bytes",
    "jeton_watch_single_byte_tokens": "n_single_byte",
    "jeton_watch_unknown_tokens": "n_unknown",
    "jeton_watch_special_token_hits": "n_special_hits",
    "jeton_watch_invisible_characters": "n_invisible",
    "jeton_watch_padding_tokens": "n_padding",
}

_HISTOGRAMS: Final = {
    "jeton_watch_request_tokens": ("tokens_per_request", _TOKEN_BUCKETS),
    "jeton_watch_tokens_per_byte": ("tokens_per_byte", _RATIO_BUCKETS),
    "jeton_watch_estimate_ratio": ("estimate_ratio", _RATIO_BUCKETS),
}


@dataclass(frozen=True, slots=True)
class MetricSample:
    """A value of a metric. A histogram has cumulative buckets, and the sum of its values."""

    metric: Metric
    labels: Mapping[str, str]
    value: float
    buckets: tuple[tuple[float, int], ...] = ()


def metrics_of(monitor: Monitor) -> Iterator[MetricSample]:
    """Yield all samples of a monitor as it is now."""
    with monitor.locked():
        groups = sorted(monitor.sums.groups.items())
        states, alerts = monitor.states(), tuple(monitor.alerts)
        rows = [
            (name, labels, getattr(sums, amount))
            for (route, source, script), sums in groups
            for labels in [{"route": route, "source": source, "script": script}]
            for name, amount in _AMOUNTS.items()
        ]
        by_route: dict[tuple[str, str], Counter[int]] = {}
        for (route, _, _), sums in groups:
            for signal, levels in sums.levels.items():
                by_route.setdefault((signal, route), Counter()).update(levels)
    for name, labels, value in rows:
        yield MetricSample(METRICS[name], labels, float(value))
    for name, (signal, bounds) in _HISTOGRAMS.items():
        for (of, route), levels in by_route.items():
            if of == signal:
                yield _histogram(METRICS[name], {"route": route}, SIGNALS[signal], levels, bounds)
    for state in states:
        labels = {"signal": state.signal, "route": state.route}
        if state.limit:
            ratio = state.evidence / state.limit
            yield MetricSample(METRICS["jeton_drift_evidence_ratio"], labels, ratio)
        yield MetricSample(METRICS["jeton_drift_raised"], labels, float(state.is_raised))
    if alerts:
        last = alerts[-1]
        for cause in last.causes:
            labels = {"signal": last.signal, "cause": cause.cause}
            yield MetricSample(METRICS["jeton_drift_cause_share"], labels, cause.share)
        if last.full_seconds is not None:
            yield MetricSample(METRICS["jeton_memory_full_seconds"], {}, last.full_seconds)
    yield MetricSample(METRICS["jeton_canary_same"], {}, float(not monitor.last_canary))
    if monitor.tokenizer is not None:
        tokenizer = monitor.tokenizer
        labels = {"name": tokenizer.name or "", "fingerprint": tokenizer.fingerprint}
        yield MetricSample(METRICS["jeton_watch_tokenizer_info"], labels, 1.0)


def _histogram(
    metric: Metric,
    labels: Mapping[str, str],
    signal: Signal,
    levels: Counter[int],
    bounds: Iterable[float],
) -> MetricSample:
    values = [(signal.value(level), n) for level, n in levels.items()]
    buckets = [(bound, sum(n for value, n in values if value <= bound)) for bound in bounds]
    buckets.append((float("inf"), levels.total()))
    return MetricSample(metric, labels, sum(value * n for value, n in values), tuple(buckets))


class MonitorCollector:
    """A collector of ``prometheus_client``: register it, and the metrics are those of now.

    Args:
        monitor: The monitor.

    Raises:
        MissingExtraError: prometheus-client is not installed.
    """

    def __init__(self, monitor: Monitor) -> None:
        try:
            from prometheus_client import core
        except ImportError:
            raise MissingExtraError("Prometheus metrics", extra="watch") from None
        self._core: Any = core
        self._monitor = monitor

    def describe(self) -> list[Any]:
        """Nothing ahead of time: registering reads no values."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the families of ``prometheus_client``."""
        families: dict[str, Any] = {}
        for sample in metrics_of(self._monitor):
            metric, names = sample.metric, list(sample.labels)
            kind = {
                "counter": self._core.CounterMetricFamily,
                "gauge": self._core.GaugeMetricFamily,
                "histogram": self._core.HistogramMetricFamily,
            }[metric.kind]
            family = families.get(metric.name)
            if family is None:
                family = families[metric.name] = kind(metric.name, metric.help, labels=names)
            values = list(sample.labels.values())
            if metric.kind == "histogram":
                buckets = [(_bound(bound), n) for bound, n in sample.buckets]
                family.add_metric(values, buckets=buckets, sum_value=sample.value)
            else:
                family.add_metric(values, sample.value)
        yield from families.values()


def _bound(bound: float) -> str:
    return "+Inf" if bound == float("inf") else f"{bound:g}"


def export_otel(monitor: Monitor, reader: Any) -> Any:
    """Send the counters and gauges of a monitor by OpenTelemetry.

    Args:
        monitor: The monitor.
        reader: A metric reader of the SDK, such as a ``PeriodicExportingMetricReader`` with an OTLP
            exporter.

    Returns:
        The ``MeterProvider``; its ``shutdown()`` sends the rest.

    Raises:
        MissingExtraError: opentelemetry-sdk is not installed.
    """
    try:
        from opentelemetry.metrics import Observation
        from opentelemetry.sdk.metrics import MeterProvider
    except ImportError:
        raise MissingExtraError("OpenTelemetry export", extra="watch") from None
    provider = MeterProvider([reader])
    meter = provider.get_meter("jeton")

    def observed(name: str) -> Any:
        def observe(_: Any) -> Iterator[Any]:
            for sample in metrics_of(monitor):
                if sample.metric.name == name:
                    yield Observation(sample.value, dict(sample.labels))

        return [observe]

    for metric in METRICS.values():
        if metric.kind == "histogram":
            continue  # the SDK takes values one by one; Prometheus has the buckets
        make = (
            meter.create_observable_counter
            if metric.kind == "counter"
            else meter.create_observable_gauge
        )
        make(metric.name, observed(metric.name), unit=metric.unit or "1", description=metric.help)
    return provider
