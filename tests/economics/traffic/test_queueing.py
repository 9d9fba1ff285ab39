"""Queues against closed forms: M/D/1, M/M/1, M/M/c, and Little's law for everything."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from jeton.catalog import gpu, model
from jeton.corpus.traces import Trace
from jeton.economics import MemoryPlan
from jeton.economics.serving.memory import request_group_bytes
from jeton.economics.traffic import EngineSettings, Policy, Server, simulate_traffic
from jeton.economics.traffic.engine import Outcome, PageBytes, run_engine
from jeton.economics.traffic.step_times import StepTimes

STEP_SECONDS = 1e-3
"""A step of the ideal server takes so long whatever it does: service is a number of steps."""

IDEAL = StepTimes(
    terms=(),
    decode_flop_seconds=0.0,
    prompt_flop_seconds=0.0,
    head_flop_seconds=0.0,
    state_bytes=0.0,
    state_seconds=0.0,
    overhead_seconds=STEP_SECONDS,
)


def queue(
    arrivals: NDArray[np.float64],
    n_steps: NDArray[np.int64],
    *,
    servers: int = 1,
    policy: Policy | None = None,
    prompts: NDArray[np.int64] | None = None,
) -> Outcome:
    """Run a queue in which a request is served for ``n_steps`` steps."""
    pages = PageBytes(model("llama-3-8b"), page_tokens=16)
    return run_engine(
        arrivals,
        np.ones(len(arrivals), dtype=np.int64) if prompts is None else prompts,
        n_steps,
        times=IDEAL,
        pages=pages,
        budget_bytes=1 << 60,
        policy=policy or Policy("dynamic"),
        settings=EngineSettings(max_requests=servers),
        bin_seconds=1.0,
    )


def waits(outcome: Outcome, *, skip: int) -> NDArray[np.float64]:
    """Waiting times without the filling-up at the start."""
    waited: NDArray[np.float64] = outcome.admitted - outcome.arrived
    return waited[skip:]


def batch_means(values: NDArray[np.float64], n_batches: int = 20) -> tuple[float, float]:
    """Mean and three standard errors of a correlated sequence, by the means of its batches."""
    means = [float(part.mean()) for part in np.array_split(values, n_batches)]
    return float(np.mean(means)), 3 * float(np.std(means, ddof=1)) / math.sqrt(n_batches)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_m_d_1(load: float) -> None:
    """Poisson arrivals, equal service: the mean wait is rho s / (2 (1 - rho))."""
    rng = np.random.default_rng(int(load * 100))
    n, steps = 12_000, 400
    service = steps * STEP_SECONDS
    arrivals = np.cumsum(rng.exponential(service / load, n))
    mean, error = batch_means(waits(queue(arrivals, np.full(n, steps)), skip=2000))
    expected = load * service / (2 * (1 - load))
    # An arrival is noticed at the end of a step: half a step where it finds the server at work.
    assert abs(mean - expected) < error + STEP_SECONDS


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_m_m_1(load: float) -> None:
    """Poisson arrivals, exponential service: the mean wait is rho s / (1 - rho)."""
    rng = np.random.default_rng(7 + int(load * 100))
    n, steps = 12_000, 500
    service = steps * STEP_SECONDS
    arrivals = np.cumsum(rng.exponential(service / load, n))
    outcome = queue(arrivals, rng.geometric(1 / steps, n))
    mean, error = batch_means(waits(outcome, skip=2000))
    assert abs(mean - load * service / (1 - load)) < error + 2 * STEP_SECONDS
    # The number in the system is geometric: P(none) = 1 - rho, seen by arrivals (PASTA).
    none = float((waits(outcome, skip=2000) < STEP_SECONDS).mean())
    assert none == pytest.approx(1 - load, abs=0.02)


def two_kinds(n: int, load: float) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
    """Three in four requests take 100 steps, the others 1,700; and the rate of arrivals."""
    rng = np.random.default_rng(23)
    steps = np.where(rng.random(n) < 0.75, 100, 1700)
    rate = load / (500 * STEP_SECONDS)
    return np.cumsum(rng.exponential(1 / rate, n)), steps, rate


def test_m_g_1() -> None:
    """Poisson arrivals, any service: the mean wait is lambda E[S^2] / (2 (1 - rho))."""
    load = 0.6
    arrivals, steps, rate = two_kinds(16_000, load)
    mean, error = batch_means(waits(queue(arrivals, steps), skip=1000))
    second = (0.75 * 100**2 + 0.25 * 1700**2) * STEP_SECONDS**2
    assert abs(mean - rate * second / (2 * (1 - load))) < error + STEP_SECONDS


def test_the_shortest_first_is_a_queue_of_two_priorities() -> None:
    """Cobham's formula: R / (1 - rho_1), and R / ((1 - rho_1) (1 - rho)), R = lambda E[S^2] / 2."""
    load = 0.6
    arrivals, steps, rate = two_kinds(16_000, load)
    # The prompt tells which kind a request is; it is read in one step, whatever its length.
    outcome = queue(
        arrivals,
        steps,
        policy=Policy("dynamic", order="shortest", ageing_tokens_per_second=0.0),
        prompts=np.where(steps == 100, 1, 1000),
    )
    waited = waits(outcome, skip=1000)
    is_short = steps[1000:] == 100
    rest = rate * (0.75 * 100**2 + 0.25 * 1700**2) * STEP_SECONDS**2 / 2
    first = 1 - rate * 0.75 * 100 * STEP_SECONDS
    for chosen, expected in ((is_short, rest / first), (~is_short, rest / first / (1 - load))):
        mean, error = batch_means(waited[chosen])
        assert abs(mean - expected) < error + STEP_SECONDS


def test_m_m_c() -> None:
    """A batch of c whose step takes a fixed time is a queue of c servers: Erlang's C formula."""
    rng = np.random.default_rng(11)
    n, steps, c, load = 12_000, 2000, 4, 0.8
    service = steps * STEP_SECONDS
    arrivals = np.cumsum(rng.exponential(service / (c * load), n))
    outcome = queue(arrivals, rng.geometric(1 / steps, n), servers=c)
    offered = c * load
    last = offered**c / math.factorial(c) / (1 - load)
    wait_chance = last / (sum(offered**k / math.factorial(k) for k in range(c)) + last)
    expected = wait_chance * service / (c * (1 - load))
    mean, error = batch_means(waits(outcome, skip=2000))
    assert abs(mean - expected) < error + 2 * STEP_SECONDS


def test_little_s_law_holds_for_waiting_and_for_running() -> None:
    """The mean number is the rate times the mean time: an identity over a whole run."""
    rng = np.random.default_rng(5)
    n = 2000
    trace = Trace.of(
        np.cumsum(rng.exponential(0.05, n)), rng.integers(10, 2000, n), rng.integers(1, 400, n)
    )
    run = simulate_traffic(trace, Server(model("llama-3-8b"), gpu("a10g")))
    assert run.n_preemptions > 0
    series = run.series
    time_in_system = sum(series.waiting) * series.seconds + sum(series.running) * series.seconds
    assert time_in_system == pytest.approx(run.latency_seconds.mean * n, rel=1e-3)


def test_full_pages_are_those_of_the_plan() -> None:
    facts = model("gemma-3-27b")
    usual = PageBytes(facts, page_tokens=16)
    full = PageBytes(facts, page_tokens=16, plan=MemoryPlan(full_pages=True))
    for n_tokens in (16, 1_024, 16_000):
        plan = MemoryPlan(full_pages=True)
        assert full.of(n_tokens) == request_group_bytes(facts, n_tokens, plan=plan, n_gpus=1)
    assert full.of(16) == usual.of(16)
    assert full.of(16_000) > 4 * usual.of(16_000)


def test_a_replay_with_full_pages_holds_fewer_requests() -> None:
    trace = Trace.of(np.arange(60) * 0.2, np.full(60, 6_000), np.full(60, 100))
    ends = [
        simulate_traffic(
            trace,
            Server(model("gemma-3-27b"), gpu("h100"), plan=MemoryPlan(full_pages=full_pages)),
            policy=Policy("dynamic"),
        ).end_seconds
        for full_pages in (False, True)
    ]
    assert ends[1] > 1.3 * ends[0]
