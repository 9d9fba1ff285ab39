"""Weights: exact whole numbers, names that match, balance by temperature."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus import InputFile
from jeton.corpus.weights import (
    balanced_weights,
    integer_weights,
    parse_weights,
    weight_of_file,
)
from jeton.errors import UsageError


def test_weights_are_read_as_people_write_them() -> None:
    found = parse_weights(["medical=2.5", "a=b=1/3", "web=2", "none=0"])
    assert found == {
        "medical": Fraction(5, 2),
        "a=b": Fraction(1, 3),
        "web": Fraction(2),
        "none": Fraction(0),
    }


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["medical"], "NAME=WEIGHT"),
        (["=2"], "NAME=WEIGHT"),
        (["a=two"], "NAME=WEIGHT"),
        (["a=1/0"], "NAME=WEIGHT"),
        (["a=-1"], "expected 0 to 1,000,000"),
        (["a=1e9"], "expected 0 to 1,000,000"),
        (["a=1", "a=2"], "two weights"),
    ],
)
def test_what_is_no_weight_is_refused(items: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_weights(items)


def test_names_are_paths_stems_folders_and_globs() -> None:
    file = InputFile("logs/support/2026-11.jsonl.zst", "jsonl")
    for name in ("logs/support/2026-11.jsonl.zst", "2026-11", "support", "logs/*", "supp*"):
        assert weight_of_file(file, {name: Fraction(3)}) == ((name,), Fraction(3))
    assert weight_of_file(file, {"logs": Fraction(3)}) == ((), Fraction(1))
    assert weight_of_file(file, {"support": Fraction(3), "logs/*": Fraction(3)})[1] == 3
    with pytest.raises(UsageError, match="two weights: 3 as 'support', 2 as"):
        weight_of_file(file, {"support": Fraction(3), "logs/*": Fraction(2)})


@given(
    st.dictionaries(
        st.text(max_size=3), st.fractions(0, 50, max_denominator=40), min_size=1, max_size=5
    )
)
def test_whole_numbers_keep_ratios_exactly(weights: dict[str, Fraction]) -> None:
    if not any(weights.values()):
        with pytest.raises(UsageError, match="all weights are 0"):
            integer_weights(weights)
        return
    whole, unit = integer_weights({**weights, "one": Fraction(1)})
    assert whole["one"] == unit
    for name, weight in weights.items():
        if name != "one":
            assert Fraction(whole[name], unit) == weight
    assert math.gcd(unit, *whole.values()) == 1


def test_weights_too_fine_are_refused() -> None:
    primes = [999_983, 999_979, 999_961]
    with pytest.raises(UsageError, match="too fine"):
        integer_weights({str(p): Fraction(1, p) for p in primes})


def test_balance_by_temperature() -> None:
    sizes = {"en": 1_000_000, "de": 250_000, "sw": 10_000, "none": 0}
    assert set(balanced_weights(sizes, temperature=1).values()) == {Fraction(1)}
    half = balanced_weights(sizes, temperature=2)
    assert half == {"en": 1, "de": 2, "sw": 10, "none": 1}
    alike = balanced_weights(sizes, temperature=math.inf)
    assert alike == {"en": 1, "de": 4, "sw": 100, "none": 1}
    third = balanced_weights(sizes, temperature=3)
    # 100 ** (2 / 3) is 21.5443...
    assert third["sw"] == Fraction(21_544, 1000)
    assert balanced_weights({}, temperature=2) == {}
    with pytest.raises(UsageError, match="at least 1"):
        balanced_weights(sizes, temperature=0.5)
    with pytest.raises(UsageError, match="too small"):
        balanced_weights({"a": 10**12, "b": 1}, temperature=math.inf)
