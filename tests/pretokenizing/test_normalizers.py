"""Normalizers by name: what they change, that others normalize alike, that counts know them."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.cli import options
from jeton.cli.app import app
from jeton.errors import UsageError
from jeton.pretokenizing import NORMALIZERS
from jeton.pretokenizing.rules import (
    ARABIC_ALEF_FORMS,
    ARABIC_DIACRITICS,
    HEBREW_POINTS,
    normalizer_names,
    normalizer_steps,
)
from jeton.training import TrainSettings, load_counts

pytestmark = pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")

POINTED = "بِسْمِ ٱللَّهِ ٱلرَّحْمَـٰنِ أَكْبَرُ إلى آدَم"
HEBREW = "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים"
TEXTS = [POINTED, HEBREW, "Café CAFÉ ﬁn Ⅷ", "كتب الولد الدرس", "שלום עולם"]


def _trained(*names: str, **more: Any) -> jeton.Tokenizer:
    return jeton.train(iter(TEXTS * 5), vocab_size=320, normalizer=names, **more)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("arabic-diacritics", POINTED, "بسم ٱلله ٱلرحمـن أكبر إلى آدم"),
        ("arabic-tatweel", "رحمــن", "رحمن"),
        ("arabic-alef", "أحمد إلى آدم ٱلله ا\u0653 ا\u0654", "احمد الى ادم الله ا ا"),
        ("hebrew-points", HEBREW, "בראשית ברא אלהים"),
        ("hebrew-points", "בֵּית־סֵפֶר׃", "בית־ספר׃"),
        ("lowercase", "İSTANBUL ΣΑΣ", "i\u0307stanbul σασ"),
        ("nfkc", "ﬁn Ⅷ", "fin VIII"),
    ],
)
def test_what_they_change(name: str, text: str, expected: str) -> None:
    tokenizer = _trained(name)
    assert tokenizer.decode(tokenizer.encode(text)) == expected


def _characters(listed: str) -> list[str]:
    """Characters of a class of a regular expression."""
    found: list[str] = []
    parts = list(listed)
    while parts:
        first = parts.pop(0)
        if parts[:1] == ["-"]:
            parts.pop(0)
            found += [chr(c) for c in range(ord(first), ord(parts.pop(0)) + 1)]
        else:
            found.append(first)
    return found


def test_the_characters_are_those_of_unicode() -> None:
    for listed, script in ((ARABIC_DIACRITICS, "ARABIC"), (HEBREW_POINTS, "HEBREW")):
        for char in _characters(listed):
            assert unicodedata.category(char) == "Mn", hex(ord(char))
            assert unicodedata.name(char).startswith(script)
    # All marks of the two blocks but those that make another letter.
    arabic = {chr(c) for c in range(0x600, 0x700) if unicodedata.category(chr(c)) == "Mn"}
    assert arabic - set(_characters(ARABIC_DIACRITICS)) == set("\u0653\u0654\u0655")
    hebrew = {chr(c) for c in range(0x590, 0x600) if unicodedata.category(chr(c)) == "Mn"}
    assert hebrew == set(_characters(HEBREW_POINTS))
    for char in _characters(ARABIC_ALEF_FORMS):
        assert "ALEF" in unicodedata.name(char)


@pytest.mark.parametrize("name", [*NORMALIZERS, "all"])
def test_tokenizers_gives_the_same_ids(name: str) -> None:
    import tokenizers as hf

    names = [name]
    if name == "all":
        names = [each for each in NORMALIZERS if each not in ("nfd", "nfkc", "nfkd")]
    ours = _trained(*names)
    theirs = hf.Tokenizer.from_str(ours.to_hf_json().decode())

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.sampled_from([*TEXTS, "ا\u0653\u064b", "\u0640\u0640", "שׁ", "É", "e\u0301", " "])
            | st.text(st.characters(min_codepoint=0x590, max_codepoint=0x6FF), max_size=8)
        ).map("".join)
    )
    def check(text: str) -> None:
        assert theirs.encode(text).ids == ours.encode(text)

    check()


@pytest.mark.parametrize("algorithm", ["superbpe", "parity-bpe", "trimmed-bpe", "char-bpe", "word"])
def test_every_algorithm_that_takes_normalizers_has_them(algorithm: str) -> None:
    inputs: Any = iter(TEXTS * 5) if algorithm != "parity-bpe" else {"ar": iter(TEXTS * 5)}
    tokenizer = jeton.train(
        inputs, algorithm=algorithm, vocab_size=320, normalizer=["arabic-tatweel", "nfc"]
    )
    steps = json.loads(tokenizer.to_canonical())["normalizer"]
    assert normalizer_names(steps) == ("nfc", "arabic-tatweel")


def test_names_and_steps() -> None:
    assert tuple(NORMALIZERS) == options.NORMALIZERS
    for name in NORMALIZERS:
        assert normalizer_names(normalizer_steps(name)) == name
    assert normalizer_names([]) is None
    with pytest.raises(ValueError, match="no name"):
        normalizer_names([{"type": "nmt"}])
    mixed = TrainSettings(normalizer=["hebrew-points", "nfc"])
    assert mixed.normalizer == ("nfc", "hebrew-points")
    assert mixed.to_dict()["normalizer"] == ["nfc", "hebrew-points"]
    assert TrainSettings(normalizer=["nfc"]) == TrainSettings(normalizer="nfc")
    assert TrainSettings(normalizer=[]) == TrainSettings()
    for names, message in (
        ("arabic-alif", "unknown normalizer 'arabic-alif'; expected one of arabic-alef"),
        (["nfc", "nfc"], "given twice"),
        (["nfc", "nfkd"], "nfc and nfkd contradict one another"),
    ):
        with pytest.raises(UsageError, match=message):
            TrainSettings(normalizer=names).check()


def test_counts_and_the_command_know_them(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("\n".join(TEXTS * 5), encoding="utf-8")
    counts = tmp_path / "a.counts"
    run = CliRunner()
    words = ("--normalizer", "hebrew-points", "--normalizer", "nfc", "-q")
    made = run.invoke(app, ["count-pretokens", str(source), *words, "-o", str(counts)])
    assert made.exit_code == 0, made.output
    assert " אלהים".encode() in dict(load_counts(counts).counts.items())
    size = ("--vocab-size", "300", "-q")
    text = run.invoke(app, ["train", str(source), *words, *size, "-o", str(tmp_path / "text")])
    assert text.exit_code == 0, text.output
    same = ["train", "--from-counts", str(counts), *size]
    done = run.invoke(app, [*same, "-o", str(tmp_path / "counts")])
    assert done.exit_code == 0, done.output
    one, other = (jeton.load(str(tmp_path / name)) for name in ("text", "counts"))
    assert one.fingerprint == other.fingerprint
    refused = run.invoke(app, [*same, "--normalizer", "nfd", "-o", str(tmp_path / "no")])
    assert refused.exit_code == 2
    assert "--normalizer is 'nfd', but the counts were made with" in refused.stderr
