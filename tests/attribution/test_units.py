"""Units of real encodings, and what is refused."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HfTokenizer

import jeton
from jeton import Tokenizer
from jeton._core import from_hf_json
from jeton.attribution import (
    TokenPlaces,
    Units,
    byte_units,
    character_units,
    fold_scores,
    places_from_offsets,
    scored_segments,
    span_units,
    token_places,
    units,
    white_space_words,
    word_units,
)
from jeton.errors import UsageError

TEXT = " Na\xefve caf\xe9s  cost \U0001f469\u200d\U0001f52c 3\xd7 more\n"


@pytest.fixture(scope="module")
def bundled() -> Tokenizer:
    return loaded()


def made(**parts: Any) -> bytes:
    """A small tokenizer.json of words and a template."""
    vocab = {
        token: index for index, token in enumerate(["[UNK]", "[CLS]", "[SEP]", "fi", "x", "ab"])
    }
    file: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocab[name],
                "content": name,
                "special": True,
                **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
            }
            for name in ("[UNK]", "[CLS]", "[SEP]")
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
        "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab},
    }
    return json.dumps({**file, **parts}).encode()


def kinds(places: TokenPlaces) -> list[Units]:
    return [
        word_units(places),
        character_units(places),
        byte_units(places),
        span_units(places, white_space_words(places.text), fill_gaps=True),
    ]


@functools.cache
def loaded() -> Tokenizer:
    return jeton.load("jeton-general-32k")


@given(st.text(max_size=30))
def test_any_text_is_conserved(text: str) -> None:
    tokenizer = loaded()
    places = token_places(tokenizer.encode_with_offsets(text), text)
    scores = np.arange(1.0, len(places) + 1)
    for own in kinds(places):
        assert not own.dropped_shares.any()
        assert np.isclose(fold_scores(scores, own).sum(), scores.sum(), rtol=1e-12)
        if own.kind != "bytes":
            drawn = scored_segments(own, fold_scores(scores, own))
            assert "".join(part.text for part in drawn) == text


def test_bytes_of_one_character_share_it(bundled: Tokenizer) -> None:
    # Five tokens of four bytes or less for one emoji with its joiner and tool.
    text = "\U0001f469\u200d\U0001f52c"
    places = token_places(bundled.encode_with_offsets(text), text)
    inside = [byte & 0xC0 == 0x80 for byte in text.encode()]
    cut = [inside[start] for start in places.starts_bytes.tolist()]
    assert any(cut), "no token cuts a character: the test shows nothing"
    characters = character_units(places)
    assert fold_scores(np.ones(len(places)), characters).sum() == pytest.approx(len(places))
    assert characters.labels == list(text)
    assert byte_units(places).labels == [f"{byte:02X}" for byte in text.encode()]


def test_words_of_white_space_have_all_of_their_tokens(bundled: Tokenizer) -> None:
    places = token_places(bundled.encode_with_offsets(TEXT), TEXT)
    words = span_units(places, white_space_words(TEXT))
    assert words.labels == TEXT.split()
    # Every token with something visible is in a word as a whole: spaces take nothing from it.
    shares = np.bincount(words.pair_tokens, words.pair_shares, len(places))
    for token, share in enumerate(shares):
        piece = TEXT.encode()[places.starts_bytes[token] : places.ends_bytes[token]]
        assert share == pytest.approx(1.0 if piece.decode(errors="replace").strip() else 0.0)
    # Where white space counts, the space in front of a word takes its part.
    counted = span_units(places, white_space_words(TEXT), skip_white_space=False)
    assert counted.dropped_shares.sum() > words.dropped_shares.sum()


def test_template_and_normalized_text() -> None:
    # NFKC makes two letters of the ligature; the token of both comes from the one character.
    tokenizer = from_hf_json(made(normalizer={"type": "NFKC"}))
    text = "\ufb01 x"
    places = token_places(tokenizer.encode_with_offsets(text, add_special_tokens=True), text)
    assert places.is_special.tolist() == [True, False, False, True]
    words = word_units(places)
    assert words.labels == ["", "\ufb01", "x", ""]
    assert words.is_special.tolist() == [True, False, False, True]
    assert (words.starts.tolist(), words.ends.tolist()) == ([0, 0, 2, 3], [0, 1, 3, 3])
    characters = character_units(places, special="drop")
    assert fold_scores([7, 1, 2, 7], characters).tolist() == [1, 0, 2]


def test_tokens_that_share_a_character_overlap() -> None:
    # One token a byte; ByteLevel says of each that it is the whole character.
    vocab = {char: index for index, char in enumerate("\xe4\xb8\u0143")}
    tokenizer = from_hf_json(
        made(
            added_tokens=[],
            pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            post_processor=None,
            model={"type": "BPE", "vocab": vocab, "merges": []},
        )
    )
    encoding = tokenizer.encode_with_offsets("\u4e2d")
    assert encoding.starts.tolist() == [0, 0, 0]
    characters = character_units(token_places(encoding, "\u4e2d"))
    assert fold_scores([1, 2, 3], characters).tolist() == [6]
    assert fold_scores([1, 2, 3], characters, how="max").tolist() == [3]


def test_added_tokens_in_the_text_are_units() -> None:
    tokenizer = from_hf_json(made())
    text = "x [SEP] ab"
    encoding = tokenizer.encode_with_offsets(text, allow_special="all", add_special_tokens=True)
    words = word_units(token_places(encoding, text))
    assert words.labels == ["", "x", "[SEP]", "ab", ""]
    assert words.is_special.tolist() == [True, False, False, False, True]


def test_tokens_that_cover_nothing_go_to_what_follows() -> None:
    places = TokenPlaces(
        "ab cd",
        np.array([0, 0, 3, 3, 5]),
        np.array([0, 2, 3, 5, 5]),
        np.array([0, 0, 1, 1, 2]),
        np.zeros(5, np.bool_),
    )
    spans = span_units(places, white_space_words("ab cd"))
    assert fold_scores([1, 10, 100, 1000, 10000], spans).tolist() == [11, 11100]
    words = word_units(places)
    assert words.labels == ["ab", "cd", ""]
    assert fold_scores([1, 10, 100, 1000, 10000], words).tolist() == [11, 1100, 10000]


@pytest.mark.rivals
def test_places_of_another_library() -> None:
    data = made(normalizer={"type": "NFKC"})
    text = "\ufb01 x  ab zz"
    theirs = HfTokenizer.from_str(data.decode()).encode(text)
    ours = from_hf_json(data).encode_with_offsets(text, add_special_tokens=True)
    scores = np.arange(1.0, len(ours) + 1)
    known = places_from_offsets(text, theirs.offsets, word_ids=theirs.word_ids)
    masked = places_from_offsets(
        text,
        theirs.offsets,
        word_ids=theirs.word_ids,
        special_tokens_mask=theirs.special_tokens_mask,
    )
    bare = places_from_offsets(text, [(0, 0), *theirs.offsets[1:-1], (0, 0)])
    expected = token_places(ours, text)
    for places in (known, masked, bare):
        assert places.is_special.tolist() == expected.is_special.tolist()
        for kind in (character_units, byte_units):
            found, wanted = kind(places, special="drop"), kind(expected, special="drop")
            assert fold_scores(scores, found).tolist() == fold_scores(scores, wanted).tolist()
    assert word_units(known, special="drop").labels == ["\ufb01", "x", "ab", "zz"]
    with pytest.raises(UsageError, match="no word ids"):
        word_units(bare)


def test_offsets_in_bytes() -> None:
    places = places_from_offsets("\xe9a", [(0, 2), (2, 3)], unit="bytes", word_ids=[0, None])
    assert places.is_special.tolist() == [False, True]
    assert character_units(places).labels == ["\xe9", "a", ""]


def test_segments_are_data() -> None:
    places = token_places(
        from_hf_json(made()).encode_with_offsets("x  ab", add_special_tokens=True),
        "x  ab",
    )
    found = scored_segments(
        word_units(places), [1.0, -4.0, np.nan, 2.0], special_labels=["[CLS]", "[SEP]"]
    )
    rows = [(part.text, part.start, part.end, part.score, part.relative) for part in found]
    assert rows == [
        ("[CLS]", 0, 0, 1.0, 0.25),
        ("x", 0, 1, -4.0, -1.0),
        ("  ", 1, 3, None, None),
        ("ab", 3, 5, None, None),
        ("[SEP]", 5, 5, 2.0, 0.5),
    ]
    assert [part.is_special for part in found] == [True, False, False, False, True]
    assert json.loads(json.dumps([part.to_dict() for part in found]))[1]["n_tokens"] == 1
    zero = scored_segments(word_units(places), np.zeros(4))
    assert [part.relative for part in zero] == [0.0, 0.0, None, 0.0, 0.0]


def test_empty_text() -> None:
    places = places_from_offsets("", [])
    for own in (character_units(places), byte_units(places), span_units(places, [])):
        assert fold_scores(np.zeros((2, 0)), own).shape == (2, 0)
        assert own.labels == []
    assert len(white_space_words("")) == len(white_space_words(" \n")) == 0


def test_tokens_that_overlap_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "MAX_PAIRS", 100)
    places = places_from_offsets("a" * 20, [(0, 20)] * 6)
    with pytest.raises(UsageError, match="touch 120 units in all"):
        character_units(places)


AB: TokenPlaces = places_from_offsets("ab", [(0, 1), (1, 2)], word_ids=[0, 1])
WRONG_PLACES: dict[str, tuple[Any, str]] = {
    "shape": (lambda: places_from_offsets("ab", [0, 1]), r"offsets have shape \(2,\)"),
    "type": (lambda: places_from_offsets("ab", [(0.0, 1.0)]), "type float64; expected integers"),
    "beyond": (lambda: places_from_offsets("ab", [(0, 3)]), "token 0 has the place 0 to 3"),
    "backwards": (lambda: places_from_offsets("ab", [(0, 1), (2, 1)]), "token 1 has the place 2"),
    "words": (lambda: places_from_offsets("ab", [(0, 1)], word_ids=[]), "word_ids has shape"),
    "mask": (
        lambda: places_from_offsets("ab", [(0, 1)], special_tokens_mask=[[True]]),
        "special_tokens_mask has shape",
    ),
    "other text": (
        lambda: token_places(jeton.load("jeton-general-32k").encode_with_offsets("abc"), "ab"),
        "expected one in a text of 2 bytes\nhint: give the text",
    ),
    "span order": (lambda: span_units(AB, [(1, 2), (0, 1)]), "span 1 begins at 0, before span 0"),
    "span twice": (lambda: span_units(AB, [(0, 2), (1, 2)]), "expected spans that do not overlap"),
    "span beyond": (lambda: span_units(AB, [(0, 3)]), "span 0 is 0 to 3"),
    "span of nothing": (lambda: span_units(AB, [(1, 1)]), "a range that is not empty"),
    "span shape": (lambda: span_units(AB, np.ones((2, 3), int)), r"spans have shape \(2, 3\)"),
    "special": (lambda: word_units(AB, special="maybe"), "special is 'maybe'"),  # type: ignore[arg-type]
    "bytes drawn": (lambda: scored_segments(byte_units(AB), [1, 2]), "bytes cannot be drawn"),
    "scores": (lambda: scored_segments(word_units(AB), [1]), r"expected \(2,\)"),
}


@pytest.mark.parametrize("name", WRONG_PLACES)
def test_wrong_places_say_what_is_wrong(name: str) -> None:
    call, message = WRONG_PLACES[name]
    with pytest.raises(UsageError, match=message):
        call()
