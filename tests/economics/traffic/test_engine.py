"""The simulation against its slow twin, and what must hold whatever the traffic."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import ModelFacts, gpu, model
from jeton.corpus.traces import Trace
from jeton.corpus.traces.trace import BlockNumbers
from jeton.economics.admission import PolicyName
from jeton.economics.traffic import (
    POLICIES,
    EngineSettings,
    Policy,
    Server,
    TokenizerRatio,
    compare_traffic,
    simulate_traffic,
)
from jeton.economics.traffic.engine import Outcome, PageBytes, PromptBlocks, run_engine
from jeton.economics.traffic.simulate import step_times
from jeton.economics.traffic.step_times import StepTimes
from jeton.errors import UsageError
from tests.economics.shapes import with_mixers
from tests.economics.traffic.naive import NaiveOutcome, simulate_naively

LLAMA = model("llama-3-8b")
WINDOWED = with_mixers(LLAMA, 20, window=24)
H100 = gpu("h100-sxm")

REQUEST = st.tuples(st.floats(0, 0.4, allow_nan=False), st.integers(1, 90), st.integers(0, 60))
TRAFFIC = st.lists(REQUEST, min_size=1, max_size=24)
SETTINGS = st.builds(
    EngineSettings,
    page_tokens=st.sampled_from([1, 4, 16]),
    max_requests=st.integers(1, 8),
    step_tokens=st.integers(9, 128),
    prefill=st.sampled_from(["chunked", "whole"]),
    watermark_share=st.sampled_from([0.0, 0.01, 0.2]),
    clients=st.sampled_from([None, None, 1, 3]),
)


def run(
    traffic: list[tuple[float, int, int]],
    *,
    policy: Policy,
    settings: EngineSettings,
    budget_tokens: int,
    facts: ModelFacts = LLAMA,
    blocks: list[list[int]] | None = None,
    block_tokens: int = 1,
) -> tuple[Outcome, dict[str, Any]]:
    pauses, prompts, outputs = (list(part) for part in zip(*traffic, strict=True))
    arrivals = [float(at) for at in np.cumsum(pauses)]
    pages = PageBytes(facts, page_tokens=settings.page_tokens)
    common: dict[str, Any] = {
        "times": StepTimes.of(facts, H100),
        "pages": pages,
        "policy": policy,
        "settings": settings,
    }
    budget = pages.of(budget_tokens)
    prefixes = None
    if blocks is not None:
        block_bytes = block_tokens // settings.page_tokens * pages.full
        prefixes = PromptBlocks.made_of(blocks, block_tokens=block_tokens, block_bytes=block_bytes)
    outcome = run_engine(
        np.array(arrivals),
        np.array(prompts),
        np.array(outputs),
        budget_bytes=budget,
        bin_seconds=0.05,
        blocks=prefixes,
        **common,
    )
    common.update(arrivals=arrivals, prompts=prompts, outputs=outputs, budget=budget)
    common.update(blocks=blocks, block_tokens=block_tokens)
    return outcome, common


@given(TRAFFIC, SETTINGS, st.integers(40, 400), st.sampled_from(["static", "dynamic"]))
def test_equals_its_slow_twin(
    traffic: list[tuple[float, int, int]],
    settings: EngineSettings,
    budget_tokens: int,
    name: PolicyName,
) -> None:
    for facts in (LLAMA, WINDOWED):
        policy = Policy(name, reserved_tokens=100 if name == "static" else None)
        fast, common = run(
            traffic, policy=policy, settings=settings, budget_tokens=budget_tokens, facts=facts
        )
        slow = simulate_naively(**common)
        assert fast.n_steps == slow.n_steps
        assert fast.output_tokens == slow.output_tokens
        assert fast.prompt_tokens_read == slow.prompt_tokens
        assert fast.end_seconds == pytest.approx(slow.end, rel=1e-9)
        for i in range(len(traffic)):
            assert (fast.status[i] != 0) == (i in slow.refused)
            for mine, theirs in (
                (fast.admitted, slow.admitted),
                (fast.first_token, slow.first_token),
                (fast.finished, slow.finished),
            ):
                if i in theirs:
                    assert mine[i] == pytest.approx(theirs[i], rel=1e-9)
                else:
                    assert math.isnan(mine[i])
            assert fast.n_preempted[i] == slow.n_preempted.get(i, 0)
        if slow.peak_bytes:
            assert max(fast.memory.peak) >= slow.peak_bytes - 1


def prefix_case(seed: int) -> dict[str, Any]:
    """Traffic whose prompts often begin alike, on little memory."""
    rng, number = np.random.default_rng(seed), BlockNumbers("test")
    n = int(rng.integers(1, 16))
    pauses = np.where(rng.random(n) < 0.5, 0.1 * rng.random(n), 0.0)
    page = int(rng.choice([1, 4, 16]))
    return {
        "traffic": list(
            zip(
                pauses.tolist(),
                rng.integers(1, 91, n).tolist(),
                rng.integers(0, 61, n).tolist(),
                strict=True,
            )
        ),
        "settings": EngineSettings(
            page_tokens=page,
            max_requests=int(rng.integers(1, 9)),
            step_tokens=int(rng.integers(9, 129)),
            prefill="chunked" if rng.random() < 0.5 else "whole",
            watermark_share=float(rng.choice([0.0, 0.01, 0.2])),
            clients=(None, None, 1, 3)[rng.integers(4)],
        ),
        "budget_tokens": int(rng.integers(40, 200)),
        "blocks": [
            number.of((rng.random(rng.integers(0, 13)) < 0.2).astype(int).tolist()).tolist()
            for _ in range(n)
        ],
        "block_tokens": page * int(rng.integers(1, 4)),
    }


def test_prefix_cache_equals_its_slow_twin() -> None:
    n_cached = n_preempted = 0
    for seed in range(500):
        fast, slow = both_with_prefixes(prefix_case(seed))
        n_cached += fast.cached_tokens > 0
        n_preempted += fast.cached_tokens > 0 and bool(len(fast.memory_out))
        assert fast.cached_tokens == slow.cached_tokens, seed
    # The cases are of the kind that matters.
    assert n_cached > 200
    assert n_preempted > 100


def both_with_prefixes(case: dict[str, Any]) -> tuple[Outcome, NaiveOutcome]:
    """Run a case fast and slowly, and compare all but what was found."""
    traffic = case["traffic"]
    fast, common = run(policy=Policy("dynamic"), **case)
    slow = simulate_naively(**common)
    assert fast.n_steps == slow.n_steps
    assert fast.output_tokens == slow.output_tokens
    assert fast.prompt_tokens_read == slow.prompt_tokens
    assert fast.end_seconds == pytest.approx(slow.end, rel=1e-9)
    for i in range(len(traffic)):
        assert (fast.status[i] != 0) == (i in slow.refused)
        if i in slow.finished:
            assert fast.finished[i] == pytest.approx(slow.finished[i], rel=1e-9)
        assert fast.n_preempted[i] == slow.n_preempted.get(i, 0)
    assert max(fast.memory.peak) >= slow.peak_bytes - 1
    # Every token of every prompt is read or found once, what is read again apart.
    done = [i for i in range(len(traffic)) if fast.status[i] == 0]
    if not len(fast.memory_out):
        read_or_found = fast.prompt_tokens_read + fast.cached_tokens
        assert read_or_found == sum(traffic[i][1] for i in done)
    assert fast.allocated_bytes_at_end == 0
    return fast, slow


@given(
    TRAFFIC,
    SETTINGS,
    st.integers(40, 400),
    st.sampled_from(POLICIES),
    st.floats(0.05, 0.95),
)
def test_conservation(
    traffic: list[tuple[float, int, int]],
    settings: EngineSettings,
    budget_tokens: int,
    name: PolicyName,
    quantile: float,
) -> None:
    """Every token of every request is accounted for once; all memory comes back."""
    outcome, common = run(
        traffic,
        policy=Policy(name, quantile=quantile),
        settings=settings,
        budget_tokens=budget_tokens,
    )
    done = [i for i in range(len(traffic)) if outcome.status[i] == 0]
    assert outcome.output_tokens == sum(traffic[i][2] for i in done)
    first_reads = outcome.prompt_tokens_read - outcome.recomputed_tokens
    if not len(outcome.memory_out):
        assert first_reads == sum(traffic[i][1] for i in done)
        assert outcome.recomputed_tokens == 0
    assert outcome.prompt_tokens_read >= sum(traffic[i][1] for i in done)
    assert outcome.allocated_bytes_at_end == 0
    assert max(outcome.memory.peak) <= common["budget"]
    busy = outcome.prompt_seconds + outcome.decode_seconds
    assert busy <= outcome.end_seconds * (1 + 1e-9) + 1e-9
    assert sum(outcome.memory.seconds) == pytest.approx(outcome.end_seconds)
    for i in range(len(traffic)):
        if i in done:
            assert outcome.arrived[i] <= outcome.admitted[i] <= outcome.finished[i]
            assert math.isnan(outcome.first_token[i]) == (traffic[i][2] == 0)
        else:
            assert math.isnan(outcome.finished[i])
    assert len(outcome.waits[0]) == len(outcome.waits[1]) == len(outcome.runs[0])


def trace_of(n: int = 400, *, rate: float = 20.0, seed: int = 1) -> Trace:
    rng = np.random.default_rng(seed)
    return Trace.of(
        np.cumsum(rng.exponential(1 / rate, n)),
        rng.integers(50, 3000, n),
        rng.integers(1, 600, n),
    )


SMALL = Server(LLAMA, gpu("a10g"))
"""16 GB of weights on 24 GB: memory is what is short."""


class TestPolicies:
    def test_static_reservation_wastes_and_waits(self) -> None:
        trace = trace_of()
        static, dynamic, prediction = (
            simulate_traffic(trace, SMALL, policy=Policy(name)) for name in POLICIES
        )
        assert static.waste_share > 0.5 > prediction.waste_share > dynamic.waste_share
        assert static.end_seconds > prediction.end_seconds >= dynamic.end_seconds * 0.98
        assert static.n_preemptions == 0
        assert dynamic.n_preemptions > prediction.n_preemptions
        assert dynamic.first_memory_out_seconds is not None
        assert dynamic.recomputed_tokens > 0
        assert static.mean_held_share < dynamic.mean_held_share <= 1

    def test_too_short_a_reservation_refuses_what_is_longer(self) -> None:
        trace = trace_of()
        run = simulate_traffic(trace, SMALL, policy=Policy("static", reserved_tokens=1000))
        longer = (trace.prompt_tokens + trace.output_tokens > 1000).sum()
        assert run.n_too_long == longer
        assert run.n_answered == len(trace) - longer

    def test_a_request_larger_than_the_gpu_is_refused_and_counted(self) -> None:
        trace = Trace.of([0.0, 1.0, 2.0], [100_000, 100, 10_000_000], [10, 10, 10])
        run = simulate_traffic(trace, Server(model("llama-3.1-8b"), gpu("a10g")))
        # 100,000 tokens take 13 GB, of which 5.5 are free; ten million are beyond the context.
        assert (run.n_too_large, run.n_too_long, run.n_answered) == (1, 1, 1)

    def test_weights_that_do_not_fit_are_an_error(self) -> None:
        server = Server(model("llama-3.1-70b"), gpu("a10g"), n_gpus=1)
        with pytest.raises(UsageError, match="does not fit 1 x A10G"):
            simulate_traffic(trace_of(3), server)

    def test_bad_settings_are_errors(self) -> None:
        for make in (
            lambda: Policy("static", reserved_tokens=0),
            lambda: Policy("prediction", quantile=1.0),
            lambda: Policy("orca"),  # type: ignore[arg-type]
            lambda: EngineSettings(max_requests=0),
            lambda: EngineSettings(step_tokens=10, max_requests=10),
            lambda: EngineSettings(watermark_share=1.0),
            lambda: Server(LLAMA, H100, reserved_share=1.0),
            lambda: simulate_traffic(trace_of(3), SMALL, n_bins=0),
        ):
            with pytest.raises(UsageError):
                make()


class TestPrefixCache:
    """Prompts that begin alike."""

    def trace(self, n: int = 60, *, common_blocks: int = 4, rate: float = 3.0) -> Trace:
        """Prompts of 2,560 tokens, the first blocks of 512 the same in all."""
        return Trace.of(
            np.arange(n) / rate,
            np.full(n, 2560),
            np.full(n, 40),
            block_tokens=512,
            blocks=[[*range(common_blocks), 1000 + i] for i in range(n)],
        )

    def test_the_beginning_is_read_once_and_held_once(self) -> None:
        trace = self.trace(rate=1000.0)
        server = Server(LLAMA, H100)
        with_cache, without = (
            simulate_traffic(trace, server, settings=EngineSettings(prefix_cache=shared))
            for shared in (True, False)
        )
        assert without.cached_tokens == 0
        # Whoever is admitted before the first prompt has been read reads the beginning too.
        assert 55 * 2048 <= with_cache.cached_tokens <= 59 * 2048
        assert with_cache.end_seconds < 0.6 * without.end_seconds
        assert with_cache.peak_bytes < 0.5 * without.peak_bytes
        assert with_cache.ttft_seconds.mean < without.ttft_seconds.mean
        for run in (with_cache, without):
            assert run.n_answered == 60
            assert 0 < run.mean_held_share <= run.mean_allocated_share * (1 + 1e-9)

    def test_what_nobody_uses_stays_until_memory_is_wanted(self) -> None:
        # One after the other: each finds what those before it left.
        trace = self.trace(rate=0.1)
        settings = EngineSettings(prefix_cache=True)
        run = simulate_traffic(trace, Server(LLAMA, H100), settings=settings)
        assert run.cached_tokens == 59 * 2048
        assert run.prompt_share < 0.01
        alone = simulate_traffic(trace.part(seconds=5), Server(LLAMA, H100))
        assert run.peak_bytes == alone.peak_bytes
        # Memory for one request: whatever it holds is its own, and the beginning of the next.
        small = Server(LLAMA, H100, reserved_share=1 - (16.06e9 + 0.36e9) / 80e9)
        crowded = simulate_traffic(
            dataclasses.replace(
                trace, blocks=trace.blocks, prompt_tokens=np.where(np.arange(60) % 2, 2560, 2700)
            ),
            small,
            settings=settings,
        )
        assert 0 < crowded.cached_tokens <= 59 * 2048

    def test_one_token_is_always_read(self) -> None:
        trace = Trace.of(
            [0.0, 9.0, 18.0],
            [1024, 1024, 1025],
            [1, 1, 1],
            block_tokens=512,
            blocks=[[1, 2], [1, 2], [1, 2]],
        )
        settings = EngineSettings(prefix_cache=True)
        run = simulate_traffic(trace, Server(LLAMA, H100), settings=settings)
        # Of 1,024 tokens the second block is read again for its last token.
        assert run.cached_tokens == 512 + 1024

    def test_another_tokenizer_scales_the_blocks(self) -> None:
        report = compare_traffic(
            self.trace(),
            Server(LLAMA, H100),
            tokenizers=[TokenizerRatio("a"), TokenizerRatio("b", 0.5)],
            policies=[Policy("dynamic"), Policy("prediction")],
            settings=EngineSettings(prefix_cache=True, step_overhead_seconds=0.001),
        )
        assert report.prefix_cache
        assert report.step_overhead_seconds == 0.001
        whole, _, half, _ = (run.cached_tokens for run in report.runs)
        assert half == pytest.approx(whole / 2, rel=0.1)

    def test_static_reservations_share_nothing(self) -> None:
        runs = [
            simulate_traffic(
                self.trace(),
                SMALL,
                policy=Policy("static"),
                settings=EngineSettings(prefix_cache=shared),
            )
            for shared in (False, True)
        ]
        assert runs[0] == runs[1]

    def test_what_cannot_be_shared_is_an_error(self) -> None:
        settings = EngineSettings(prefix_cache=True)
        with pytest.raises(UsageError, match="does not say which prompts begin alike"):
            simulate_traffic(trace_of(3), SMALL, settings=settings)
        with pytest.raises(UsageError, match="layers with a window"):
            simulate_traffic(
                self.trace(), Server(model("mistral-7b-v0.1"), H100), settings=settings
            )


def test_what_a_step_takes_beside_is_paid_by_every_step() -> None:
    trace = Trace.of([0.0], [100], [11])
    plain, slow = (
        simulate_traffic(
            trace, Server(LLAMA, H100), settings=EngineSettings(step_overhead_seconds=s)
        )
        for s in (0.0, 0.004)
    )
    # One step reads the prompt and gives a token; ten more give one each.
    assert slow.end_seconds == pytest.approx(plain.end_seconds + 11 * 0.004)
    assert slow.ttft_seconds.mean == pytest.approx(plain.ttft_seconds.mean + 0.004)


class TestMonotonicity:
    def test_more_traffic_waits_longer_and_does_not_finish_sooner(self) -> None:
        trace = trace_of(300, rate=2.0)
        runs = [
            simulate_traffic(trace.part(rate_factor=factor), SMALL) for factor in (0.02, 0.1, 0.5)
        ]
        waits = [run.ttft_seconds.mean for run in runs]
        assert waits == sorted(waits)
        busy = [run.busy_share for run in runs]
        assert busy == sorted(busy)

    def test_more_memory_and_faster_gpus_finish_no_later(self) -> None:
        trace = trace_of()
        ends = [
            simulate_traffic(trace, Server(LLAMA, gpu(name))).end_seconds
            for name in ("a10g", "a100-80gb", "h100-sxm", "b200-sxm")
        ]
        assert ends == sorted(ends, reverse=True)
        one, two = (
            simulate_traffic(trace, Server(LLAMA, gpu("a10g"), n_gpus=n)).end_seconds
            for n in (1, 2)
        )
        assert two < one

    def test_shorter_requests_finish_sooner(self) -> None:
        trace = trace_of()
        shorter = dataclasses.replace(trace, prompt_tokens=trace.prompt_tokens // 2 + 1)
        assert (
            simulate_traffic(shorter, SMALL).end_seconds
            < simulate_traffic(trace, SMALL).end_seconds
        )


def test_the_same_run_twice_is_the_same() -> None:
    runs = [
        [simulate_traffic(trace_of(), SMALL, policy=Policy(name)) for name in POLICIES]
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_one_request_alone_takes_the_roofline_s_time() -> None:
    from jeton.economics import decode_seconds, prefill_seconds

    prompt, output = 700, 40
    trace = Trace.of([0.0], [prompt], [output])
    server = Server(LLAMA, H100)
    run = simulate_traffic(trace, server)
    first = prefill_seconds(LLAMA, H100, prompt)
    rest = sum(decode_seconds(LLAMA, H100, context_tokens=prompt + k) for k in range(output - 1))
    assert run.ttft_seconds.mean == pytest.approx(first)
    assert run.end_seconds == pytest.approx(first + rest)
    assert run.tpot_seconds.mean == pytest.approx(rest / (output - 1))
    assert run.usd_per_request is not None
    assert float(run.usd_per_request) == pytest.approx(
        float(H100.price_low.usd_per_hour) * (first + rest) / 3600
    )


def test_a_window_and_a_state_are_honoured() -> None:
    trace = Trace.of([0.0], [9000], [200])
    mistral = model("mistral-7b-v0.1")
    assert mistral.sliding_window_tokens == 4096
    full = with_mixers(mistral, window=None)
    windowed_run, full_run = (simulate_traffic(trace, Server(m, H100)) for m in (mistral, full))
    assert windowed_run.peak_bytes < 0.5 * full_run.peak_bytes
    assert windowed_run.end_seconds < full_run.end_seconds
    hybrid = next(
        m for m in __import__("jeton.catalog", fromlist=["models"]).models() if m.n_state_layers
    )
    run = simulate_traffic(trace, Server(hybrid, gpu("h200-sxm")))
    assert run.n_answered == 1
    times = step_times(Server(hybrid, gpu("h200-sxm")))
    assert times.state_seconds > 0


def test_series_add_up() -> None:
    trace = trace_of()
    run = simulate_traffic(trace, SMALL)
    series = run.series
    assert (
        len(
            {
                len(getattr(series, name))
                for name in (
                    "allocated_bytes",
                    "peak_bytes",
                    "held_bytes",
                    "waiting",
                    "running",
                    "n_memory_out",
                )
            }
        )
        == 1
    )
    assert sum(series.n_memory_out) == run.n_preemptions
    assert max(series.peak_bytes) == run.peak_bytes <= run.budget_bytes
    for mean, peak, held in zip(
        series.allocated_bytes, series.peak_bytes, series.held_bytes, strict=True
    ):
        assert held <= mean + 1
        assert mean <= peak + 1
    assert sum(series.waiting) * series.seconds == pytest.approx(
        run.wait_seconds.mean * run.n_answered, rel=0.5
    )


def test_closed_loop_keeps_so_many_under_way() -> None:
    trace = Trace.of(np.zeros(40), np.full(40, 200), np.full(40, 30))
    one = simulate_traffic(trace, SMALL, settings=EngineSettings(clients=1))
    four = simulate_traffic(trace, SMALL, settings=EngineSettings(clients=4))
    assert max(one.series.running) <= 1 + 1e-6
    assert max(four.series.running) <= 4 + 1e-6
    assert one.wait_seconds.max == four.wait_seconds.max == 0.0
    assert four.end_seconds < one.end_seconds
