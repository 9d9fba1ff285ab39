"""Duplicates, quality, hold-out: what is kept, what is counted, what depends on nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from jeton import _core
from jeton.corpus import CharacterStatistics, CorpusCare, HoldOut, InputFile, NearDuplicateSettings
from jeton.corpus.care import RULE_SETS, CorpusCarer, QualityFilter, Rule
from jeton.corpus.dedup import Deduplicator
from jeton.corpus.holdout import BETWEEN, HELD_OUT, TRAINED, HoldOutSplit
from jeton.errors import EmptyCorpusError, UsageError


def batch_of(texts: Sequence[str]) -> _core.TextBatch:
    return _core.TextBatch.from_texts(list(texts))


def story(seed: int, n_words: int = 300) -> str:
    words = random.Random(seed).choices([f"w{i}" for i in range(5000)], k=n_words)
    return " ".join(words)


def test_the_first_of_several_copies_stays() -> None:
    found = Deduplicator()
    texts = ["a", "b", "a", "", "", "b"]
    assert found.keep(batch_of(texts)).tolist() == [True, True, False, True, False, False]
    assert found.keep(batch_of(["c", "a"])).tolist() == [True, False]
    assert found.n_exact_duplicates == 4
    # What is not looked at stands for nothing.
    found = Deduplicator()
    among = np.asarray([False, True])
    assert found.keep(batch_of(["a", "a"]), among=among).tolist() == [False, True]


def test_near_duplicates_are_found_whatever_their_case_and_punctuation() -> None:
    base = story(1)
    texts = [base, story(2), base.upper().replace(" ", ", "), base + " and more", base]
    found = Deduplicator(near=NearDuplicateSettings())
    assert found.keep(batch_of(texts)).tolist() == [True, True, False, False, False]
    assert (found.n_exact_duplicates, found.n_near_duplicates) == (1, 2)
    for threads in (1, 3):
        again = Deduplicator(near=NearDuplicateSettings())
        parts = [again.keep(batch_of([text]), num_threads=threads)[0] for text in texts]
        assert parts == [True, True, False, False, False]


def test_settings_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(UsageError, match="shingle of 0 words"):
        NearDuplicateSettings(shingle_words=0).new_index()
    with pytest.raises(UsageError, match="between 0 and 1"):
        NearDuplicateSettings().probability(2)
    with pytest.raises(UsageError, match="between 0 and 1"):
        HoldOut(share=1.5)
    with pytest.raises(UsageError, match="contradict"):
        CorpusCare(weights={"a": 2}, temperature=2)  # type: ignore[dict-item]


def naive_figures(text: str) -> dict[str, float]:
    """Some of the figures, from their definitions."""
    words = text.split()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    n = max(1, len(words))
    return {
        "n_words": len(words),
        "mean_word_chars": sum(map(len, words)) / n,
        "hashes_per_word": text.count("#") / n,
        "bullet_lines": sum(line[0] in "•‣⁃◦●-*" for line in lines) / max(1, len(lines)),
        "alphabetic_words": sum(any(c.isalpha() for c in word) for word in words) / n,
        "n_lines": len(lines),
        "duplicate_lines": (len(lines) - len(set(lines))) / max(1, len(lines)),
        "n_curly_brackets": text.count("{") + text.count("}"),
    }


def test_figures_are_those_of_their_definitions() -> None:
    draw = random.Random(3)
    parts = ["word", "the ", "# ", "\n", "- x\n", "{", "é中", "1 ", "...", "\n\n", "same line\n"]
    texts = ["".join(draw.choices(parts, k=40)) for _ in range(50)]
    names = _core.quality_figures()
    found = _core.text_quality(batch_of(texts))
    assert found.shape == (50, len(names))
    for row, text in zip(found, texts, strict=True):
        for name, value in naive_figures(text).items():
            assert row[names.index(name)] == pytest.approx(value), (name, text)


def test_quality_counts_what_each_rule_took() -> None:
    good = "The cat and the dog have to be with that of all others. " * 10
    good = "\n".join(f"{i} {good[: 200 + i]}" for i in range(3))
    texts = [good, "short", "# " * 60, good]
    found = QualityFilter(["gopher"])
    assert found.keep(batch_of(texts)).tolist() == [True, False, False, True]
    assert found.n_left_out == 2
    assert found.n_broken["words"] == 1
    assert found.n_broken["hashes"] == 1
    assert found.n_broken["stop_words"] == 2
    among = np.asarray([False, True, False, True])
    assert found.keep(batch_of(texts), among=among).tolist() == [False, False, False, True]
    with pytest.raises(UsageError, match="no quality rules"):
        QualityFilter(["gofer"])
    with pytest.raises(UsageError, match="no figure is called"):
        QualityFilter([Rule(name="x", figure="n_wrods")])
    assert all(rule.origin for rules in RULE_SETS.values() for rule in rules)


def test_repeated_text_breaks_gopher_repetition() -> None:
    found = QualityFilter(["gopher-repetition"])
    texts = [story(1), "buy now and save money today\n" * 30]
    assert found.keep(batch_of(texts)).tolist() == [True, False]


def test_the_side_of_a_document_depends_on_its_text_alone() -> None:
    texts = [story(i, 30) for i in range(2000)]
    whole = HoldOutSplit(HoldOut(share=0.1)).sides(batch_of(texts))
    turned = HoldOutSplit(HoldOut(share=0.1)).sides(batch_of(texts[::-1]))
    assert whole.tolist() == turned[::-1].tolist()
    n_held_out = int((whole == HELD_OUT).sum())
    # 2000 draws of 0.1: within four standard deviations.
    assert abs(n_held_out - 200) < 4 * (2000 * 0.1 * 0.9) ** 0.5
    for seed in range(1, 9):
        # What one seed draws says nothing of what another does: 0.1 x 0.5 of the documents,
        # within five deviations.
        other = HoldOutSplit(HoldOut(share=0.5, seed=seed)).sides(batch_of(texts))
        both = int(((other == HELD_OUT) & (whole == HELD_OUT)).sum())
        assert abs(both - 100) < 5 * (2000 * 0.05 * 0.95) ** 0.5


def test_sources_are_held_out_whole() -> None:
    settings = HoldOut(share=0.5, by="source")
    for name in ("a", "b", "c", "d"):
        sides = HoldOutSplit(settings).sides(batch_of(["x", "y", "z"]), source=name)
        expected = HELD_OUT if settings.is_held_out(name) else TRAINED
        assert sides.tolist() == [expected] * 3
    assert {settings.is_held_out(str(i)) for i in range(20)} == {True, False}


def test_near_duplicates_are_never_on_both_sides() -> None:
    draw = random.Random(7)
    texts = []
    for i in range(150):
        base = story(i).split()
        for _ in range(4):
            copy = list(base)
            copy[draw.randrange(len(copy))] = "changed"
            texts.append(" ".join(copy))
    draw.shuffle(texts)
    near = NearDuplicateSettings()
    split = HoldOutSplit(HoldOut(share=0.3, near=near))
    sides = np.concatenate([split.sides(batch_of(texts[i : i + 97])) for i in range(0, 600, 97)])
    assert sum(split.n_documents.values()) == 600
    assert (sides == HELD_OUT).sum() > 50
    # Nothing that is held out resembles anything that is not.
    index = near.new_index()
    index.place(batch_of([t for t, s in zip(texts, sides, strict=True) if s == TRAINED]))
    held_out = batch_of([t for t, s in zip(texts, sides, strict=True) if s == HELD_OUT])
    resembles, _ = index.place(held_out)
    n_trained = int((sides == TRAINED).sum())
    assert not ((resembles >= 0) & (resembles < n_trained)).any()
    # Without looking for likeness, copies are torn apart: the test can fail.
    torn = HoldOutSplit(HoldOut(share=0.3)).sides(batch_of(texts))
    index = near.new_index()
    index.place(batch_of([t for t, s in zip(texts, torn, strict=True) if s == TRAINED]))
    held_out = batch_of([t for t, s in zip(texts, torn, strict=True) if s == HELD_OUT])
    resembles, _ = index.place(held_out)
    assert ((resembles >= 0) & (resembles < int((torn == TRAINED).sum()))).any()
    assert BETWEEN not in torn


def test_care_is_taken_in_order_and_told() -> None:
    base = story(1)
    texts = ["bad", base, base, base + " more", *(story(i) for i in range(2, 60))]
    care = CorpusCare(
        exact_duplicates=True,
        near_duplicates=NearDuplicateSettings(),
        quality=[Rule(name="words", figure="n_words", at_least=10)],
        holdout=HoldOut(share=0.3),
        weights={"in": 3},  # type: ignore[dict-item]
    )
    file = InputFile("in", "memory")
    carer = CorpusCarer(care, [file])
    found = carer.care(file, batch_of(texts))
    tally = carer.tally()
    assert found.weights[[0, 2, 3]].tolist() == [0, 0, 0]
    assert set(found.weights.tolist()) == {0, 3}
    assert (tally.n_low_quality, tally.n_exact_duplicates, tally.n_near_duplicates) == (1, 1, 1)
    assert tally.n_held_out == int(found.held_out.sum()) > 0
    assert tally.n_left_out == int((found.weights == 0).sum())
    with pytest.raises(UsageError, match="matches no input"):
        CorpusCarer(care, [InputFile("out", "memory")])


def test_characters_and_how_many_cover_the_text() -> None:
    counts = _core.PretokenCounts(pattern="gpt2")
    with pytest.raises(EmptyCorpusError):
        CharacterStatistics.of(counts)
    counts.add(batch_of(["aaaa bb é中"]), weight=2)
    found = CharacterStatistics.of(counts)
    assert dict(zip(map(chr, found.code_points.tolist()), found.counts.tolist(), strict=True)) == {
        "a": 8,
        "b": 4,
        " ": 4,
        "é": 2,
        "中": 2,
    }
    assert found.n_characters == 20
    assert found.scripts == {"Latin": 14, "Common": 4, "Han": 2}
    assert found.covering(0.4) == "a"
    assert found.covering(0.8) == "a b"
    assert found.covering(1) == "a bé中"
    assert found.coverage("ab") == 0.6
    assert found.to_dict()["covering"]["1.0"] == 5
    with pytest.raises(UsageError):
        found.covering(0)
