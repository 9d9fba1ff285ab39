from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import GpuFacts, ModelFacts, gpu, gpus, model, models
from jeton.economics import decode_seconds, fit_requests, kv_bytes, prefill_seconds, weight_bytes
from jeton.economics.serving.latency import read_weight_bytes
from jeton.errors import UsageError

ANY_MODEL = st.sampled_from(models())
ANY_GPU = st.sampled_from(gpus())


def test_decode_floor_of_llama_3_8b_on_h100_is_4_5_ms() -> None:
    floor = decode_seconds(
        model("llama-3-8b"), gpu("h100"), context_tokens=0, bandwidth_share=1, flops_share=1
    )
    # 15.0 GB of weights without the input table / 3.35e12 bytes per second
    assert floor == pytest.approx(4.5e-3, rel=0.01)


def test_prefill_is_bound_by_arithmetic_and_a_short_one_by_reading_weights() -> None:
    facts, h100 = model("llama-3-8b"), gpu("h100")
    long = prefill_seconds(facts, h100, 8192, flops_share=0.5)
    # 2 x 6.98e9 x 8,192 + 17.6e12 = 132 TFLOP at half of 989.4 TFLOP/s
    assert long == pytest.approx(0.267, rel=0.01)
    one = prefill_seconds(facts, h100, 1, bandwidth_share=0.6)
    assert one == pytest.approx(15.0e9 / (3.35e12 * 0.6), rel=0.01)


def test_requests_beside_the_weights() -> None:
    facts, h100 = model("llama-3-8b"), gpu("h100")
    fit = fit_requests(facts, h100, kv_bytes_per_request=kv_bytes(facts, 8192))
    # 81,559 - 400 MiB x 0.92, less weights, activations and engine, over 131,072 x 8,192
    budget = fit.budget
    assert budget.usable_bytes == int((81_559 - 400) * 2**20 * 0.92)
    left = budget.usable_bytes - 16_060_522_496 - budget.activation_bytes - budget.engine_bytes
    assert budget.kv_bytes == left
    assert (fit.n_gpus, fit.n_requests) == (1, left // (131_072 * 8192))
    assert fit.n_requests == 54
    assert not fit.needs_more_gpus


@pytest.mark.parametrize(
    ("name", "gpu_name", "n_gpus"),
    [
        ("llama-3.1-70b", "h100", 2),  # 141.1 GB / 76.6
        ("llama-3.1-405b", "h100", 16),  # 811.7 GB / 76.6; 11 divide no 128 heads
        ("llama-3.1-70b", "mi300x", 1),  # 141.1 GB / 185
        ("llama-3-8b", "a10g", 1),  # 16.1 GB / 21.4
        ("llama-3-8b", "t4", 2),  # 16.1 GB / 14.1
        ("gpt-oss-120b", "h100", 1),  # 65.2 GB as published
        ("deepseek-v3", "h200", 8),  # 673 GB as published; 6 divide no 128 heads
    ],
)
def test_weights_that_do_not_fit_say_how_many_gpus(name: str, gpu_name: str, n_gpus: int) -> None:
    fit = fit_requests(model(name), gpu(gpu_name), kv_bytes_per_request=1)
    assert fit.n_gpus == n_gpus
    assert fit.needs_more_gpus == (n_gpus > 1)


def test_a_request_that_does_not_fit_gives_zero() -> None:
    facts = model("llama-2-7b")
    fit = fit_requests(facts, gpu("t4"), kv_bytes_per_request=kv_bytes(facts, 4096), n_gpus=1)
    assert fit.n_requests == 0


def test_experts_are_read_as_they_are_chosen() -> None:
    mixtral = model("mixtral-8x7b")
    table = 32_000 * 4096 * 2
    one, many = (read_weight_bytes(mixtral, n) for n in (1, 10_000))
    assert one == pytest.approx(2 * 12.88e9 - table, rel=0.001)
    assert many == pytest.approx(weight_bytes(mixtral).total - table)


@given(ANY_MODEL, ANY_GPU, st.integers(1, 10**10), st.integers(0, 10**10))
def test_larger_requests_fit_less_often(
    facts: ModelFacts, device: GpuFacts, size: int, more: int
) -> None:
    small = fit_requests(facts, device, kv_bytes_per_request=size)
    large = fit_requests(facts, device, kv_bytes_per_request=size + more)
    assert large.n_requests <= small.n_requests
    left = small.budget.group_kv_bytes
    taken = size * float(small.budget.kv_copies)
    assert small.n_requests * taken <= left * (1 + 1e-9)
    assert (small.n_requests + 1) * taken > left * (1 - 1e-9)
    assert small.budget.fits == (small.budget.needed_gpus is not None)


@given(ANY_MODEL, ANY_GPU, st.integers(1, 10**5), st.integers(1, 10**4))
def test_times_grow_with_tokens_and_shrink_with_gpus(
    facts: ModelFacts, device: GpuFacts, n_tokens: int, more: int
) -> None:
    one = prefill_seconds(facts, device, n_tokens)
    assert prefill_seconds(facts, device, n_tokens + more) >= one
    assert prefill_seconds(facts, device, n_tokens, n_gpus=2) == pytest.approx(one / 2)
    step = decode_seconds(facts, device, context_tokens=n_tokens)
    assert decode_seconds(facts, device, context_tokens=n_tokens + more) >= step
    assert decode_seconds(facts, device, context_tokens=n_tokens, n_requests=2) >= step


@given(ANY_MODEL, ANY_GPU, st.integers(0, 1000), st.integers(2, 64))
def test_a_batch_is_never_slower_than_one_after_another(
    facts: ModelFacts, device: GpuFacts, context: int, n_requests: int
) -> None:
    step = decode_seconds(facts, device, context_tokens=context)
    batch = decode_seconds(facts, device, context_tokens=context, n_requests=n_requests)
    assert batch <= n_requests * step * (1 + 1e-9)


def test_nothing_to_read_takes_no_time() -> None:
    assert prefill_seconds(model("gpt2"), gpu("t4"), 0) == 0


def test_impossible_numbers_are_refused() -> None:
    facts, t4 = model("gpt2"), gpu("t4")
    with pytest.raises(UsageError, match="KV cache"):
        fit_requests(facts, t4, kv_bytes_per_request=0)
    with pytest.raises(UsageError, match="reserved_share"):
        fit_requests(facts, t4, kv_bytes_per_request=1, reserved_share=1)
    with pytest.raises(UsageError, match="share"):
        prefill_seconds(facts, t4, 1, flops_share=0)
    with pytest.raises(UsageError, match="n_gpus"):
        decode_seconds(facts, t4, context_tokens=1, n_gpus=0)
    with pytest.raises(UsageError, match="n_requests"):
        decode_seconds(facts, t4, context_tokens=1, n_requests=0)
