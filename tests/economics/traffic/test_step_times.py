"""Coefficients of a step against the roofline, and sums of steps against their definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import gpu, model, models
from jeton.economics import decode_seconds, prefill_seconds
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


UNEVEN = {
    "gemma-4-31b": "layers with a window cache twice as much, and compute half as much",
    "gemma-4-26b-a4b": "layers with a window cache twice as much, and compute half as much",
    "glm-5": "an index bounds what is attended, and not what is cached",
    "deepseek-v3.2": "an index bounds what is attended, and not what is cached",
    "deepseek-v4-flash": "entries of several tokens beside a window",
}
"""Models whose layers differ in more than one window; the replay takes the mean of the layers."""


def _of_catalog() -> list[object]:
    """All models; a replay is not exact yet for the uneven ones."""
    return [
        pytest.param(
            facts,
            id=facts.name,
            marks=[pytest.mark.xfail(reason=UNEVEN[facts.name], strict=True)]
            if facts.name in UNEVEN
            else [],
        )
        for facts in models()
    ]


@pytest.mark.parametrize("facts", _of_catalog())
def test_one_step_is_the_roofline_of_part_4(facts: object) -> None:
    m = model(facts.name)  # type: ignore[attr-defined]
    h100 = gpu("h100-sxm")
    times = StepTimes.of(m, h100)
    for prompt in (1, 700, 9000):
        read = times.mixed_seconds(
            n_decoding=0,
            layer_tokens=0,
            growth=0,
            n_prompt_tokens=prompt,
            n_scored=1,
            prompt_pairs=times.prompt_pairs(0, prompt),
            past_layer_tokens=0,
            n_prompts=1,
        )
        assert read == pytest.approx(prefill_seconds(m, h100, prompt), rel=1e-9)
        for n in (1, 64, 3000):
            before = times.layer_tokens(prompt) * n
            step = times.mixed_seconds(
                n_decoding=n,
                layer_tokens=before,
                growth=times.layer_tokens(prompt + 1) * n - before,
                n_prompt_tokens=0,
                n_scored=0,
                prompt_pairs=0,
                past_layer_tokens=0,
                n_prompts=0,
            )
            expected = decode_seconds(m, h100, context_tokens=prompt, n_requests=n)
            assert step == pytest.approx(expected, rel=1e-9)


def test_reading_in_parts_costs_what_reading_at_once_does_in_arithmetic() -> None:
    times = StepTimes.of(model("mistral-7b-v0.1"), gpu("h100-sxm"))
    whole = times.prompt_pairs(0, 10_000)
    assert whole == sum(times.prompt_pairs(k, k + 1000) for k in range(0, 10_000, 1000))
