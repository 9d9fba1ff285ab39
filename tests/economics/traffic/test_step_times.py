"""Coefficients of a step against the roofline, and sums of steps against their definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import ModelFacts, gpu, model, models
from jeton.economics import decode_seconds, prefill_seconds
from jeton.economics.serving.compute import decode_flops_per_token, forward_flops_per_token
from jeton.economics.serving.memory import read_group_bytes
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.traffic.simulate import Server, step_times
from jeton.economics.traffic.step_times import StepTimes
from tests.economics.serving_reference.steps import steps_seconds, steps_until

LINE = st.floats(0, 10, allow_nan=False)


def naive_sum(n: int, a: float, b: float, c: float, d: float) -> float:
    return sum(max(a + b * j, c + d * j) for j in range(n))


@given(st.integers(0, 300), LINE, LINE, LINE, LINE)
def test_sums_of_steps(n: int, a: float, b: float, c: float, d: float) -> None:
    assert steps_seconds(n, a, b, c, d) == pytest.approx(naive_sum(n, a, b, c, d), rel=1e-9)


@given(st.integers(1, 300), st.floats(1e-6, 2000), st.floats(1e-3, 10), LINE, LINE, LINE)
def test_steps_until_a_moment(
    most: int, seconds: float, a: float, b: float, c: float, d: float
) -> None:
    k = steps_until(seconds, most, a, b, c, d)
    assert 1 <= k <= most
    slack = 1e-9 * max(1.0, seconds)
    if k < most:
        assert naive_sum(k, a, b, c, d) >= seconds - slack
    if k > 1:
        assert naive_sum(k - 1, a, b, c, d) < seconds + slack


@pytest.mark.parametrize(
    "facts", [one for one in models() if not one.reads_whole], ids=lambda facts: facts.name
)
def test_one_step_is_the_roofline_of_part_4(facts: ModelFacts) -> None:
    h100 = gpu("h100-sxm")
    times = StepTimes.of(facts, h100)
    for prompt in (1, 700, 9000, 200_000):
        read = times.seconds(times.reading(1, prompt))
        assert read == pytest.approx(prefill_seconds(facts, h100, prompt), rel=1e-9)
        for n in (1, 64, 3000):
            step = times.seconds(times.decoding(n, prompt))
            expected = decode_seconds(facts, h100, context_tokens=prompt, n_requests=n)
            assert step == pytest.approx(expected, rel=1e-9)


def test_stages_and_replicas_share_the_time_of_a_step() -> None:
    """Pipeline stages count once, in the roofline and in a replay alike."""
    h100, facts = gpu("h100-sxm"), model("llama-3-8b")
    plan = MemoryPlan(n_gpus=2, pipeline_parallel=2)
    server = Server(facts, h100, plan=plan)
    assert server.group == plan.all_gpus == 4
    times = step_times(server)
    four = StepTimes.of(facts, h100, n_gpus=4)
    assert times.seconds(times.reading(1, 900)) == four.seconds(four.reading(1, 900))
    assert prefill_seconds(facts, h100, 900, plan=plan) == four.seconds(four.reading(1, 900))


def test_reading_in_parts_costs_what_reading_at_once_does_in_arithmetic() -> None:
    times = StepTimes.of(model("mistral-7b-v0.1"), gpu("h100-sxm"))
    parts = [times.pairs(k, k + 1000) for k in range(0, 10_000, 1000)]
    assert times.pairs(0, 10_000) == tuple(map(sum, zip(*parts, strict=True)))


@pytest.mark.parametrize(
    ("name", "n_bytes", "n_flops"),
    [
        # 61 layers read 2,048 latents of 576 in 16 bits, and every key of the index in fp8.
        (
            "deepseek-v3.2",
            61 * (2048 * 576 * 2 + 100_000 * (128 + 4)),
            61 * (2 * 128 * (2 * 512 + 64) * 2048 + 2 * 64 * 128 * 100_001),
        ),
        # 50 of 60 layers look back 1,024 tokens and have 16 heads of 256; 10 have 4 heads of 512.
        (
            "gemma-4-31b",
            50 * 1024 * 16 * 2 * 256 * 2 + 10 * 100_000 * 4 * 2 * 512 * 2,
            50 * 4 * 32 * 256 * 1024 + 10 * 4 * 32 * 512 * 100_001,
        ),
    ],
)
def test_a_generated_token_reads_what_its_kinds_of_layers_read(
    name: str, n_bytes: int, n_flops: int
) -> None:
    facts, h100 = model(name), gpu("h100-sxm")
    assert read_group_bytes(facts, 100_000, plan=MemoryPlan()) == n_bytes
    attention = decode_flops_per_token(facts, 100_000) - forward_flops_per_token(facts)
    assert attention == n_flops
    times = StepTimes.of(facts, h100)
    a, b = (times.seconds(times.decoding(64, n)) for n in (100_000, 100_001))
    assert b >= a
