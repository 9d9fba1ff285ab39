from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import AttentionKind, ModelFacts, model, models
from jeton.economics import prefill_flops
from jeton.economics.serving.compute import (
    attended_pairs,
    attention_flops,
    decode_flops_per_token,
    forward_flops_per_token,
    training_flops,
)
from jeton.errors import UsageError
from tests.economics.shapes import with_mixers

ANY_MODEL = st.sampled_from(models())


def scoring_flops(facts: ModelFacts, n_tokens: int) -> int:
    """FLOPs with scores at every position, as the published figures count."""
    return prefill_flops(facts, n_tokens, n_scored_tokens=n_tokens).total


def test_llama_3_8b_needs_15_gflop_per_token() -> None:
    # 2 x (8.03e9 parameters - 0.525e9 of the input table)
    assert forward_flops_per_token(model("llama-3-8b")) == pytest.approx(15.0e9, rel=0.002)


def test_attention_and_linear_part_of_8192_tokens() -> None:
    flops = prefill_flops(model("llama-3-8b"), 8192, n_scored_tokens=8192)
    # 2 x 32 layers x 4,096 x 8,192^2, and 8,192 x 15.0 GFLOP
    assert flops.attention == pytest.approx(17.6e12, rel=0.002)
    assert flops.linear == pytest.approx(123e12, rel=0.002)


@pytest.mark.parametrize(("short", "factor"), [(2048, 4.4), (8192, 5.5)])
def test_four_times_the_tokens_are_not_sixteen_times_the_work(short: int, factor: float) -> None:
    facts = model("llama-3-8b")
    ratio = scoring_flops(facts, 4 * short) / scoring_flops(facts, short)
    assert ratio == pytest.approx(factor, abs=0.05)


def test_attention_reaches_the_linear_part_at_53_000_tokens() -> None:
    facts = model("llama-3-8b")
    before, after = (prefill_flops(facts, n) for n in (51_000, 55_000))
    assert before.attention < before.linear
    assert after.attention > after.linear


def test_generating_scores_one_position() -> None:
    facts = model("llama-3-8b")
    scored = prefill_flops(facts, 100, n_scored_tokens=100)
    generated = prefill_flops(facts, 100)
    assert scored.linear - generated.linear == 99 * 2 * 128_256 * 4096


def test_sharing_of_kv_heads_does_not_lower_attention_flops() -> None:
    facts = model("llama-2-7b")
    shared = with_mixers(facts, n_kv_heads=1)
    assert attention_flops(facts, 1000) == attention_flops(shared, 1000)


def test_latent_attention_counts_keys_and_values_apart() -> None:
    # 2 x 61 layers x 128 heads x (192 key + 128 value elements) per pair
    assert attention_flops(model("deepseek-v3"), 1) == 2 * 61 * 128 * (192 + 128)


def test_latent_decoding_works_in_the_latent_space() -> None:
    facts = model("deepseek-v3")
    step = decode_flops_per_token(facts, 1000) - decode_flops_per_token(facts, 999)
    assert step == 2 * 61 * 128 * (2 * 512 + 64)


def test_experts_that_do_not_work_cost_nothing() -> None:
    # 2 x 12.9e9 less the input table of 0.13e9
    assert forward_flops_per_token(model("mixtral-8x7b")) == pytest.approx(25.5e9, rel=0.005)


def test_training_is_six_n_d() -> None:
    facts = model("llama-3-8b")
    assert training_flops(facts, 10**12) == 3 * forward_flops_per_token(facts) * 10**12
    with_attention = training_flops(facts, 20_000, sequence_tokens=8192)
    parts = 2 * attention_flops(facts, 8192) + attention_flops(facts, 20_000 - 2 * 8192)
    assert with_attention == training_flops(facts, 20_000) + 3 * parts


def naive_pairs(n_tokens: int, window: int | None) -> int:
    return sum(
        1
        for query in range(n_tokens)
        for key in range(query + 1)
        if window is None or query - key < window
    )


@given(st.integers(0, 40), st.none() | st.integers(1, 50))
def test_pairs_equal_counting_them(n_tokens: int, window: int | None) -> None:
    assert attended_pairs(n_tokens, window_tokens=window) == naive_pairs(n_tokens, window)


@given(ANY_MODEL, st.integers(1, 10**5))
def test_half_the_tokens_are_half_the_linear_part(facts: ModelFacts, half: int) -> None:
    whole = prefill_flops(facts, 2 * half, n_scored_tokens=2 * half)
    part = prefill_flops(facts, half, n_scored_tokens=half)
    assert whole.linear == 2 * part.linear
    assert 2 * part.attention <= whole.attention <= 4 * part.attention


@given(ANY_MODEL, st.integers(0, 10**5), st.integers(1, 10**4))
def test_more_tokens_are_more_work(facts: ModelFacts, n_tokens: int, more: int) -> None:
    assert prefill_flops(facts, n_tokens + more).total > prefill_flops(facts, n_tokens).total
    assert decode_flops_per_token(facts, n_tokens + more) >= decode_flops_per_token(facts, n_tokens)


@given(
    st.sampled_from(
        [m for m in models() if not m.reads_whole and m.attention is not AttentionKind.LATENT]
    ),
    st.integers(1, 3000),
)
def test_prefill_is_the_sum_of_decoding_steps(facts: ModelFacts, n_tokens: int) -> None:
    """Token by token or at once: the same pairs, the same matrices."""
    steps = sum(decode_flops_per_token(facts, context) for context in range(n_tokens))
    assert steps == scoring_flops(facts, n_tokens)


@pytest.mark.parametrize(("n_tokens", "n_scored"), [(-1, 0), (5, 6), (5, -1)])
def test_impossible_numbers_are_refused(n_tokens: int, n_scored: int) -> None:
    with pytest.raises(UsageError):
        prefill_flops(model("gpt2"), n_tokens, n_scored_tokens=n_scored)
