"""The three levels: whatever changes, the parts add up, and sides merge in any order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton._core import TextBatch
from jeton.auditing.gate import BilledSide, explain
from jeton.auditing.gate.causes import CAUSES, shares_of
from jeton.auditing.gate.levels import FIGURES, PERIODS, figure_of
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.shared_text import Beginnings
from jeton.auditing.gate.side import PRICED_KINDS, GatePriceCell, GatePriceKey
from jeton.auditing.gate.statistics import BlockSums, Statistics
from jeton.economics.billed import INPUT_PARTS, KINDS, BilledTable, ModelBilled

COUNT = st.integers(0, 500)


@st.composite
def sums(draw: Any, n: int) -> BlockSums:
    """Sums of blocks or documents; each rewriting leaves at most what the last one left."""
    lists = [sorted(draw(st.lists(COUNT, min_size=len(STEPS) + 1, max_size=len(STEPS) + 1)))[::-1]
             for _ in range(3)]  # fmt: skip
    return BlockSums(n, lists[0], lists[1], lists[2])


@st.composite
def sides(draw: Any) -> BilledSide:
    text = Statistics()
    for domain in draw(st.sampled_from([["a"], ["a", "b"], ["b", "c"]])):
        whole = BlockSums(draw(st.integers(1, 9)))
        for part in draw(st.lists(st.sampled_from(INPUT_PARTS[:-1]), unique=True, min_size=1)):
            for language in draw(st.sampled_from([["english"], ["english", "greek"]])):
                cell = draw(sums(draw(st.integers(1, 9))))
                text.cells[domain, part, language] = cell
                n = whole.n
                whole.add(cell)
                whole.n = n
        extra = draw(st.integers(1, 50))
        whole.n_tokens = [n + extra for n in whole.n_tokens]
        whole.n_bytes = [n + extra for n in whole.n_bytes]
        text.wholes[domain] = whole
    tokens = np.array(
        draw(st.lists(COUNT, min_size=21, max_size=21)), np.int64
    ).reshape(len(INPUT_PARTS), len(KINDS))  # fmt: skip
    tokens[-1, 0] += 1
    output = np.array(draw(st.lists(COUNT, min_size=2, max_size=2)), np.int64)
    billed = BilledTable({"m": ModelBilled(draw(st.integers(1, 9)), 1, 1, tokens, output)})
    prices = {}
    for model in draw(st.sampled_from(["xy", "x", "yz"])):
        for tariff in draw(st.sampled_from([["standard"], ["standard", "batch"], ["batch"]])):
            amounts = tuple(draw(st.lists(COUNT, min_size=4, max_size=4)))
            usd = tuple(Fraction(n * draw(st.integers(1, 9)), 1000) for n in amounts)
            fees = Fraction(draw(COUNT), 1000)
            prices[GatePriceKey(model, "p", "", tariff)] = GatePriceCell(
                draw(st.integers(1, 9)), (*amounts, 0), (*usd, fees)
            )
    return BilledSide(text, billed, prices)


RATES = (Fraction(3), Fraction(5))


@given(before=sides(), after=sides())
@settings(max_examples=25, deadline=None)
def test_the_effects_add_up_to_every_difference(before: BilledSide, after: BilledSide) -> None:
    for figure in FIGURES:
        found = explain(figure, before, after, requests_per_day=RATES)
        assert found is not None
        assert found.before == figure_of(figure, before, requests_per_day=RATES[0])
        assert sum(e.value for e in found.effects) == found.after - found.before
        assert sum(found.by_part.values()) == found.after - found.before
        assert all(e.value and e.cause in CAUSES for e in found.effects)
        shares = shares_of([e.value for e in found.effects], found.after - found.before)
        assert all(abs(share) <= 1 for share in shares)
        is_money = figure == "usd_per_request" or figure in PERIODS
        rest = [e for e in found.effects if e.cause == "list_price"]
        assert is_money or not rest
    same = explain("usd_per_request", before, before)
    assert same is not None
    assert same.effects == ()


@given(a=sides(), b=sides())
@settings(max_examples=12, deadline=None)
def test_sides_merge_and_are_read_back(a: BilledSide, b: BilledSide) -> None:
    merged = a.merge(b)
    assert merged.to_plain() == b.merge(a).to_plain()
    assert merged.usd == a.usd + b.usd
    assert merged.n_priced == a.n_priced + b.n_priced
    assert figure_of("n_tokens", merged) == sum(figure_of("n_tokens", s) or 0 for s in (a, b))


def test_the_same_rates_are_no_price_whatever_the_tokens() -> None:
    def side(system: int, cached: int, passages: int) -> BilledSide:
        tokens = np.zeros((len(INPUT_PARTS), len(KINDS)), np.int64)
        tokens[1] = (system - cached, 0, cached)
        tokens[3, 0] = passages
        amounts = (system - cached + passages, 0, cached, 10, 0)
        usd = tuple(n * Fraction(r) for n, r in zip(amounts, (10, 0, 1, 40, 0), strict=True))
        assert len(usd) == len(PRICED_KINDS)
        key = GatePriceKey("m", "p", "", "standard")
        billed = BilledTable({"m": ModelBilled(1, 0, 3, tokens, np.array([10, 0]))})
        return BilledSide(billed=billed, prices={key: GatePriceCell(1, amounts, usd)})

    found = explain("usd_per_request", side(100, 80, 50), side(100, 80, 90))
    assert found is not None
    assert found.by_part == {"passages": 400}, "each part costs its own rate"
    lost = explain("usd_per_request", side(100, 80, 50), side(100, 0, 50))
    assert lost is not None
    assert lost.by_part == {"cache": 720}


@pytest.mark.parametrize("n", [0, 1, 5])
def test_the_first_difference_is_found(n: int) -> None:
    tokenizer = jeton.load("jeton-general-32k")
    seen = Beginnings()
    rules = "Answer politely and shortly. " * 5
    seen.add(TextBatch.from_texts([f"{rules}Now: {i}é. {rules}" for i in range(n)]))
    shared, place = seen.shared(tokenizer), seen.divergence(tokenizer)
    if n < 2:
        assert (shared.n_tokens, place) == (0, None)
        return
    assert place is not None
    assert place.before.endswith("Now: ")
    assert place.first[0] != place.second[0]
    assert place.n_tokens == tokenizer.count(f"{rules}Now: ")
    assert shared.mean_tokens == place.n_tokens
