"""The arithmetic of the decomposition: exact sums on any counts, and cases worked by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.errors import UsageError
from jeton.metrics.decomposition import DOMAIN_MIX, LANGUAGE_MIX, LENGTH, DocumentGroup, decompose

RATES = st.dictionaries(
    st.sampled_from(["wording", "white_space", "case"]),
    st.fractions(-3, 9, max_denominator=50),
    min_size=1,
)
GROUPS = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")),
    st.builds(
        DocumentGroup, st.integers(1, 10**9), st.fractions(0, 10**6, max_denominator=99), RATES
    ),
    min_size=1,
    max_size=7,
)


def mean(groups: dict[tuple[str, str], DocumentGroup]) -> Fraction:
    total = sum(group.weight for group in groups.values())
    return sum((g.weight * g.value for g in groups.values()), Fraction(0)) / total


@given(GROUPS, GROUPS)
def test_parts_add_up_exactly_and_do_not_prefer_a_side(
    before: dict[tuple[str, str], DocumentGroup], after: dict[tuple[str, str], DocumentGroup]
) -> None:
    result = decompose(before, after)
    assert (result.before, result.after) == (mean(before), mean(after))
    assert sum(result.parts.values()) == mean(after) - mean(before)
    back = decompose(after, before)
    for name, value in result.parts.items():
        assert abs(back.parts[name] + value) < Fraction(1, 2**150)


def group(weight: int, length: int, **rates: int) -> DocumentGroup:
    return DocumentGroup(
        weight, Fraction(length), {name: Fraction(rate) for name, rate in rates.items()}
    )


def test_by_hand() -> None:
    before = {("a", "x"): group(1, 10, wording=2), ("b", "x"): group(1, 4, wording=5)}
    # Means 20 and 20: neither the mix of domains nor anything else moves it by weights alone.
    only_mix = {("a", "x"): group(3, 10, wording=2), ("b", "x"): group(1, 4, wording=5)}
    assert not any(decompose(before, only_mix).parts.values())
    # Length 10 -> 14 at rate 2 -> 3: length 4 x 2.5 = 10, rate 1 x 12 = 12; half of the documents.
    moved = {("a", "x"): group(1, 14, wording=3), ("b", "x"): group(1, 4, wording=5)}
    parts = decompose(before, moved).parts
    assert {name: value for name, value in parts.items() if value} == {LENGTH: 5, "wording": 6}


def test_mixes_by_hand() -> None:
    before = {("a", "x"): group(1, 1, wording=10), ("a", "y"): group(1, 1, wording=30)}
    after = {("a", "x"): group(1, 1, wording=10), ("a", "y"): group(3, 1, wording=30)}
    parts = decompose(before, after).parts
    assert {name: value for name, value in parts.items() if value} == {LANGUAGE_MIX: 5}
    as_domains = [
        {(language, ""): g for (_, language), g in side.items()} for side in (before, after)
    ]
    parts = decompose(*as_domains).parts
    assert {name: value for name, value in parts.items() if value} == {DOMAIN_MIX: 5}
    new = {**before, ("b", "x"): group(2, 1, wording=100)}
    result = decompose(before, new)
    assert {name: value for name, value in result.parts.items() if value} == {DOMAIN_MIX: 40}
    assert result.contributions[0].domain == "b"


def test_nothing_is_refused() -> None:
    one = {("a", "x"): group(1, 1, wording=1)}
    with pytest.raises(UsageError):
        decompose({}, one)
    with pytest.raises(UsageError):
        decompose(one, {("a", "x"): group(0, 1, wording=1)})
