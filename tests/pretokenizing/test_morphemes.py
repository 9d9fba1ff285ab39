"""Lexicons of morphemes, and what Morfessor learns."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.errors import CorpusError, UsageError
from jeton.metrics import GoldWord, boundary_scores
from jeton.pretokenizing import MorphemeLexicon, find_segmenter, learn_morphemes
from jeton.pretokenizing.morphemes import MorfessorSegmenter

STEMS = ["walk", "talk", "paint", "print", "train", "count", "help", "start", "jump", "clean"]
ENDS = ["s", "ed", "ing", "er", "ers"]
WORDS = [stem + end for stem in STEMS for end in ENDS]
GOLD = [GoldWord(stem + end, (stem, end)) for stem in STEMS for end in ENDS]


def test_a_lexicon() -> None:
    lexicon = MorphemeLexicon.of_words([GoldWord("happiness", ("happy", "ness")), *GOLD])
    assert lexicon(" happiness") == [" happi", "ness"]
    assert lexicon("Walking,") == ["Walk", "ing,"]
    assert lexicon(" WALKED") == [" WALK", "ED"]
    assert lexicon(" unknown") == [" unknown"]
    assert lexicon("") == [""]


@given(st.text())
def test_a_lexicon_only_cuts(text: str) -> None:
    lexicon = MorphemeLexicon({"ab": (1,), "\u0130b": (1,), text.strip(): (1,)})
    if len(text.strip()) > 1:
        assert "".join(lexicon(text)) == text
    assert "".join(lexicon(f" {text}")) == f" {text}" or len(text.strip()) <= 1


def test_reading_a_lexicon(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("walking\twalk @@ing\nwalk\twalked\tV;PST\twalk|ed\n", encoding="utf-8")
    cut = find_segmenter(f"morphemes:{path}")
    assert cut(" walking") == [" walk", "ing"]
    assert cut(" walked") == [" walk", "ed"]
    path.write_text("no tab\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 1"):
        find_segmenter(f"morphemes:{path}")
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="no words"):
        find_segmenter(f"morphemes:{path}")
    path.write_bytes(b"\xff\tx")
    with pytest.raises(CorpusError, match="UTF-8"):
        find_segmenter(f"morphemes:{path}")


def test_boundaries_are_found_better() -> None:
    """The point of it: of the same size, tokens begin more often where morphemes begin."""
    stems, ends = ("bat", "cot", "hut", "pit", "vet", "jet", "nut", "rot"), ("ed", "er", "es")
    gold = [GoldWord(stem + end, (stem, end)) for stem in stems for end in ends]
    # The most frequent pair, "t" and "e", stands across the end of the stem.
    text = " ".join(item.word for item in gold)
    lexicon = MorphemeLexicon.of_words(gold)
    plain = jeton.train(iter([text]), vocab_size=270, special_tokens=())
    aware = jeton.train(iter([text]), vocab_size=270, special_tokens=(), segmenter=lexicon)
    before, after = (boundary_scores(t, gold).all_words.f1 for t in (plain, aware))
    assert after > before


def test_morfessor(tmp_path: Path) -> None:
    pytest.importorskip("morfessor")
    words = {word: 1 for word in [*WORDS, *STEMS]}
    state = random.getstate()
    learned = learn_morphemes(words)
    assert random.getstate() == state
    assert learned(" Walking") == learn_morphemes(words)(" Walking")
    assert learned(" painting")[-1].endswith("ing")
    assert len(learned(" painting")) > 1
    for pretoken in ("", " ", "a1b", " x" * 300, "\u0130stanbul", " talks!"):
        assert "".join(learned(pretoken)) == pretoken
    known = learn_morphemes(words, lexicon=MorphemeLexicon({"helping": (1,)}))
    assert known(" Helping") == [" H", "elping"]
    path = tmp_path / "model.segm"
    path.write_text("# comment\n3 walk + ing\n2 walk\n1 talk + ing\n", encoding="utf-8")
    assert MorfessorSegmenter.read(path)(" talking") == [" talk", "ing"]
    path.write_text("walk + ing\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no segmentation file"):
        find_segmenter(f"morfessor:{path}")
    with pytest.raises(UsageError, match="no words"):
        learn_morphemes({"1": 3})
