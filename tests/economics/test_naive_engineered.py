"""The table, the room of a context, bills by language; and everything linear halves."""

from __future__ import annotations

from decimal import Decimal

import pytest

from jeton.catalog import gpu, model, models
from jeton.catalog import price as find_price
from jeton.economics import Remedy, api_cost, kv_bytes, prefill_flops, reconcile, waterfall
from jeton.economics.billing.groups import GroupUse, bill_by_group
from jeton.economics.ledger import usage_rows
from jeton.economics.naive_engineered import naive_engineered
from jeton.economics.serving.capacity import (
    CHARS_PER_PAGE,
    RequestLengths,
    context_room,
    workload_capacity,
)
from jeton.economics.serving.compute import attention_flops
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.errors import UsageError
from jeton.findings import Basis

PRICE = find_price("usd:2.50/10")


def test_the_table_follows_the_bill() -> None:
    bill = waterfall(
        requests_per_month=3_000_000,
        bytes_per_request=4_000,
        tokens_per_byte=0.25,
        usd_per_mtok_input=Decimal("2.50"),
        output_tokens_per_request=200,
        usd_per_mtok_output=10,
        usd_per_mtok_cached_input=Decimal("1.25"),
        remedies=[
            Remedy("tokenizer", "tokenizer", token_factor=0.8, usd_once=Decimal(3000)),
            Remedy("cache", "cache", token_factor=0.5, applies_to="cached"),
            Remedy("dedup", "dedup", token_factor=0.9, usd_per_month=Decimal(75)),
        ],
    )
    found = naive_engineered(bill)
    rows = {row.name: row for row in found.rows}
    assert rows["prompt tokens per request"].naive.value == 1000
    assert rows["prompt tokens per request"].engineered.value == 720
    assert rows["of those read from a cache"].engineered.value == 360
    assert rows["prompts per month"].naive.value == 7500
    # 3M x 360 x (2.50 + 1.25) / 1M.
    assert rows["prompts per month"].engineered.value == 4050
    assert rows["output per month"].change == 0
    assert rows["bill per month"].naive.value == bill.naive_usd_per_month == 13_500
    assert rows["bill per month"].engineered.value == bill.engineered_usd_per_month == 10_125
    parts = ("prompts per month", "output per month", "running the remedies")
    for side in ("naive", "engineered"):
        total = sum(Decimal(getattr(rows[name], side).value) for name in parts)
        assert total == getattr(rows["bill per month"], side).value
    assert found.usd_saved_per_month == 3375
    assert found.usd_saved_per_year == 40_500
    assert found.payback_months == pytest.approx(Decimal(3000) / 3375)
    assert found.return_first_year == Decimal(37_500) / 3000
    assert found.basis is Basis.ESTIMATED
    assert rows["prompts per month"].naive.basis is Basis.EXACT
    assert all(row.engineered.formula for row in found.rows)


def test_nothing_saved_pays_nothing_back() -> None:
    workload = {
        "requests_per_month": 10,
        "bytes_per_request": 10,
        "tokens_per_byte": 1,
        "usd_per_mtok_input": 1,
    }
    useless = Remedy("x", "x", token_factor=1, usd_once=Decimal(10))
    found = naive_engineered(waterfall(**workload, remedies=[useless]))
    assert found.payback_months is None
    assert found.return_first_year == -1
    nothing = naive_engineered(waterfall(**workload))  # type: ignore[arg-type]
    assert nothing.payback_months == 0
    assert nothing.return_first_year is None


class TestContext:
    def test_pages(self) -> None:
        found = context_room(
            128_000, tokens_per_char=0.25, reserved_tokens=8_000, tokens_per_document=600
        )
        assert (found.prompt_tokens, found.chars) == (120_000, 480_000)
        assert found.pages == pytest.approx(480_000 / CHARS_PER_PAGE)
        assert found.documents == 200
        assert "267 pages of 1,800" in found.figure.formula

    def test_half_the_tokens_is_twice_the_room(self) -> None:
        one = context_room(8192, tokens_per_char=0.5)
        assert context_room(8192, tokens_per_char=0.25).chars == 2 * one.chars

    def test_bad_input(self) -> None:
        with pytest.raises(UsageError):
            context_room(100, tokens_per_char=0)
        with pytest.raises(UsageError):
            context_room(100, tokens_per_char=0.2, reserved_tokens=101)


class TestLanguages:
    GROUPS = (
        GroupUse("en", 10, 4000, 4000, 1000, n_units=50, usd=PRICE.usd_for(1000)),
        GroupUse("am", 10, 9000, 3000, 4003, n_units=50, usd=PRICE.usd_for(4003)),
    )

    def test_the_premium_of_aligned_text(self) -> None:
        am, en = bill_by_group(self.GROUPS, reference="en")
        assert (am.name, en.name) == ("am", "en")
        assert am.premium == pytest.approx(4.003)
        assert am.is_aligned
        assert en.premium == 1
        assert am.usd == Decimal("0.0100075")
        assert am.usd + en.usd == PRICE.usd_for(5003)
        assert am.share_of_bill == pytest.approx(4003 / 5003)
        assert am.share_of_chars == pytest.approx(3 / 7)
        assert en.usd_per_mchar == Decimal("0.625")

    def test_without_alignment_it_is_per_character(self) -> None:
        groups = [
            GroupUse("a", 1, 10, 10, 5, usd=PRICE.usd_for(5)),
            GroupUse("b", 1, 10, 5, 5, usd=PRICE.usd_for(5)),
        ]
        bills = {bill.name: bill for bill in bill_by_group(groups)}
        assert bills["b"].premium == 2
        assert not bills["b"].is_aligned

    def test_bad_input(self) -> None:
        with pytest.raises(UsageError, match="no group"):
            bill_by_group([])
        with pytest.raises(UsageError, match="given twice"):
            bill_by_group([self.GROUPS[0]] * 2)
        with pytest.raises(UsageError, match="none of"):
            bill_by_group(self.GROUPS, reference="fr")
        with pytest.raises(UsageError, match="negative"):
            bill_by_group([GroupUse("x", 1, 1, 1, -1)])


class TestHalfTheTokens:
    """The bill's linear parts halve with the tokens; attention falls by more than that."""

    LONG = RequestLengths.of([2000, 4000, 16_000])
    SHORT = RequestLengths.of([1000, 2000, 8_000])

    def test_api_bill(self) -> None:
        whole, half = (
            api_cost(
                PRICE, input_tokens=w.prompt_tokens, requests=w.n_requests, requests_per_day=1000
            )
            for w in (self.LONG, self.SHORT)
        )
        assert whole.usd_per_request == 2 * half.usd_per_request
        assert whole.usd_per_month == 2 * (half.usd_per_month or 0)

    def test_reconciled_bill(self) -> None:
        prices = {"m": PRICE}
        whole, half = (
            usage_rows([{"model": "m", "input_tokens": 8 * n, "output_tokens": n}])
            for n in (1_000_000, 500_000)
        )
        reports = [reconcile(r, bill_total=Decimal(0), prices=prices) for r in (whole, half)]
        assert reports[0].usd_explained == 2 * reports[1].usd_explained

    @pytest.mark.parametrize("facts", models(), ids=lambda m: m.name)
    def test_memory_and_flops(self, facts: object) -> None:
        found = next(m for m in models() if m is facts)
        if found.sliding_window_tokens is None:
            assert kv_bytes(found, 8000) == 2 * kv_bytes(found, 4000)
        linear = [prefill_flops(found, n, n_scored_tokens=n).linear for n in (8000, 4000)]
        assert linear[0] == 2 * linear[1]
        attention = [attention_flops(found, n) for n in (8000, 4000)]
        assert attention[0] >= 2 * attention[1] * 0.999
        # A window, and an index that chooses tokens, bound what a query attends.
        if all(pair.window is None and pair.rate == 1 for pair in found.pairs):
            assert attention[0] == pytest.approx(4 * attention[1], rel=1e-3)

    def test_own_gpus(self) -> None:
        llama, h100 = model("llama-3-8b"), gpu("h100")
        whole, half = (own_gpu_cost(llama, h100, w) for w in (self.LONG, self.SHORT))
        # Prefill: the linear part halves, attention (a tenth here) falls to a quarter.
        assert 0.45 < half.prefill_seconds / whole.prefill_seconds < 0.5
        pages = [
            workload_capacity(llama, h100, w).bytes_per_request_mean
            for w in (self.LONG, self.SHORT)
        ]
        assert pages[0] == pytest.approx(2 * pages[1], rel=0.01)
