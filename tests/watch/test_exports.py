"""Metrics, dashboard and alert rules; memory of a process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import jeton.watch
from jeton.errors import UsageError
from jeton.watch import Monitor, WatchedRequest
from jeton.watch.memory import MemoryWatch, resident_bytes, slope_of
from jeton.watch.metrics import METRICS, MonitorCollector, export_otel, metrics_of
from jeton.watch.windows import MAX_GROUPS
from tests.watch.streams import TOKENIZER, requests

ASSETS = Path(jeton.watch.__file__).parent / "assets"


@pytest.fixture(scope="module")
def monitor() -> Monitor:
    found = Monitor(tokenizer=TOKENIZER)
    found.observe(*requests(100, seed=1))
    found.check_canary()
    return found


def text_of(monitor: Monitor) -> str:
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    registry.register(MonitorCollector(monitor))
    found: str = prometheus.generate_latest(registry).decode()
    return found


def test_prometheus_reads_the_sums(monitor: Monitor) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    families = {f.name: f for f in text_string_to_metric_families(text_of(monitor))}
    assert set(families) <= set(METRICS)
    assert not [name for name in families if re.search(r"_(ms|kb|mb|percent)$", name)]
    total = monitor.sums.total()
    for name, amount in (("requests", total.n_requests), ("tokens", total.n_tokens)):
        samples = families[f"jeton_watch_{name}"].samples
        assert sum(sample.value for sample in samples) == amount
    buckets = [
        (float(sample.labels["le"]), sample.value)
        for sample in families["jeton_watch_request_tokens"].samples
        if sample.name.endswith("_bucket")
    ]
    assert buckets == sorted(buckets)
    assert [n for _, n in buckets] == sorted(n for _, n in buckets)
    assert buckets[-1] == (float("inf"), 100)


def test_invented_names_add_no_series() -> None:
    watch = Monitor()
    watch.observe(*(WatchedRequest(n_tokens=3, route=f"r{i}") for i in range(600)))
    before = len(text_of(watch).splitlines())
    watch.observe(*(WatchedRequest(n_tokens=3, route=f"model-{i}\n{{}}") for i in range(2000)))
    assert len(text_of(watch).splitlines()) == before
    assert len(watch.sums.groups) == MAX_GROUPS


def test_opentelemetry_exports_the_same_values(monitor: Monitor) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1/metrics"
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=address))
    export_otel(monitor, reader).shutdown()
    server.shutdown()
    server.server_close()
    request = ExportMetricsServiceRequest()
    request.ParseFromString(bodies[0])
    metrics = {
        m.name: m
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for m in scope.metrics
    }
    points = metrics["jeton_watch_tokens"].sum.data_points
    assert sum(p.as_double for p in points) == monitor.sums.total().n_tokens


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\bjeton_\w+", expression))


def exposed() -> set[str]:
    suffixes = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
    return {name + end for name, metric in METRICS.items() for end in suffixes[metric.kind]}


def test_the_dashboard_and_the_rules_ask_for_metrics_that_exist() -> None:
    board = json.loads((ASSETS / "grafana.json").read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    asked: set[str] = set()
    for panel in board["panels"]:
        assert panel["targets"]
        for target in panel["targets"]:
            asked |= names_in(target["expr"])
            for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                assert label in target["expr"] or label in ("signal", "route", "cause")
    rules = yaml.safe_load((ASSETS / "prometheus-rules.yml").read_text(encoding="utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"]["summary"]
            asked |= names_in(rule["expr"])
    assert asked <= exposed()
    shown = {sample.metric.name for sample in metrics_of(Monitor())}
    assert shown <= set(METRICS)


def test_a_growing_process_is_found_and_a_flat_one_is_not() -> None:
    draw = np.random.default_rng(1)
    seconds = np.arange(300.0)
    flat = 1e9 + draw.normal(0, 1e5, 300)
    assert not slope_of(seconds, flat, confidence=0.99).is_growing
    growing = slope_of(seconds, flat + 1000 * seconds, confidence=0.99)
    assert growing.is_growing
    assert growing.low <= 1000 <= growing.high
    with pytest.raises(UsageError, match="at least 10"):
        slope_of([1, 2], [1, 2])


def test_intervals_of_slopes_hold_for_values_that_follow_one_another() -> None:
    """A flat process whose memory swings slowly: at most some alarms in a hundred."""
    draw = np.random.default_rng(5)
    false = 0
    for _ in range(60):
        noise = np.zeros(120)
        for i in range(1, 120):
            noise[i] = 0.6 * noise[i - 1] + draw.normal()
        false += slope_of(np.arange(120.0), noise, confidence=0.95).is_growing
    assert false <= 6


@given(st.lists(st.floats(-1e12, 1e12), min_size=10, max_size=40))
def test_the_slope_is_within_its_interval(values: list[float]) -> None:
    found = slope_of(range(len(values)), values)
    assert found.low <= found.per_second <= found.high


def test_the_cache_that_grows_is_named_and_an_alarm_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = {"ids": 0.0, "texts": 5.0}
    watch = MemoryWatch(caches={name: (lambda n=name: sizes[n]) for name in sizes})  # type: ignore[misc]
    for second in range(20):
        sizes["ids"] += 10
        watch.sample(at=float(second))
    found = watch.read()
    assert [cache.name for cache in found.caches if cache.slope.is_growing] == ["ids"]
    assert "grows: ids" in found.in_words
    # The bytes are made up: those of a real process may fall while the machine is under load.
    resident = iter(range(100 << 20, 200 << 20, 4 << 20))
    monkeypatch.setattr("jeton.watch.memory.resident_bytes", lambda _: next(resident))
    leaking = MemoryWatch(limit_bytes=1 << 40)
    for second in range(12):
        leaking.sample(at=float(second))
    alert = leaking.alert()
    assert alert is not None
    assert alert.kind == "memory"
    assert alert.full_seconds is not None
    assert "memory grows" in alert.line


def test_tracemalloc_names_the_line_that_allocates() -> None:
    program = (
        "from jeton.watch.memory import MemoryWatch\n"
        "watch = MemoryWatch(trace_python=True)\n"
        "leak = [bytes(100_000) for _ in range(20)]\n"
        "watch.sample()\n"
        "print(*watch.read().top[0])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    place, size = finished.stdout.split()
    assert place.endswith("<string>:3")
    assert int(size) >= 2_000_000


def test_a_soak_of_the_monitor_keeps_its_memory() -> None:
    """New texts and names without end: sums, texts of late and samples are bounded."""
    watch = Monitor()
    memory = MemoryWatch(caches={"groups": lambda: len(watch.sums.groups)})
    for round_ in range(12):
        watch.observe(
            *(
                WatchedRequest(f"text {round_} {i}", n_tokens=9, route=f"{round_}/{i}")
                for i in range(300)
            )
        )
        memory.sample(at=float(round_))
    found = memory.read()
    assert found.caches[0].size <= MAX_GROUPS
    assert found.rss_bytes == pytest.approx(resident_bytes(memory._pid), rel=0.2)
