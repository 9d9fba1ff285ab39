"""Rényi efficiency and Gini against their definitions, other implementations and worked
examples."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.errors import UsageError
from jeton.metrics import gini, renyi_efficiency, renyi_entropy_bits
from jeton.metrics.renyi import RENYI_ALPHA, SCORER_POWER

COUNTS = [7, 5, 3, 2, 1, 1, 1]

SCORED = (0.7093493378187922, 0.7342679737656799, 0.3102642127373079, 0.8624230069073924)
"""tokenization-scorer 1.1.8 (2026-11-21) on "a a a a a a a b b b b b c c c d d e f g": metric
renyi with power 3.0, with 2.5, with 2.5 and vocab 100; shannon_efficiency."""

counts = st.lists(st.integers(0, 10**6), min_size=1, max_size=40)


def test_figures_of_tokenization_scorer() -> None:
    assert renyi_efficiency(COUNTS, alpha=SCORER_POWER).value == pytest.approx(SCORED[0], rel=1e-12)
    assert renyi_efficiency(COUNTS, alpha=2.5).value == pytest.approx(SCORED[1], rel=1e-12)
    full = renyi_efficiency(COUNTS, alpha=RENYI_ALPHA, vocab_size=100)
    assert full.value == pytest.approx(SCORED[2], rel=1e-12)
    assert (full.convention, full.n_ids) == ("full vocabulary", 100)
    assert renyi_efficiency(COUNTS, alpha=1).value == pytest.approx(SCORED[3], rel=1e-12)


@given(values=counts, alpha=st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 50.0, math.inf]))
def test_entropy_is_its_definition(values: list[int], alpha: float) -> None:
    seen = [n for n in values if n]
    found = renyi_entropy_bits(values, alpha=alpha)
    if not seen:
        assert found == 0
        return
    shares = [n / sum(seen) for n in seen]
    if alpha == 1:
        expected = -sum(p * math.log2(p) for p in shares)
    elif alpha == math.inf:
        expected = -math.log2(max(shares))
    else:
        expected = math.log2(math.fsum(p**alpha for p in shares)) / (1 - alpha)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert 0 <= found <= math.log2(len(seen)) + 1e-9


@given(values=counts)
def test_entropy_falls_with_its_order(values: list[int]) -> None:
    bits = [renyi_entropy_bits(values, alpha=a) for a in (0, 0.5, 1, 2, 2.5, 3, 10, math.inf)]
    assert all(one >= other - 1e-9 for one, other in itertools.pairwise(bits))


def test_even_use_is_full_efficiency() -> None:
    even = renyi_efficiency(np.full(1024, 3, dtype=np.uint64))
    assert (even.value, even.entropy_bits, even.convention) == (1.0, 10.0, "observed types")
    assert renyi_efficiency([5]).value == 0
    assert renyi_efficiency([], vocab_size=10).value == 0


def test_renyi_bad_input() -> None:
    with pytest.raises(UsageError, match=r"alpha is -1; expected at least 0"):
        renyi_entropy_bits([1], alpha=-1)
    with pytest.raises(UsageError, match=r"a count is -2"):
        renyi_entropy_bits([1, -2])
    with pytest.raises(UsageError, match=r"vocab_size is 1; 2 different ids"):
        renyi_efficiency([1, 1], vocab_size=1)


@given(values=st.lists(st.floats(0, 1e9), min_size=1, max_size=25))
def test_gini_is_its_definition(values: list[float]) -> None:
    found = gini(values)
    total = sum(values)
    if total > 1e-200:
        n = len(values)
        pairs = sum(abs(a - b) for a in values for b in values)
        assert found == pytest.approx(pairs / (2 * n * total), abs=1e-9)
    assert 0 <= found < 1


def test_gini_examples() -> None:
    assert gini([1, 1, 1, 1]) == 0
    assert gini([0, 0, 0, 1]) == 0.75
    assert gini([1, 2, 3, 4]) == 0.25
    assert gini([]) == gini([0, 0]) == 0
    for bad in ([-1, 2], [math.nan], [math.inf]):
        with pytest.raises(UsageError, match="finite values of 0 or more"):
            gini(bad)
