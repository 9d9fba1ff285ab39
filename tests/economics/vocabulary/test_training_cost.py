"""Training: FLOPs, memory, GPU-hours, dollars, and when a new tokenizer has paid for itself."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import gpu, model
from jeton.economics import break_even, training_cost
from jeton.economics.serving.compute import training_flops
from jeton.errors import UsageError

LLAMA = model("llama-3.1-8b")
H100 = gpu("h100-sxm")


def test_llama_3_1_405b_s_own_pretraining() -> None:
    """3.8e25 FLOPs on 15.6T tokens (arXiv:2407.21783), in 30.84M H100 hours (model card)."""
    large = model("llama-3.1-405b")
    cost = training_cost(
        large,
        H100,
        n_bytes=15.6e12 * 4.4,
        bytes_per_token=4.4,
        sequence_tokens=8192,
        n_gpus=16_384,
        recomputation="full",
        mode="pretraining",
    )
    assert cost.n_tokens == 15_600_000_000_000
    assert cost.flops_linear * 3 / 4 == pytest.approx(3.8e25, rel=0.01)
    # The formula's hours are those of the arithmetic alone; the card's are all that were spent.
    kept = training_flops(large, cost.n_tokens, sequence_tokens=8192) / cost.flops * cost.gpu_hours
    assert kept == pytest.approx(30.84e6, rel=0.15)
    assert kept < 30.84e6


def test_it_is_6nd_and_attention() -> None:
    cost = training_cost(LLAMA, H100, n_bytes=4e9, bytes_per_token=4.0, sequence_tokens=2048)
    assert cost.n_tokens == 10**9
    assert cost.flops == training_flops(LLAMA, 10**9, sequence_tokens=2048)
    assert cost.flops_linear == training_flops(LLAMA, 10**9)


def test_adam_in_mixed_precision_takes_16_bytes_a_parameter() -> None:
    cost = training_cost(LLAMA, H100, n_bytes=1e9, bytes_per_token=4.0, recomputation="full")
    assert cost.state_bytes == 16 * cost.n_trained_parameters
    assert cost.n_trained_parameters == 8_030_261_248
    # 72 GB a card, less 2.1 GB of activations and 12.6 GB of scores: three hold 128 GB.
    assert cost.n_gpus == cost.n_gpus_least == 3
    fused = training_cost(
        LLAMA, H100, n_bytes=1e9, bytes_per_token=4.0, recomputation="full", fused_loss=True
    )
    assert (fused.n_gpus, fused.logit_bytes) == (2, 0)


def test_training_the_tables_alone_takes_two_thirds_and_little_memory() -> None:
    whole = training_cost(LLAMA, H100, n_bytes=1e9, bytes_per_token=4, recomputation="full")
    tables = training_cost(
        LLAMA, H100, n_bytes=1e9, bytes_per_token=4, mode="embeddings", recomputation="full"
    )
    assert tables.n_trained_parameters == 2 * 128_256 * 4096
    assert tables.state_bytes < 0.3 * whole.state_bytes
    assert tables.flops == pytest.approx(whole.flops * 3 / 4, rel=1e-9)  # 4/3 against 3/3


def test_fewer_tokens_cost_less_and_a_larger_vocabulary_more() -> None:
    def cost(bytes_per_token: float, vocab_size: int) -> Decimal:
        return training_cost(
            LLAMA,
            H100,
            n_bytes=1e12,
            bytes_per_token=bytes_per_token,
            vocab_size=vocab_size,
            recomputation="full",
        ).usd

    assert cost(4.4, 128_256) < cost(4.0, 128_256) < cost(4.0, 256_000)


def test_what_does_not_fit_says_so() -> None:
    with pytest.raises(UsageError, match="do not fit 1 x H100-SXM"):
        training_cost(LLAMA, H100, n_bytes=1e9, bytes_per_token=4, n_gpus=1, recomputation="full")
    with pytest.raises(UsageError, match="hint: shorter or fewer sequences"):
        training_cost(LLAMA, gpu("t4"), n_bytes=1e9, bytes_per_token=4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_bytes": 0},
        {"n_bytes": float("nan")},
        {"bytes_per_token": 0},
        {"epochs": -1},
        {"flops_share": 2},
        {"sequence_tokens": 0},
        {"mode": "magic"},
        {"recomputation": "some"},
        {"reserved_share": 1},
    ],
)
def test_bad_numbers_are_errors(wrong: dict[str, object]) -> None:
    values: dict[str, object] = {"n_bytes": 1e9, "bytes_per_token": 4.0} | wrong
    with pytest.raises(UsageError):
        training_cost(LLAMA, H100, **values)  # type: ignore[arg-type]


class TestBreakEven:
    def test_the_arithmetic(self) -> None:
        found = break_even(
            usd_once=Decimal(1000),
            usd_per_mtok_now=Decimal("0.40"),
            tokens_ratio=0.75,
            tokens_per_month=1e9,
        )
        assert found.usd_saved_per_mtok == Decimal("0.10")
        assert found.tokens == 10_000_000_000
        assert found.months == 10.0

    def test_a_dearer_token_can_eat_the_saving(self) -> None:
        found = break_even(
            usd_once=Decimal(1),
            usd_per_mtok_now=Decimal("0.40"),
            usd_per_mtok_then=Decimal("0.60"),
            tokens_ratio=0.75,
        )
        assert found.tokens is None
        assert found.months is None
        assert found.usd_saved_per_mtok < 0

    @given(
        st.decimals(0, 10**6, places=2),
        st.decimals("0.01", 100, places=2),
        st.floats(0.05, 0.99),
    )
    def test_that_many_tokens_earn_it_and_one_fewer_do_not(
        self, once: Decimal, price: Decimal, ratio: float
    ) -> None:
        found = break_even(usd_once=once, usd_per_mtok_now=price, tokens_ratio=ratio)
        assert found.tokens is not None
        earned = found.usd_saved_per_mtok * found.tokens / 1_000_000
        assert earned >= once * (1 - Decimal("1e-20"))
        if found.tokens:
            assert found.usd_saved_per_mtok * (found.tokens - 1) / 1_000_000 < once

    def test_bad_numbers_are_errors(self) -> None:
        for ratio in (0.0, float("nan")):
            with pytest.raises(UsageError):
                break_even(usd_once=Decimal(1), usd_per_mtok_now=Decimal(1), tokens_ratio=ratio)
