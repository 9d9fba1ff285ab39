"""Capacity of a GPU: exact for the distribution of lengths, against draws at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.catalog import gpu, model
from jeton.economics.serving.activations import (
    SAMPLER_BYTES,
    attention_score_bytes,
    logit_bytes,
    prefill_activation_bytes,
    training_logit_bytes,
)
from jeton.economics.serving.capacity import RequestLengths, longest_context, workload_capacity
from jeton.economics.serving.memory import kv_bytes_per_token, request_bytes
from jeton.economics.serving.memory_budget import memory_budget
from jeton.errors import UsageError

LLAMA = model("llama-3-8b")
H100 = gpu("h100")
histograms = st.dictionaries(st.integers(0, 20_000), st.integers(1, 50), min_size=1, max_size=8)


def lognormal(n: int = 4000) -> RequestLengths:
    rng = np.random.default_rng(7)
    lengths = np.clip(rng.lognormal(6.5, 1.0, n), 1, 30_000).astype(int)
    return RequestLengths.of(lengths, output_tokens=300)


def test_the_safe_number_is_what_draws_at_random_say() -> None:
    workload = lognormal()
    found = workload_capacity(LLAMA, H100, workload)
    lengths = np.repeat(workload.prompt_tokens, workload.n_requests)
    pages = -(-(lengths + 300) // 16) * 16 * kv_bytes_per_token(LLAMA)
    rng = np.random.default_rng(0)

    def overflow(n: int) -> float:
        sums = rng.choice(pages, (4000, n)).sum(axis=1)
        return float((sums > found.budget_bytes).mean())

    # 4,000 draws: one standard error of 1% is 0.16%.
    assert overflow(found.n_requests_safe) <= 0.01 + 3 * 0.0016
    assert overflow(found.n_requests_safe + 10) > 0.01
    assert 0.35 < overflow(found.n_requests_mean) < 0.65


def test_the_mean_promises_more_than_fits_and_the_longest_less() -> None:
    found = workload_capacity(LLAMA, H100, lognormal())
    assert found.n_requests_worst < found.n_requests_safe < found.n_requests_mean
    assert found.n_requests_reserved == found.n_requests_worst
    assert found.reserved_waste > 0.9
    # Half a page of 16 in about 1,390 tokens.
    assert found.paging_waste == pytest.approx(7.5 / 1390, rel=0.1)


def test_equal_lengths_leave_no_chance() -> None:
    found = workload_capacity(LLAMA, H100, RequestLengths.of([8192]), page_tokens=0)
    budget = found.budget.usable_bytes - 2 * 8_030_261_248
    budget -= found.budget.activation_bytes + found.budget.engine_bytes
    assert found.budget_bytes == budget
    n = budget // (8192 * 131_072)
    assert found.n_requests_mean == found.n_requests_worst == found.n_requests_safe == n == 54
    assert found.paging_waste == 0


def test_a_cache_in_8_bits_doubles_what_fits() -> None:
    workload = RequestLengths.of([4096])
    one = workload_capacity(LLAMA, H100, workload, page_tokens=0)
    half = workload_capacity(LLAMA, H100, workload, page_tokens=0, kv_dtype_bytes=1)
    assert half.bytes_per_request_mean * 2 == one.bytes_per_request_mean
    assert half.n_requests_mean in (2 * one.n_requests_mean, 2 * one.n_requests_mean + 1)


def test_where_memory_runs_out() -> None:
    found = workload_capacity(LLAMA, gpu("t4"), RequestLengths.of([100]), n_gpus=1)
    assert found.n_requests_safe == found.n_requests_mean == 0
    assert "weights (16.1 GB) do not fit 1 x T4" in found.first_limit
    found = workload_capacity(
        LLAMA, gpu("a10g"), RequestLengths.of([100] * 9 + [131_072]), n_gpus=1
    )
    assert found.n_too_long == 1
    assert "1 request(s) do not fit 1 x A10G even alone" in found.first_limit
    # One in ten never fits: more than the accepted share.
    assert found.n_requests_safe == 0


@settings(max_examples=12)
@given(histograms, st.integers(0, 2000), st.sampled_from([0, 16, 256]))
def test_numbers_are_in_order(histogram: dict[int, int], output: int, page: int) -> None:
    workload = RequestLengths.from_histogram(
        list(histogram), list(histogram.values()), output_tokens=output
    )
    found = workload_capacity(LLAMA, H100, workload, page_tokens=page)
    assert found.n_requests_worst <= found.n_requests_mean or found.bytes_per_request_mean == 0
    assert found.n_requests_safe >= found.n_requests_worst
    assert 0 <= found.paging_waste < 1
    assert 0 <= found.reserved_waste < 1


def test_longest_context() -> None:
    longest = longest_context(LLAMA, H100)
    assert longest == LLAMA.context_tokens < memory_budget(LLAMA, H100).kv_bytes // 131_072
    fewer = memory_budget(LLAMA, H100).kv_bytes // 131_072 // 100
    assert longest_context(LLAMA, H100, n_requests=100) == fewer // 16 * 16  # in pages
    # One GPU is meant where no number is given: a second is not taken unasked.
    assert longest_context(model("llama-3.1-70b"), H100) == 0
    assert longest_context(model("llama-3.1-70b"), H100, n_gpus=2) > 0
    # A window of 4,096 in all layers: the model's own context is the end.
    mistral = model("mistral-7b-v0.1")
    assert longest_context(mistral, H100) == mistral.context_tokens
    jamba = model("jamba-v0.1")
    assert (
        longest_context(jamba, gpu("h200"))
        > 8 * longest_context(model("mixtral-8x7b-v0.1"), gpu("h200")) * 0.5
    )


def test_half_the_tokens_is_half_the_pages() -> None:
    long = workload_capacity(LLAMA, H100, RequestLengths.of([2048, 4096]))
    short = workload_capacity(LLAMA, H100, RequestLengths.of([1024, 2048]))
    assert long.bytes_per_request_mean == 2 * short.bytes_per_request_mean


class TestWorkload:
    def test_padding_of_a_batch(self) -> None:
        workload = RequestLengths.of([100, 100, 100, 500])
        assert workload.prompt_tokens_mean == 200
        assert workload.padding_share(1) == 0
        # Two draws: at least one of 500 with 1 - (3/4)^2 = 7/16.
        assert workload.longest_of(2) == pytest.approx(100 * 9 / 16 + 500 * 7 / 16)
        assert workload.longest_of(10_000) == pytest.approx(500)
        assert workload.padding_share(10_000) == pytest.approx(0.6)

    def test_quantiles(self) -> None:
        workload = RequestLengths.of(range(1, 101))
        assert [workload.quantile(q) for q in (0.01, 0.5, 0.95, 1)] == [1, 50, 95, 100]

    def test_histograms_are_added_up(self) -> None:
        workload = RequestLengths.from_histogram([5, 3, 5], [1, 2, 3])
        assert (workload.prompt_tokens, workload.n_requests) == ((3, 5), (2, 4))

    @pytest.mark.parametrize(
        ("lengths", "counts", "output"),
        [((), (), 0), ((1,), (0,), 0), ((1, 1), (1, 1), 0), ((-1,), (1,), 0), ((1,), (1,), -1)],
    )
    def test_bad_input(
        self, lengths: tuple[int, ...], counts: tuple[int, ...], output: float
    ) -> None:
        with pytest.raises(UsageError):
            RequestLengths(lengths, counts, output)
        with pytest.raises(UsageError, match="as many of each"):
            RequestLengths.from_histogram([1], [])


class TestActivations:
    def test_scores_of_gemma_2(self) -> None:
        # arXiv:2411.09009 table 1: 24,000 MB for the unfused loss on 8,192 tokens, 256,000 ids.
        assert training_logit_bytes(8192, 256_000) == 24_000 * 2**20
        assert training_logit_bytes(8192, 256_000, fused=True) == 0
        assert logit_bytes(1, 128_256) == 513_024

    def test_the_widest_point_is_the_mlp_and_linear_in_tokens(self) -> None:
        # vllm-project/vllm#10517: 2.07 GiB at 20,000 tokens, 2.99 GiB at 29,000, 256 requests.
        for n_tokens, gib in ((20_000, 2.07), (29_000, 2.99)):
            found = prefill_activation_bytes(LLAMA, n_tokens, n_scored_tokens=256)
            assert found == n_tokens * (3 * 4096 + 3 * 14_336) * 2
            assert found == pytest.approx(gib * 2**30, rel=0.01)

    def test_drawing_tokens_takes_more_than_short_passes(self) -> None:
        # 28 bytes a score, and the residual stream of the pass in two copies.
        found = prefill_activation_bytes(LLAMA, 2048, n_scored_tokens=256)
        assert found == 256 * 128_256 * SAMPLER_BYTES + 2 * 2048 * 4096 * 2
        assert prefill_activation_bytes(LLAMA, 2048, n_scored_tokens=256, n_gpus=4) == found

    def test_scores_that_are_written_down_are_quadratic(self) -> None:
        # 32 heads x 2,048 x 2,048 scores of 2 bytes.
        assert attention_score_bytes(LLAMA, 2048) == 268_435_456
        assert attention_score_bytes(LLAMA, 8192) == 16 * 268_435_456
        assert attention_score_bytes(LLAMA, 0) == 0

    def test_only_the_experts_at_work_count(self) -> None:
        sparse = model("qwen3-30b-a3b")
        widest = 3 * 8 * 768 + 8 * 2048
        assert widest > (2 * 32 + 2 * 4) * 128
        assert prefill_activation_bytes(sparse, 10_000) == 10_000 * (3 * 2048 + widest) * 2

    def test_bad_input(self) -> None:
        with pytest.raises(UsageError):
            logit_bytes(-1, 10)
        with pytest.raises(UsageError):
            prefill_activation_bytes(LLAMA, -1)
        with pytest.raises(UsageError, match="-1 tokens"):
            attention_score_bytes(LLAMA, -1)


@pytest.mark.parametrize(
    "change",
    [{"overflow_share": 0.0}, {"reserved_share": 1.0}, {"page_tokens": -1}, {"n_gpus": 0}],
)
def test_bad_input_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        workload_capacity(LLAMA, H100, RequestLengths.of([1]), **change)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        longest_context(LLAMA, H100, n_requests=0)


def test_a_request_without_tokens_takes_nothing() -> None:
    assert request_bytes(LLAMA, 0) == 0
    assert workload_capacity(LLAMA, H100, RequestLengths.of([0])).n_requests_safe == 0
