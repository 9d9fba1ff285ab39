"""Claims that circulate, recomputed: what is false, and what is nearly right."""

from __future__ import annotations

import pytest

from jeton.catalog import gpu, model
from jeton.economics import kv_bytes, kv_bytes_per_token, prefill_flops
from jeton.economics.serving.activations import prefill_activation_bytes
from jeton.economics.serving.compute import (
    attention_flops,
    decode_flops_per_token,
    forward_flops_per_token,
)
from jeton.economics.serving.latency import read_weight_bytes
from jeton.economics.vocabulary.trade import tokens_per_char
from tests.economics.shapes import with_mixers

LLAMA = model("llama-3-8b")


def test_attention_memory_is_not_quadratic() -> None:
    # Fused kernels never store the scores (arXiv:2205.14135): cache and activations are linear.
    assert kv_bytes(LLAMA, 65_536) == 32 * kv_bytes(LLAMA, 2048)
    scores = prefill_activation_bytes(LLAMA, 0)
    long, short = (prefill_activation_bytes(LLAMA, n) - scores for n in (65_536, 2048))
    assert long == pytest.approx(32 * short, rel=1e-2)
    # The FLOPs are quadratic.
    assert attention_flops(LLAMA, 65_536) == pytest.approx(
        32**2 * attention_flops(LLAMA, 2048), rel=1e-3
    )


def test_attention_overtakes_the_rest_late() -> None:
    # Of the last token near 26,600, of the whole prompt on average near 53,000.
    linear = 2 * 6_979_321_856  # layers' matrices of Llama-3-8B
    per_token = 4 * 32 * 128 * 32
    assert linear / per_token == pytest.approx(26_600, rel=0.005)
    found = prefill_flops(LLAMA, 53_200)
    assert found.attention == pytest.approx(found.linear, rel=0.005)


def test_fewer_key_value_heads_save_memory_and_no_flops() -> None:
    full = with_mixers(LLAMA, n_kv_heads=32)
    assert kv_bytes_per_token(full) == 4 * kv_bytes_per_token(LLAMA)
    assert attention_flops(full, 8192) == attention_flops(LLAMA, 8192)


def test_latent_attention_caches_four_and_a_half_head_sizes() -> None:
    # arXiv:2405.04434 table 1: latent of 4 head sizes, rotary key of half of one.
    assert kv_bytes_per_token(model("deepseek-v2")) == 4.5 * 128 * 60 * 2
    assert kv_bytes_per_token(model("deepseek-v2-lite")) == 4.5 * 128 * 27 * 2


def test_latent_decoding_costs_more_flops_than_its_cache_suggests() -> None:
    facts = model("deepseek-v2")
    one, two = (decode_flops_per_token(facts, n) for n in (1000, 1001))
    # 2 H (2 c + r) per layer and attended token.
    assert two - one == 2 * 128 * (2 * 512 + 64) * 60


def test_thirty_percent_fewer_tokens_is_about_thirty_percent_less_and_more_of_attention() -> None:
    before, after = prefill_flops(LLAMA, 10_000), prefill_flops(LLAMA, 7_000)
    assert after.linear / before.linear == pytest.approx(0.70, abs=1e-3)
    assert after.attention / before.attention == pytest.approx(0.49, abs=1e-3)
    assert kv_bytes(LLAMA, 7_000) / kv_bytes(LLAMA, 10_000) == pytest.approx(0.7)


def test_a_longer_head_takes_some_of_the_saving_back() -> None:
    # English from 32k to 128k ids: 9% fewer tokens; Llama-2-7B reads 6% more per step.
    facts = model("llama-2-7b")
    tokens = tokens_per_char(131_072) / tokens_per_char(32_768)
    reads = read_weight_bytes(facts, 1, vocab_size=131_072) / read_weight_bytes(facts, 1)
    assert tokens == pytest.approx(0.910, abs=0.001)
    assert reads == pytest.approx(1.061, abs=0.001)
    assert tokens < tokens * reads < 1


def test_a_window_bounds_the_cache_and_makes_attention_linear() -> None:
    facts = model("mistral-7b-v0.1")
    assert kv_bytes(facts, 10**6) == kv_bytes(facts, 4096)
    far = attention_flops(facts, 200_000) - attention_flops(facts, 100_000)
    farther = attention_flops(facts, 300_000) - attention_flops(facts, 200_000)
    assert far == farther


def test_experts_read_all_weights_in_large_batches() -> None:
    facts = model("mixtral-8x7b-v0.1")
    one, many = (read_weight_bytes(facts, n) for n in (1, 1000))
    active = 2 * (12_879_925_248 - 32_000 * 4096)
    assert one == pytest.approx(active, rel=1e-3)
    assert many == pytest.approx(2 * (46_702_792_704 - 32_000 * 4096), rel=1e-6)


def test_forward_flops_of_llama_3_8b() -> None:
    # 2 x (8.03e9 - 0.525e9): the input table is a look-up.
    assert forward_flops_per_token(LLAMA) == pytest.approx(15.0e9, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("llama-3-8b", "byte-level BPE by rank"),  # not SentencePiece
        ("starcoderbase", "byte-level BPE"),
        ("llama-2-7b", "SentencePiece BPE"),
    ],
)
def test_tokenizers_that_are_often_called_something_else(name: str, words: str) -> None:
    assert words in model(name).tokenizer


def test_the_a10g_has_24_gb() -> None:
    assert gpu("a10g").datasheet_gb == 24
    assert gpu("a10g").memory_bytes == 23_028 * 2**20
