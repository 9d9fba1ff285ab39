"""Admission of a server: its decisions are the simulation's, and its books are right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jeton.catalog import gpu, model
from jeton.economics.admission import (
    ADMISSION_POLICIES,
    ORDERS,
    Admission,
    Policy,
    PolicyName,
    QueueOrder,
)
from jeton.economics.traffic import EngineSettings
from jeton.economics.traffic.engine import Outcome, PageBytes, run_engine
from jeton.economics.traffic.step_times import StepTimes
from jeton.errors import UsageError
from tests.economics.admission.stepping import serve

LLAMA = model("llama-3-8b")
TIMES = StepTimes.of(LLAMA, gpu("h100-sxm"))
ALL = [(name, order) for name in ADMISSION_POLICIES for order in ORDERS]


def traffic(seed: int, n: int = 160) -> list[tuple[float, int, int]]:
    """Requests that come in bursts, on the memory of a few."""
    rng = np.random.default_rng(seed)
    pauses = np.where(rng.random(n) < 0.7, rng.exponential(0.05, n), 0.0)
    arrivals = np.cumsum(pauses)
    rows = zip(arrivals, rng.integers(1, 90, n), rng.geometric(1 / 25, n), strict=True)
    return [(float(at), int(prompt), int(output)) for at, prompt, output in rows]


def policy_of(name: PolicyName, order: QueueOrder) -> Policy:
    return Policy(
        name,
        reserved_tokens=260 if name == "static" else None,
        max_output_tokens=180 if name == "maximum" else None,
        order=order,
        ageing_tokens_per_second=20.0,
        seed=3,
    )


def simulate(
    requests: list[tuple[float, int, int]], policy: Policy, settings: EngineSettings, tokens: int
) -> Outcome:
    arrivals, prompts, outputs = zip(*requests, strict=True)
    pages = PageBytes(LLAMA, page_tokens=settings.page_tokens)
    return run_engine(
        np.array(arrivals),
        np.array(prompts),
        np.array(outputs),
        times=TIMES,
        pages=pages,
        budget_bytes=pages.of(tokens),
        policy=policy,
        settings=settings,
        bin_seconds=0.5,
    )


@pytest.mark.parametrize(("name", "order"), ALL)
def test_a_server_decides_as_the_simulation_does(name: PolicyName, order: QueueOrder) -> None:
    n_preempted = 0
    for seed, page in ((1, 16), (2, 4)):
        settings = EngineSettings(
            page_tokens=page, max_requests=24, step_tokens=96, watermark_share=0.0
        )
        requests, tokens, policy = traffic(seed), 608, policy_of(name, order)
        fast = simulate(requests, policy, settings, tokens)
        refused = {i for i, status in enumerate(fast.status) if status}
        admission: Admission[int] = Admission(
            policy, capacity_tokens=tokens, page_tokens=page, max_requests=24
        )
        slow = serve(admission, requests, times=TIMES, settings=settings, refused=refused)
        assert fast.output_tokens == slow.n_tokens
        assert fast.prompt_tokens_read == slow.n_read
        assert fast.end_seconds == pytest.approx(slow.end, rel=1e-9)
        for i in range(len(requests)):
            assert fast.n_preempted[i] == slow.n_preempted.get(i, 0), (seed, i)
            if i not in refused:
                assert fast.admitted[i] == pytest.approx(slow.admitted[i], rel=1e-9), (seed, i)
                assert fast.finished[i] == pytest.approx(slow.finished[i], rel=1e-9), (seed, i)
        assert admission.free_tokens == admission.capacity_tokens == tokens
        assert admission.n_running == admission.n_waiting == 0
        assert slow.fewest_free >= 0
        n_preempted += len(fast.memory_out)
    # The traffic is of the kind that matters.
    assert n_preempted or name in ("static", "maximum")


@pytest.mark.parametrize(("name", "order"), ALL)
def test_conservation_and_determinism(name: PolicyName, order: QueueOrder) -> None:
    settings = EngineSettings(max_requests=32, step_tokens=128)
    requests = traffic(7, 400)
    budget = PageBytes(LLAMA, page_tokens=16).of(900)
    outcome = simulate(requests, policy_of(name, order), settings, 900)
    done = [i for i, status in enumerate(outcome.status) if not status]
    assert len(done) > 380
    for i in range(len(requests)):
        assert math.isnan(outcome.finished[i]) == bool(outcome.status[i])
    assert outcome.output_tokens == sum(requests[i][2] for i in done)
    first_reads = outcome.prompt_tokens_read - outcome.recomputed_tokens
    if len(outcome.memory_out):
        assert first_reads <= sum(requests[i][1] for i in done) * 2
    else:
        assert first_reads == sum(requests[i][1] for i in done)
    assert outcome.allocated_bytes_at_end == 0
    assert max(outcome.memory.peak) <= budget
    again = simulate(requests, policy_of(name, order), settings, 900)
    assert again.finished.tobytes() == outcome.finished.tobytes()
    assert again.admitted.tobytes() == outcome.admitted.tobytes()


def test_the_seed_of_peak_matters_and_is_kept() -> None:
    settings = EngineSettings(max_requests=32, step_tokens=128)
    requests = traffic(7, 400)
    ends = [
        simulate(requests, Policy("peak", seed=seed), settings, 900).finished.tobytes()
        for seed in (0, 0, 1)
    ]
    assert ends[0] == ends[1] != ends[2]


def test_looking_ahead_preempts_less_than_paging() -> None:
    settings = EngineSettings(max_requests=64, step_tokens=256, watermark_share=0.0)
    requests = traffic(7, 600)
    preempted = {
        name: len(simulate(requests, policy_of(name, "first-come"), settings, 900).memory_out)
        for name in ("dynamic", "refine", "peak", "conformal", "maximum")
    }
    assert preempted["maximum"] == 0
    assert preempted["conformal"] < preempted["dynamic"] / 2
    assert preempted["peak"] < preempted["dynamic"] / 2


class TestServer:
    def admission(self, **given: int) -> Admission[str]:
        return Admission("dynamic", capacity_tokens=64, page_tokens=16, **given)

    def test_pages_are_taken_as_tokens_come(self) -> None:
        admission = self.admission()
        assert admission.offer("a", 16) == "queued"
        start = admission.decide()
        assert start is not None
        assert (start.request, start.reserved_tokens, start.read_tokens) == ("a", 16, 16)
        assert admission.free_tokens == 48
        assert admission.on_tokens("a") == ()
        # The first token comes with the prompt; the second step writes it, on a new page.
        assert admission.free_tokens == 48
        assert admission.on_tokens("a") == ()
        assert admission.free_tokens == 32
        assert admission.on_tokens("a", 15) == ()
        assert admission.free_tokens == 32
        admission.finish("a")
        assert admission.free_tokens == 64

    def test_the_last_admitted_makes_room_and_goes_first_again(self) -> None:
        admission = self.admission()
        for name in "abc":
            admission.offer(name, 16)
        started = [admission.decide(), admission.decide(), admission.decide()]
        assert [start.request for start in started if start] == ["a", "b", "c"]
        assert admission.on_step("abc") == ()
        assert admission.on_step("abc") == ("c",)
        assert (admission.n_waiting, admission.free_tokens) == (1, 0)
        assert admission.decide() is None
        admission.offer("d", 1)
        admission.finish("b")
        start = admission.decide()
        assert start is not None
        assert (start.request, start.read_tokens, start.reserved_tokens) == ("c", 17, 17)

    def test_what_can_never_start_is_refused(self) -> None:
        admission = self.admission(context_tokens=80)
        assert admission.offer("a", 65) == "too_large"
        assert admission.offer("b", 81) == "too_long"
        assert admission.offer("c", 64) == "queued"

    def test_a_client_that_went_away_leaves_nothing_behind(self) -> None:
        for order in ORDERS:
            admission: Admission[str] = Admission(
                Policy("prediction", order=order), capacity_tokens=64
            )
            for name in "abcd":
                admission.offer(name, 30)
            assert admission.decide() is not None
            admission.cancel("a")
            admission.cancel("c")
            found = [start.request for start in (admission.decide(), admission.decide()) if start]
            assert found == ["b", "d"]
            admission.cancel("b")
            admission.cancel("d")
            assert (admission.free_tokens, admission.n_running, admission.n_waiting) == (64, 0, 0)

    def test_the_shortest_goes_first_until_one_has_waited_long(self) -> None:
        policy = Policy("dynamic", order="shortest", ageing_tokens_per_second=10.0)
        admission: Admission[str] = Admission(policy, capacity_tokens=1024, max_requests=1)
        admission.offer("long", 500, at_seconds=0.0)
        admission.offer("short", 100, at_seconds=1.0)
        admission.offer("late", 100, at_seconds=41.0)
        order = []
        while (start := admission.decide()) is not None:
            order.append(start.request)
            admission.on_tokens(start.request)
            admission.finish(start.request)
        assert order == ["short", "long", "late"]

    def test_misuse_is_an_error_with_its_place(self) -> None:
        admission = self.admission()
        admission.offer("a", 10)
        for call, says in (
            (lambda: admission.offer("a", 10), "'a' was offered before"),
            (lambda: admission.offer("b", 0), "prompt_tokens of request 'b' is 0"),
            (lambda: admission.offer("b", -5), "prompt_tokens of request 'b' is -5"),
            (lambda: admission.offer("b", 5, at_seconds=float("nan")), "at_seconds"),
            (lambda: admission.offer("b", 3.5), "a whole number"),  # type: ignore[arg-type]
            (lambda: admission.offer("b", 10**18), "a whole number from 1 to"),
            (lambda: admission.on_tokens("a"), "'a' does not run"),
            (lambda: admission.finish("z"), "'z' does not run"),
            (lambda: admission.cancel("z"), "'z' is not known"),
            (lambda: Admission("static", capacity_tokens=100), "no length to reserve"),
            (lambda: Admission("dynamic", capacity_tokens=0), "capacity_tokens is 0"),
            (lambda: Admission("dynamic", capacity_tokens=8), "at least one page"),
            (lambda: Admission("orca", capacity_tokens=8), "the policy is 'orca'"),  # type: ignore[arg-type]
            (lambda: Policy("mean", order="random"), "the order is"),  # type: ignore[arg-type]
            (lambda: Policy("mean", ageing_tokens_per_second=-1.0), "ageing_tokens_per_second"),
        ):
            with pytest.raises(UsageError, match=says):
                call()


def test_a_blocked_server_looks_ahead_once_for_each_end() -> None:
    for name in ("refine", "peak"):
        admission: Admission[int] = Admission(name, capacity_tokens=320)
        for request in range(40):
            admission.offer(request, 32)
        while admission.decide() is not None:
            pass
        looks, running = admission._books.n_looks, admission.n_running
        assert 2 < running < 12
        for _ in range(100):
            assert admission.decide() is None
        assert admission._books.n_looks == looks
        for ended in range(running):
            admission.on_tokens(ended)
            admission.finish(ended)
            while admission.decide() is not None:
                pass
        assert looks < admission._books.n_looks <= looks + 2 * running
