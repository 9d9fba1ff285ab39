from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import ModelFacts, model, models
from jeton.economics import embedding_bytes, kv_bytes, kv_bytes_per_token, weight_bytes
from jeton.economics.serving.memory import DTYPE_BYTES, request_bytes, state_bytes
from jeton.errors import UsageError

ANY_MODEL = st.sampled_from(models())


@pytest.mark.parametrize(
    ("name", "published_bytes"),
    [
        ("llama-2-7b", 524_288),  # 2 x 32 layers x 32 heads x 128 x 2
        ("llama-3-8b", 131_072),  # 2 x 32 x 8 x 128 x 2
        ("mistral-7b-v0.1", 131_072),
        ("llama-2-70b", 327_680),  # 2 x 80 x 8 x 128 x 2
        ("llama-3.1-70b", 327_680),
        ("llama-3.1-405b", 516_096),  # 2 x 126 x 8 x 128 x 2
        ("qwen2.5-7b", 57_344),  # 2 x 28 x 4 x 128 x 2
        ("deepseek-v3", 70_272),  # (512 + 64) x 61 x 2, arXiv:2505.09343 table 1
        ("starcoderbase", 20_480),  # one head: 2 x 40 x 1 x 128 x 2
    ],
)
def test_kv_cache_per_token_in_bf16(name: str, published_bytes: int) -> None:
    assert kv_bytes_per_token(model(name)) == published_bytes


def test_kv_cache_of_2048_tokens_of_llama_2_7b_is_1_07_gb() -> None:
    assert kv_bytes(model("llama-2-7b"), 2048) == 1_073_741_824


def test_sliding_window_caps_the_cache() -> None:
    mistral = model("mistral-7b-v0.1")
    # arXiv:2310.06825: a window of 4,096 saves a factor of 8 at 32k tokens.
    assert kv_bytes(mistral, 32_768) * 8 == kv_bytes_per_token(mistral) * 32_768
    assert kv_bytes(mistral, 4096) == kv_bytes_per_token(mistral) * 4096
    gemma = model("gemma-2-9b")
    per_layer = 2 * 8 * 256 * 2
    assert kv_bytes(gemma, 8192) == per_layer * (21 * 8192 + 21 * 4096)


def test_embedding_tables() -> None:
    assert embedding_bytes(vocab_size=50_257, hidden_size=768, dtype_bytes=4) == 154_389_504
    assert embedding_bytes(vocab_size=128_256, hidden_size=4096) == 1_050_673_152


def test_tied_models_have_one_table_and_untied_two() -> None:
    gpt2 = weight_bytes(model("gpt2"), dtype_bytes=DTYPE_BYTES["fp32"])
    assert gpt2.input_embedding == 154_389_504
    assert gpt2.output_head == 0
    llama = weight_bytes(model("llama-3-8b"))
    assert llama.input_embedding == llama.output_head == 1_050_673_152
    assert llama.total == 2 * 8_030_261_248


def test_a_vocabulary_twice_as_large_costs_one_table_tied_and_two_untied() -> None:
    tied, untied = model("qwen2.5-0.5b"), model("llama-3-8b")
    grown = weight_bytes(tied, vocab_size=2 * tied.vocab_size).total
    assert grown - weight_bytes(tied).total == tied.vocab_size * 896 * 2
    grown = weight_bytes(untied, vocab_size=2 * untied.vocab_size).total
    assert grown - weight_bytes(untied).total == 2 * 128_256 * 4096 * 2


def test_a_hybrid_caches_in_few_layers_and_keeps_a_state() -> None:
    jamba = model("jamba-v0.1")
    # arXiv:2403.19887 table 1: 4 GB of KV cache at 256k tokens in 16 bits.
    assert kv_bytes(jamba, 262_144) == 4 * 2**30
    # 28 layers x 8,192 channels x (16 of state + 3 of convolution) x 2 bytes, at any length.
    assert state_bytes(jamba) == 28 * 8192 * 19 * 2
    assert request_bytes(jamba, 5) - kv_bytes(jamba, 5) == state_bytes(jamba)
    assert request_bytes(jamba, 0) == 0
    delta = model("qwen3-next-80b-a3b")
    # 12 attention layers with 2 heads of 256; 36 states of 32 x 128 x 128 and 8,192 channels x 3.
    assert kv_bytes_per_token(delta) == 2 * 12 * 2 * 256 * 2
    assert state_bytes(delta) == 36 * (32 * 128 * 128 + 8192 * 3) * 2
    assert state_bytes(model("llama-3-8b")) == 0


@given(ANY_MODEL, st.integers(0, 10**6), st.integers(0, 10**6))
def test_cache_grows_with_length_and_never_faster_than_linearly(
    facts: ModelFacts, a: int, b: int
) -> None:
    assert kv_bytes(facts, a) <= kv_bytes(facts, a + b)
    assert kv_bytes(facts, a + b) <= kv_bytes(facts, a) + kv_bytes_per_token(facts) * b
    if facts.sliding_window_tokens is None:
        assert kv_bytes(facts, a + b) == kv_bytes(facts, a) + kv_bytes(facts, b)


@given(ANY_MODEL, st.integers(1, 10**5))
def test_half_the_tokens_are_half_the_cache_without_windows(facts: ModelFacts, half: int) -> None:
    if facts.sliding_window_tokens is None:
        assert kv_bytes(facts, 2 * half) == 2 * kv_bytes(facts, half)


@given(ANY_MODEL, st.integers(1, 300_000), st.integers(1, 4))
def test_bytes_are_linear_in_the_number_format(
    facts: ModelFacts, vocab_size: int, dtype_bytes: int
) -> None:
    one = weight_bytes(facts, vocab_size=vocab_size, dtype_bytes=1)
    many = weight_bytes(facts, vocab_size=vocab_size, dtype_bytes=dtype_bytes)
    assert many.total == dtype_bytes * one.total
    assert many.rest == dtype_bytes * weight_bytes(facts, dtype_bytes=1).rest


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="n_tokens"):
        kv_bytes(model("gpt2"), -1)
    with pytest.raises(UsageError, match="dtype_bytes"):
        weight_bytes(model("gpt2"), dtype_bytes=0)
    with pytest.raises(UsageError, match="empty"):
        embedding_bytes(vocab_size=0, hidden_size=768)
