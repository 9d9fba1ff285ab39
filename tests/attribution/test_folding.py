"""Folding beside its definition, and what it conserves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jeton.attribution import (
    Rule,
    TokenPlaces,
    Units,
    byte_units,
    character_units,
    dropped_score,
    fold_attention,
    fold_attention_batch,
    fold_scores,
    fold_scores_batch,
    folding,
    span_units,
    white_space_words,
    word_units,
)
from jeton.errors import UsageError

RULES: tuple[Rule, ...] = ("sum", "mean", "max", "min", "first", "last")
TEXTS = st.text(alphabet="ab \u3000\xe9\u4e2d\U0001f600", max_size=12)


@st.composite
def drawn_places(draw: st.DrawFn) -> TokenPlaces:
    """Any places: tokens overlap, cut characters, cover nothing, are special, in any order."""
    text = draw(TEXTS)
    n_bytes = len(text.encode())
    n_tokens = draw(st.integers(0, 8))
    edges = draw(
        st.lists(st.tuples(*[st.integers(0, n_bytes)] * 2), min_size=n_tokens, max_size=n_tokens)
    )
    pairs = np.sort(np.array(edges, np.int64).reshape(n_tokens, 2), axis=1)
    special = np.array(
        draw(st.lists(st.booleans(), min_size=n_tokens, max_size=n_tokens)), np.bool_
    )
    words = np.array(draw(st.lists(st.integers(-1, 3), min_size=n_tokens, max_size=n_tokens)))
    return TokenPlaces(text, pairs[:, 0], pairs[:, 1], words.astype(np.int64), special)


@st.composite
def drawn_units(draw: st.DrawFn) -> tuple[TokenPlaces, Units]:
    places = draw(drawn_places())
    special: Any = draw(st.sampled_from(["keep", "drop"]))
    kind = draw(st.sampled_from(["words", "characters", "bytes", "spans"]))
    if kind == "words":
        return places, word_units(places, special=special)
    skip = draw(st.booleans())
    if kind == "spans":
        spans = [span for span in white_space_words(places.text) if draw(st.booleans())]
        return places, span_units(
            places,
            np.array(spans),
            special=special,
            fill_gaps=draw(st.booleans()),
            skip_white_space=skip,
        )
    of = character_units if kind == "characters" else byte_units
    return places, of(places, special=special, skip_white_space=skip)


def scores_for(places: TokenPlaces, *shape: int) -> NDArray[np.float64]:
    """Whole numbers, so that sums of whole tokens are exact."""
    rng = np.random.default_rng(len(places))
    return rng.integers(-50, 50, (*shape, len(places))).astype(np.float64)


def shares(units: Units) -> NDArray[np.float64]:
    """As a matrix, (n_tokens, n_units)."""
    matrix = np.zeros((units.n_tokens, len(units)))
    np.add.at(matrix, (units.pair_tokens, units.pair_units), units.pair_shares)
    return matrix


@given(drawn_places(), st.booleans())
def test_shares_are_those_of_the_definition(places: TokenPlaces, skip: bool) -> None:
    data = places.text.encode()
    white = [char.isspace() for char in places.text for _ in char.encode()]
    units = byte_units(places, special="drop", skip_white_space=skip)
    expected = np.zeros((len(places), len(data)))
    for token in range(len(places)):
        if places.is_special[token] or not data:
            continue
        start, end = int(places.starts_bytes[token]), int(places.ends_bytes[token])
        covered = list(range(start, end))
        visible = [byte for byte in covered if not (skip and white[byte])] or covered
        if not covered:
            visible = [min(start, len(data) - 1)]
        for byte in visible:
            expected[token, byte] += 1 / len(visible)
    np.testing.assert_allclose(shares(units), expected, rtol=1e-12)


@given(drawn_units())
def test_sums_conserve(drawn: tuple[TokenPlaces, Units]) -> None:
    places, units = drawn
    scores = scores_for(places, 2, 3)
    folded = fold_scores(scores, units)
    assert folded.shape == (2, 3, len(units))
    total = folded.sum(axis=-1) + dropped_score(scores, units)
    np.testing.assert_allclose(total, scores.sum(axis=-1), rtol=1e-12, atol=1e-9)
    if units.kind == "words" and not units.dropped_shares.any():
        assert (folded.sum(axis=-1) == scores.sum(axis=-1)).all()


@given(drawn_places(), st.booleans())
def test_onto_bytes_and_from_there_is_at_once(places: TokenPlaces, skip: bool) -> None:
    assume(places.text)
    # What covers nothing goes to the unit at its place, which depends on the units.
    nothing = places.starts_bytes == places.ends_bytes
    places = replace(places, is_special=places.is_special | nothing)
    scores = scores_for(places)
    by_byte = fold_scores(scores, byte_units(places, special="drop", skip_white_space=skip))
    # Bytes as tokens of their own, without any white space left out.
    edges = np.arange(len(places.text.encode()) + 1)
    again = replace(
        places,
        starts_bytes=edges[:-1],
        ends_bytes=edges[1:],
        word_ids=None,
        is_special=np.zeros(len(edges) - 1, np.bool_),
    )
    spans = white_space_words(places.text)
    for direct, chained in (
        (
            character_units(places, special="drop", skip_white_space=skip),
            character_units(again),
        ),
        (
            span_units(places, spans, special="drop", skip_white_space=skip),
            span_units(again, spans),
        ),
    ):
        np.testing.assert_allclose(
            fold_scores(scores, direct), fold_scores(by_byte, chained), rtol=1e-9, atol=1e-9
        )


@given(drawn_units(), st.sampled_from(RULES))
def test_rules_are_their_definitions(drawn: tuple[TokenPlaces, Units], how: Rule) -> None:
    places, units = drawn
    scores = scores_for(places)
    matrix = shares(units)
    folded = fold_scores(scores, units, how=how, empty=-1000.0)
    for unit in range(len(units)):
        own = np.flatnonzero(matrix[:, unit])
        weights = matrix[own, unit]
        if len(own) == 0:
            assert folded[unit] == (0 if how == "sum" else -1000)
            continue
        expected = {
            "sum": weights @ scores[own],
            "mean": np.average(scores[own], weights=weights),
            "max": scores[own].max(),
            "min": scores[own].min(),
            "first": scores[own[0]],
            "last": scores[own[-1]],
        }[how]
        assert math.isclose(folded[unit], expected, rel_tol=1e-9, abs_tol=1e-9)


@given(drawn_units())
def test_special_tokens_stand_where_they_stood(drawn: tuple[TokenPlaces, Units]) -> None:
    places, units = drawn
    specials = np.flatnonzero(units.is_special)
    owners = {int(u): int(t) for t, u in zip(units.pair_tokens, units.pair_units, strict=True)}
    tokens = [owners[int(unit)] for unit in specials]
    if len(specials):
        assert tokens == np.flatnonzero(places.is_special).tolist()
    first = [
        int(units.pair_tokens[units.pair_units == unit].min(initial=len(places)))
        for unit in range(len(units))
    ]
    for unit, token in zip(specials.tolist(), tokens, strict=True):
        # No unit before it has tokens only after it.
        assert all(first[other] <= token or first[other] == len(places) for other in range(unit))


def attention_for(n_queries: int, n_keys: int, *shape: int) -> NDArray[np.float64]:
    """Rows that sum to 1."""
    attention = np.random.default_rng(n_queries).random((*shape, n_queries, n_keys)) + 0.01
    attention /= attention.sum(axis=-1, keepdims=True)
    return attention


@given(drawn_units())
def test_rows_of_attention_still_sum_to_one(drawn: tuple[TokenPlaces, Units]) -> None:
    places, units = drawn
    assume(len(places))
    attention = attention_for(len(places), len(places), 2)
    folded = fold_attention(attention, units)
    assert folded.shape == (2, len(units), len(units))
    has_tokens = units.n_tokens_of_unit > 0
    rows = folded[:, has_tokens].sum(axis=-1)
    if not units.dropped_shares.any():
        np.testing.assert_allclose(rows, 1, rtol=1e-9)
    else:
        assert (rows < 1 + 1e-9).all()
    again = fold_attention(attention, units, renormalize=True)[:, has_tokens]
    np.testing.assert_allclose(again.sum(axis=-1), 1, rtol=1e-9)
    # In matrices: the queries' mean of the keys' sums.
    matrix = shares(units)[:, has_tokens]
    expected = (matrix / matrix.sum(axis=0)).T @ attention @ shares(units)
    np.testing.assert_allclose(folded[:, has_tokens], expected, rtol=1e-9, atol=1e-12)


@given(drawn_units(), drawn_units())
def test_cross_attention(
    first: tuple[TokenPlaces, Units], second: tuple[TokenPlaces, Units]
) -> None:
    (of_queries, query_units), (of_keys, key_units) = first, second
    attention = attention_for(len(of_queries), max(len(of_keys), 1))[:, : len(of_keys)]
    folded = fold_attention(attention, query_units, key_units=key_units, queries="sum", keys="sum")
    expected = shares(query_units).T @ attention @ shares(key_units)
    np.testing.assert_allclose(folded, expected, rtol=1e-9, atol=1e-12)


def simple(text: str, *pieces: str, special_around: bool = False) -> TokenPlaces:
    """Tokens that are consecutive pieces of a text, each word its own."""
    edges = np.cumsum([0, *(len(piece.encode()) for piece in pieces)]).astype(np.int64)
    starts, ends, words = edges[:-1], edges[1:], np.arange(len(pieces))
    special = np.zeros(len(pieces), np.bool_)
    if special_around:
        starts, ends = np.r_[0, starts, edges[-1]], np.r_[0, ends, edges[-1]]
        words, special = np.r_[-1, words, -1], np.r_[True, special, True]
    return TokenPlaces(text, starts, ends, words, special)


def test_worked_example() -> None:
    places = simple("the cat", "the", " c", "at", special_around=True)
    words = span_units(places, white_space_words("the cat"))
    assert words.labels == ["", "the", "cat", ""]
    scores = np.array([9.0, 1, 2, 3, 8])
    assert fold_scores(scores, words).tolist() == [9, 1, 5, 8]
    assert fold_scores(scores, words, how="mean").tolist() == [9, 1, 2.5, 8]
    dropped = span_units(places, white_space_words("the cat"), special="drop")
    assert fold_scores(scores, dropped).tolist() == [1, 5]
    assert dropped_score(scores, dropped) == 17
    by_character = fold_scores(scores, character_units(places, special="drop"))
    assert by_character.tolist() == [1 / 3, 1 / 3, 1 / 3, 1, 1, 1.5, 1.5]


def test_many_heads_are_folded_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    units = span_units(simple("ab cd", "a", "b", " cd"), [(0, 2), (3, 5)])
    attention = attention_for(3, 3, 4, 5)
    whole = fold_attention(attention, units, renormalize=True)
    monkeypatch.setattr(folding, "_BLOCK_NUMBERS", 50)
    assert (fold_attention(attention, units, renormalize=True) == whole).all()
    assert fold_attention(np.ones((0, 3, 3)), units).shape == (0, 2, 2)


def test_types() -> None:
    units = word_units(simple("ab", "a", "b"))
    for given_type, expected in (
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.float64),
        (np.bool_, np.float64),
    ):
        assert fold_scores(np.ones(2, given_type), units).dtype == expected
        assert fold_attention(np.ones((2, 2), given_type), units).dtype == expected
    # int8 does not overflow, float16 does not lose what float64 has.
    assert (
        fold_scores(np.array([127, 127], np.int8), span_units(simple("ab", "a", "b"), [(0, 2)]))[0]
        == 254
    )


def test_given_arrays_stay_as_they_are() -> None:
    units = word_units(simple("ab", "a", "b"))
    scores, attention = np.array([1.0, 2.0]), np.array([[0.5, 0.5], [0.1, 0.9]])
    copies = scores.copy(), attention.copy()
    fold_scores(scores, units, how="mean")[0] = 7
    fold_attention(attention, units, renormalize=True)[0, 0] = 7
    assert (scores == copies[0]).all()
    assert (attention == copies[1]).all()


@pytest.mark.parametrize("side", ["right", "left"])
def test_batches(side: Any) -> None:
    texts = [simple("ab cd", "ab", " cd"), simple("a", "a"), simple("", special_around=True)]
    units = [word_units(places) for places in texts]
    length, rng = 4, np.random.default_rng(5)
    scores = np.full((3, 2, length), np.nan)
    attention = np.full((3, 2, length, length), np.nan)
    for row, places in enumerate(texts):
        n = len(places)
        kept = slice(length - n, None) if side == "left" else slice(0, n)
        scores[row, :, kept] = rng.random((2, n))
        attention[row, :, kept, kept] = attention_for(n, n, 2)
    folded = fold_scores_batch(scores, units, padding_side=side)
    between = fold_attention_batch(attention, units, padding_side=side)
    for row, (places, own) in enumerate(zip(texts, units, strict=True)):
        n = len(places)
        kept = slice(length - n, None) if side == "left" else slice(0, n)
        assert (folded[row] == fold_scores(scores[row][:, kept], own)).all()
        assert (between[row] == fold_attention(attention[row][:, kept, kept], own)).all()
    ragged = fold_scores_batch([[1.0, 2.0], [3.0], [4.0, 5.0]], units)
    assert [values.tolist() for values in ragged] == [[1, 2], [3], [4, 5]]


MADE_UP: Any = "made up"
WRONG_CALLS: dict[str, tuple[Any, str]] = {
    "length": (
        lambda u: fold_scores([1.0], u),
        r"scores have shape \(1,\); expected \(\.\.\., 2\)",
    ),
    "scalar": (lambda u: fold_scores(1.0, u), r"scores have shape \(\)"),
    "type": (lambda u: fold_scores(["a", "b"], u), "scores have type <U1; expected real numbers"),
    "complex": (lambda u: fold_scores([1j, 1j], u), "expected real numbers"),
    "ragged": (lambda u: fold_scores([[1.0], [1.0, 2.0]], u), "scores have no shape"),
    "rule": (lambda u: fold_scores([1.0, 2.0], u, how=MADE_UP), "rule is 'made up'; expected one"),
    "dropped": (lambda u: dropped_score([1.0], u), r"expected \(\.\.\., 2\)"),
    "square": (lambda u: fold_attention(np.ones((2, 3)), u), r"expected \(\.\.\., 2, 2\)"),
    "vector": (lambda u: fold_attention(np.ones(2), u), r"attention has shape \(2,\)"),
    "texts": (lambda u: fold_scores_batch(np.ones((2, 2)), [u]), "2 arrays for the units of 1"),
    "room": (lambda u: fold_scores_batch(np.ones((1, 1)), [u]), "text 0 has 2 tokens"),
    "unequal axes": (
        lambda u: fold_attention_batch(np.ones((1, 2, 3)), [u]),
        "as many queries as keys",
    ),
    "side": (
        lambda u: fold_scores_batch(np.ones((1, 2)), [u], padding_side=MADE_UP),
        "padding_side is 'made up'",
    ),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls_say_what_is_wrong(name: str) -> None:
    call, message = WRONG_CALLS[name]
    units = word_units(simple("ab", "a", "b"))
    with pytest.raises(UsageError, match=message):
        call(units)
