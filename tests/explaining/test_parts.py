"""Canonical forms compared and exchanged part by part."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.explaining.parts import (
    MISSING,
    canonical_tree,
    children,
    differing_parts,
    get,
    path_name,
    replace,
    tokenizer_of,
)
from tests.formats import small

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)


@given(a=JSON, b=JSON)
def test_equal_trees_have_no_differing_parts_and_others_have(a: Any, b: Any) -> None:
    # True == 1 in Python; in JSON it is not, but no key of the form can be either.
    assert bool(differing_parts(a, b)) == (a != b)
    assert differing_parts(a, a) == []


@given(
    a=st.dictionaries(st.sampled_from("abcd"), JSON),
    b=st.dictionaries(st.sampled_from("abcd"), JSON),
)
def test_exchanging_every_differing_part_gives_the_other(a: Any, b: Any) -> None:
    before = json.dumps(a)
    tree = a
    for key, _, theirs in children(a, b):
        tree = replace(tree, (key,), theirs)
    assert tree == b
    assert json.dumps(a) == before


def test_places_have_names() -> None:
    a = {"steps": [{"pattern": "x", "invert": False}], "model": {"type": "m", "n": 1, "only": 2}}
    b = {"steps": [{"pattern": "y", "invert": False}], "model": {"type": "m", "n": 3}}
    parts = {part.path: (part.a, part.b) for part in differing_parts(a, b)}
    assert parts == {
        "steps[0].pattern": ("x", "y"),
        "model.n": ("1", "3"),
        "model.only": ("2", "absent"),
    }
    assert get(b, ("model", "only")) is MISSING
    assert get(b, ("steps", 3, "x")) is MISSING
    assert replace(a, ("model", "only"), MISSING) == {**a, "model": {"type": "m", "n": 1}}
    assert path_name(("a", 0, "b", "c")) == "a[0].b.c"


def test_objects_of_different_kinds_are_compared_as_a_whole() -> None:
    a, b = {"model": {"type": "x", "n": 1}}, {"model": {"type": "y", "n": 2}}
    assert [part.path for part in differing_parts(a, b)] == ["model"]


@pytest.mark.parametrize("n_same", [0, 500])
def test_long_values_are_shown_where_they_part(n_same: int) -> None:
    (part,) = differing_parts({"p": "=" * n_same + "left"}, {"p": "=" * n_same + "right"})
    assert part.a.endswith("left")
    assert part.b.endswith("right")
    assert len(part.a) < 120


def test_tables_are_counted() -> None:
    a = list(range(1000))
    b = [*a[:500], -1, *a[501:]]
    (part,) = differing_parts({"t": a}, {"t": b})
    assert part.b == "1,000 entries, 1 of them different"
    (part,) = differing_parts({"t": None}, {"t": a})
    assert (part.a, part.b) == ("none", "1,000 entries")


def test_a_tree_is_the_tokenizer() -> None:
    tokenizer = small.tokenizer()
    assert tokenizer_of(canonical_tree(tokenizer)).fingerprint == tokenizer.fingerprint
