"""Memory of the next minutes: closed forms, a ramp, and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from jeton.catalog import gpu, model
from jeton.economics.prediction.memory_forecast import (
    DemandErrors,
    KnownTraffic,
    KvMemory,
    forecast_memory,
)
from jeton.errors import UsageError

TOKEN_SECONDS = 0.05


def plain_memory(capacity: int = 10**12) -> KvMemory:
    """A byte for each token."""
    ends = np.array([0.0, 1e9])
    return KvMemory(capacity, ends, ends, 1, TOKEN_SECONDS)


def steady(n: int, rate: float, prompt: int, output: int) -> KnownTraffic:
    """Requests of one length at equal distances."""
    return KnownTraffic(
        np.arange(n) / rate, np.full(n, prompt, np.int64), np.full(n, output, np.int64)
    )


class TestClosedForm:
    def test_steady_traffic_is_rate_times_time_times_mean_length(self) -> None:
        # 4 a second x 10 s x (300 + 200 / 2) tokens.
        traffic = steady(4000, 4.0, 300, 200)
        memory = plain_memory()
        assert traffic.demand(500.0, memory) == pytest.approx(16_000, rel=0.02)
        found = forecast_memory(traffic, memory, now=500.0, horizon_seconds=60.0)
        assert found.expected_bytes == pytest.approx([16_000] * 15, rel=0.02)
        assert found.requests_per_second == pytest.approx(4.0, rel=0.01)
        assert found.n_under_way == pytest.approx(40, abs=1)
        assert found.full_seconds is None
        assert found.in_words == "not full within 1.0 min at this trend"

    def test_requests_under_way_grow_and_end(self) -> None:
        # All come within a second and stop; after 10 s none is left.
        times = np.concatenate([np.linspace(0, 1, 50), [30.0], np.linspace(99, 100, 50)])
        traffic = KnownTraffic(times, np.full(101, 300, np.int64), np.full(101, 200, np.int64))
        memory = plain_memory()
        assert traffic.demand(105.0, memory) == pytest.approx(50 * (300 + 110), rel=0.01)
        assert traffic.demand(111.0, memory) == 0.0

    def test_a_ramp_is_followed(self) -> None:
        # Rate 0.02 t: the demand grows by 0.02 x 10 s x 400 tokens = 80 a second.
        times = np.sqrt(2 * np.arange(1, 2501) / 0.02)
        traffic = KnownTraffic(times, np.full(2500, 300, np.int64), np.full(2500, 200, np.int64))
        found = forecast_memory(traffic, plain_memory(40_000), now=400.0, horizon_seconds=150.0)
        assert found.trend_per_minute == pytest.approx(1.2, rel=0.1)
        assert found.now_bytes == pytest.approx(31_600, rel=0.02)
        assert found.full_seconds == pytest.approx(105, rel=0.15)
        assert found.in_words == "OOM in 2 min"

    def test_full_already(self) -> None:
        traffic = steady(4000, 4.0, 300, 200)
        found = forecast_memory(traffic, plain_memory(10_000), now=500.0)
        assert found.full_seconds == 0.0
        assert found.in_words == "OOM now"


class TestMemory:
    def test_bytes_are_those_of_the_model(self) -> None:
        memory = KvMemory.of(model("llama-3.1-8b"), gpu("h100"), seconds_per_token=0.01)
        size = float(memory.bytes(np.array([1000.0]))[0])
        assert size == pytest.approx(1008 * 131_072, rel=0.01)
        assert 4e10 < memory.capacity_bytes < 7e10

    def test_speed_follows_the_load(self) -> None:
        facts, card = model("llama-3.1-8b"), gpu("h100")
        idle = KvMemory.of(facts, card).seconds_per_token
        busy = KvMemory.of(facts, card, requests_per_second=30.0).seconds_per_token
        assert 0.004 < idle < busy < 0.1

    def test_a_model_that_does_not_fit(self) -> None:
        from jeton.economics.serving.memory_plan import MemoryPlan

        with pytest.raises(UsageError, match="does not fit"):
            KvMemory.of(model("llama-3.1-70b"), gpu("l4"), plan=MemoryPlan(n_gpus=1))


class TestErrors:
    def test_too_few_give_no_interval(self) -> None:
        errors = DemandErrors()
        for _ in range(18):
            errors.learn(0, 100.0, 110.0, 1.0)
        assert errors.ends(0) is None
        errors.learn(0, 100.0, 110.0, 1.0)
        assert errors.ends(0) is not None

    def test_coverage_of_independent_errors(self) -> None:
        rng = np.random.default_rng(1)
        errors = DemandErrors()
        held = []
        for ratio in rng.lognormal(0, 0.5, 3000):
            ends = errors.ends(3)
            if ends is not None:
                held.append(ends[0] <= np.log((1000 * ratio + 1) / 1001) <= ends[1])
            errors.learn(3, 1000.0, 1000 * ratio, 1.0)
        assert np.mean(held) == pytest.approx(0.9, abs=0.02)


class TestBadInput:
    def test_clocks_that_run_backwards(self) -> None:
        with pytest.raises(UsageError, match="backwards"):
            KnownTraffic(np.array([2.0, 1.0]), np.array([1, 1]), np.array([1, 1]))

    def test_negative_lengths(self) -> None:
        with pytest.raises(UsageError, match="negative length"):
            KnownTraffic(np.array([1.0]), np.array([1]), np.array([-1]))

    def test_nothing_has_ended(self) -> None:
        with pytest.raises(UsageError, match="no request had ended"):
            forecast_memory(steady(1, 1.0, 10, 1000), plain_memory(), now=0.5)
