"""Does a GPU keep up with its traffic, and how many would?"""

from __future__ import annotations

import numpy as np

from jeton.catalog import gpu, model
from jeton.corpus.traces import Trace
from jeton.economics.traffic import Policy, Server, compare_traffic


def _trace(n: int, seconds: float) -> Trace:
    return Trace.of(np.linspace(0.0, seconds, n), np.full(n, 1000), np.full(n, 200), path="made")


def _server() -> Server:
    return Server(model("llama-3.1-8b"), gpu("l4"))


def test_light_traffic_needs_one() -> None:
    report = compare_traffic(_trace(20, 300.0), _server(), policies=[Policy("dynamic")])
    assert report.capacity is not None
    assert report.capacity.keeps_up
    assert report.capacity.n_groups == 1
    assert report.capacity.served_share == 1.0


def test_heavy_traffic_needs_as_many_as_keep_up() -> None:
    trace = _trace(1200, 120.0)
    report = compare_traffic(trace, _server(), policies=[Policy("dynamic")])
    capacity = report.capacity
    assert capacity is not None
    assert not capacity.keeps_up
    assert capacity.served_share == trace.duration_seconds / report.runs[0].end_seconds
    assert capacity.n_groups is not None
    assert capacity.n_groups >= 1 / capacity.served_share - 1
    part = Trace.of(
        trace.arrival_seconds[:: capacity.n_groups],
        trace.prompt_tokens[:: capacity.n_groups],
        trace.output_tokens[:: capacity.n_groups],
    )
    alone = compare_traffic(part, _server(), policies=[Policy("dynamic")])
    assert alone.capacity is not None
    assert alone.capacity.keeps_up


def test_a_moment_of_traffic_is_no_overload() -> None:
    report = compare_traffic(_trace(2, 0.1), _server(), policies=[Policy("dynamic")])
    assert report.capacity is not None
    assert report.capacity.keeps_up
