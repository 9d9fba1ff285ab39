"""The bill as a product of factors, and remedies that act one after another."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.economics import Ledger, Remedy, Waterfall, waterfall
from jeton.economics.ledger import LedgerBuilder, usage_rows
from jeton.economics.remedies import Effect
from jeton.economics.waterfall import waterfall_of_ledger
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

WORKLOAD: dict[str, Any] = {
    "requests_per_month": 3_000_000,
    "bytes_per_request": 4_000,
    "tokens_per_byte": 0.25,
    "usd_per_mtok_input": Decimal("2.50"),
    "output_tokens_per_request": 200,
    "usd_per_mtok_output": Decimal(10),
}


def test_factors_multiply_to_the_bill() -> None:
    # 3M x 1,000 tokens = 3,000 Mtok at $2.50, and 600 Mtok at $10.
    found = waterfall(**WORKLOAD)
    assert found.input_usd_per_month == Decimal(7500)
    assert found.output_usd_per_month == Decimal(6000)
    assert found.naive_usd_per_month == found.engineered_usd_per_month == Decimal(13500)
    assert found.steps == ()
    assert [factor.name for factor in found.factors] == list(WORKLOAD)
    assert found.basis is Basis.EXACT


def test_remedies_act_on_what_the_former_left() -> None:
    found = waterfall(
        **WORKLOAD,
        usd_per_mtok_cached_input=Decimal("1.25"),
        remedies=[
            Remedy("tokenizer", "better tokenizer", token_factor=0.8),
            Remedy("cache", "cached prefix", token_factor=0.5, applies_to="cached"),
            Remedy("short", "shorter answers", token_factor=0.5, applies_to="output"),
            Remedy("batch", "batch tariff", cost_factor=0.5, applies_to="all"),
        ],
    )
    # 7,500 -> 6,000 (80%); half of 2,400 Mtok at $1.25: 3,000 + 1,500; output 6,000 -> 3,000.
    assert [step.usd_per_month for step in found.steps] == [
        Decimal(12_000),
        Decimal(10_500),
        Decimal(7_500),
        Decimal(3_750),
    ]
    assert [step.delta_usd_per_month for step in found.steps] == [-1500, -1500, -3000, -3750]
    assert found.saving_usd_per_month == Decimal(9750)
    assert "prompt tokens x 0.8" in found.steps[0].formula


def test_a_remedy_that_costs_something_is_charged_for_it() -> None:
    remedy = Remedy(
        "dedup", "dedup", token_factor=0.9, usd_per_month=Decimal(100), usd_once=Decimal(2000)
    )
    found = waterfall(**WORKLOAD, remedies=[remedy])
    assert found.engineered_usd_per_month == Decimal(13500) - 750 + 100
    assert found.usd_once == Decimal(2000)
    assert "$100 per month to run" in found.steps[0].formula


def test_cached_tokens_that_there_are_already() -> None:
    found = waterfall(**WORKLOAD, cached_input_share=0.4, usd_per_mtok_cached_input=Decimal("0.25"))
    # 1,800 Mtok x 2.50 + 1,200 Mtok x 0.25.
    assert found.input_usd_per_month == Decimal(4800)


factor = st.decimals(min_value=0, max_value=2, places=6)


@st.composite
def bills(draw: st.DrawFn) -> tuple[dict[str, Any], list[Remedy]]:
    numbers = {name: draw(st.decimals(min_value=0, max_value=10**6, places=6)) for name in WORKLOAD}
    remedies = [
        Remedy(
            id=str(i),
            name=str(i),
            token_factor=draw(st.decimals(min_value=0, max_value=1, places=5)),
            cost_factor=draw(factor),
            applies_to=draw(st.sampled_from(["input", "output", "cached", "all"])),
            usd_per_month=draw(st.decimals(min_value=0, max_value=1000, places=6)),
        )
        for i in range(draw(st.integers(0, 5)))
    ]
    return {**numbers, "usd_per_mtok_cached_input": draw(factor)}, remedies


def _sum(found: Waterfall) -> Decimal:
    return sum((step.delta_usd_per_month for step in found.steps), found.naive_usd_per_month)


@given(bills())
def test_steps_add_up_exactly(case: tuple[dict[str, Any], list[Remedy]]) -> None:
    numbers, remedies = case
    found = waterfall(**numbers, remedies=remedies)
    assert _sum(found) == found.engineered_usd_per_month
    assert found.input_usd_per_month + found.output_usd_per_month == found.naive_usd_per_month


@given(bills())
def test_half_the_tokens_is_half_the_prompt_part(
    case: tuple[dict[str, Any], list[Remedy]],
) -> None:
    numbers, _ = case
    whole = waterfall(**numbers)
    half = waterfall(**{**numbers, "tokens_per_byte": numbers["tokens_per_byte"] / 2})
    assert abs(half.input_usd_per_month * 2 - whole.input_usd_per_month) <= Decimal("0.000003")
    assert half.output_usd_per_month == whole.output_usd_per_month


def test_the_weakest_figure_decides_the_basis() -> None:
    share = Figure(0.25, "tokens per byte", Basis.CALIBRATED, "measured", "usage records")
    remedies = [
        Remedy("a", "a", token_factor=0.5, basis=Basis.EXACT),
        Remedy("b", "b", token_factor=0.5, basis=Basis.ESTIMATED),
    ]
    found = waterfall(**{**WORKLOAD, "tokens_per_byte": share}, remedies=remedies)
    assert [step.basis for step in found.steps] == [Basis.CALIBRATED, Basis.ESTIMATED]
    assert found.basis is Basis.ESTIMATED
    assert found.factors[2].value.source == "usage records"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"requests_per_month": -1}, "requests_per_month is -1"),
        ({"tokens_per_byte": float("nan")}, "tokens_per_byte is NaN"),
        ({"usd_per_mtok_input": Decimal("Infinity")}, "usd_per_mtok_input is Infinity"),
        ({"cached_input_share": 0.5}, "rate is not known"),
        ({"cached_input_share": 1.5, "usd_per_mtok_cached_input": 1}, "expected at most 1"),
        ({"remedies": [Remedy("a", "a"), Remedy("a", "b")]}, "given twice"),
        ({"remedies": [Remedy("a", "a", usd_once=Decimal("NaN"))]}, "usd_once of NaN"),
        ({"remedies": [Remedy("a", "a", usd_per_month=Decimal(-1))]}, "usd_per_month of -1"),
        ({"remedies": [Remedy("a", "a", token_factor=-0.1)]}, "token_factor of -0.1"),
        ({"remedies": [Remedy("a", "a", applies_to="cached")]}, "rate is not known"),
        ({"remedies": [Remedy("a", "a", applies_to="x")]}, "applies to 'x'"),  # type: ignore[arg-type]
        (
            {
                "usd_per_mtok_cached_input": 1,
                "remedies": [Remedy("a", "a", token_factor=1.5, applies_to="cached")],
            },
            "expected at most 1",
        ),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        waterfall(**{**WORKLOAD, **change})


def _two_models() -> Ledger:
    """Three requests of one model and one of another, a thousand prompt tokens each."""
    builder = LedgerBuilder(on=date(2026, 11, 3))
    base = {"input_tokens": 1000, "output_tokens": 10, "time_s": 1_793_707_200.0}
    models = ["claude-sonnet-4-5"] * 3 + ["gpt-4o-mini"]
    builder.add(usage_rows([{"model": model, **base} for model in models]))
    return builder.build()


def test_a_remedy_for_one_model_leaves_the_requests_of_others() -> None:
    effect = Effect("gpt-4o-mini", request_factor=Decimal("0.5"))
    remedy = Remedy("fewer", "fewer", applies_to="requests", effects=(effect,))
    found = waterfall_of_ledger(_two_models(), [remedy])
    assert found is not None
    assert found.request_factor == Decimal(7) / 8  # half of the fourth request
    assert found.naive_usd_per_month > found.engineered_usd_per_month > 0


def test_a_cache_with_writes_keeps_every_prompt_token() -> None:
    """Read at a tenth, written at five quarters, the rest at the full rate: the sum by hand."""
    effect = Effect(
        "claude-sonnet-4-5",
        read_share=Decimal("0.6"),
        read_rate=Decimal("0.1"),
        write_share=Decimal("0.2"),
        write_rate=Decimal("1.25"),
    )
    ledger = _two_models()
    found = waterfall_of_ledger(ledger, [Remedy("cache", "cache", effects=(effect,))])
    assert found is not None
    (use,) = (use for use in ledger.by_model if use.logged_as == "claude-sonnet-4-5")
    (prompt,) = (part.usd for part in use.dimensions if part.name == "input_tokens")
    share = prompt / ledger.usd
    left = Decimal("0.6") * Decimal("0.1") + Decimal("0.2") * Decimal("1.25") + Decimal("0.2")
    expected = found.naive_usd_per_month * (1 - share * (1 - left))
    assert abs(found.engineered_usd_per_month - expected) < Decimal("0.00001")
    # Half the price of what is read: written tokens keep theirs.
    half = Effect(effect.model, cost_factor=Decimal("0.5"))
    cheaper = Remedy("rate", "rate", applies_to="cached", effects=(half,))
    both = waterfall_of_ledger(ledger, [Remedy("cache", "cache", effects=(effect,)), cheaper])
    assert both is not None
    saved = found.engineered_usd_per_month - both.engineered_usd_per_month
    read = found.naive_usd_per_month * share * Decimal("0.6") * Decimal("0.1")
    assert abs(saved - read / 2) < Decimal("0.00001")
