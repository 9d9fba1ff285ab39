"""The study of new rows: its page, its sums, and its twin of continued BPE."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

import jeton
from jeton.adapt import Reading, extend
from studies import continued_bpe
from studies.new_rows import page
from studies.new_rows.texts import interval, split

TEXTS = [
    f"the hepatic steatosis of ward {n % 7} was {('mild', 'severe')[n % 2]}; steatohepatitis"
    for n in range(60)
]


def test_the_page_is_what_its_figures_say() -> None:
    assert page.update(check=True) == 0
    assert continued_bpe.main(["--check"]) == 0


def test_figures_are_differences_on_the_same_bytes() -> None:
    found = {
        "old": {
            "medical": {"bits": [80.0, 100.0], "bytes": [100, 100]},
            "general": {"bits": [90.0, 90.0], "bytes": [100, 100]},
        },
        "tokens": {"medical/1000": {"learned_bytes": 5}},
        "before": {
            "medical/1000/zero": {"bits": {"medical": [100.0, 120.0], "general": [90.0, 90.0]}},
            "medical/1000/mean": {
                "bits": {"medical": [84.0, 104.0], "general": [90.0, 92.0]}, "rows": "a",
            },
            "medical/1000/copy": {
                "bits": {"medical": [84.0, 104.0], "general": [90.0, 92.0]}, "rows": "a",
                "equal_to": "medical/1000/mean",
            },
        },
        "after": {},
    }  # fmt: skip
    figures = page.figures_of(found)
    assert figures["old"]["medical"]["bits_per_byte"] == 0.9
    mean, copy, zero = figures["before"]
    assert (mean["way"], zero["way"], copy["equal_to"]) == ("mean", "zero", "mean")
    assert mean["texts"]["domain"]["bits_per_byte"] == 0.94
    assert mean["texts"]["domain"]["more"] == 0.04
    assert (zero["texts"]["domain"]["more"], zero["texts"]["domain"]["over"]) == (0.2, 0.16)
    assert zero["texts"]["general"]["over"] == -0.01
    low, high = zero["texts"]["general"]["over_low"], zero["texts"]["general"]["over_high"]
    assert (low, high) == (-0.02, 0.0)


def test_figures_of_one_part_leave_those_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "FIGURES", tmp_path / "figures.json")
    old = {"medical": {"bits": [80.0], "bytes": [100]}, "general": {"bits": [90.0], "bytes": [100]}}
    bits = {"medical": [84.0], "general": [90.0]}
    before = {"medical/1000/mean": {"bits": bits}, "medical/1000/zero": {"bits": bits}}
    tokens = {"medical/1000": {"learned_bytes": 5}}
    page.write_figures({"old": old, "tokens": tokens, "before": before, "after": {}})
    training = {"steps": 3, "tokens_per_step": 8, "loss": [1.0], "seconds": 1}
    del before["medical/1000/zero"]
    after = {"medical/1000/mean": {"bits": bits, **training}}
    found = {"old": old, "tokens": tokens, "before": before, "after": after}
    page.write_figures(found, part="training")
    figures = json.loads(page.FIGURES.read_text())
    assert [row["way"] for row in figures["before"]] == ["mean", "zero"]
    assert [row["way"] for row in figures["after"]] == ["mean"]


def test_an_interval_holds_the_ratio_and_knows_no_spread_of_equal_ones() -> None:
    above, below = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    assert np.allclose(interval(above, below), (0.1, 0.1))
    low, high = interval(np.array([0.0, 1.0] * 20), np.full(40, 2.0))
    assert low < 0.25 < high


def test_a_split_shares_no_document(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("".join(f'{{"text": "note {n} {"word " * 120}"}}\n' for n in range(80)))
    parts = split(file)
    assert not set(parts.learned) & set(parts.counted)
    assert len(parts.learned) + len(parts.counted) == 80
    beginnings = {text[:500] for text in parts.counted}
    assert parts.judged
    assert {text[:500] for text in parts.judged} <= beginnings


def slow_merges(
    words: Counter[tuple[int, ...]], n_tokens: int, first_id: int
) -> list[tuple[int, int]]:
    """Counts all pairs again for each merge."""
    merged = []
    for made in range(first_id, first_id + n_tokens):
        pairs: Counter[tuple[int, int]] = Counter()
        for word, n in words.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += n
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merged.append(best)
        new: Counter[tuple[int, ...]] = Counter()
        for word, n in words.items():
            new[tuple(continued_bpe._joined(list(word), best, made))] += n
        words = new
    return merged


def test_continued_bpe_is_the_slow_one_and_saves_no_more_than_extend() -> None:
    base = jeton.train(iter(TEXTS[:9]), vocab_size=280)
    with tempfile.TemporaryDirectory() as place:
        base.save(Path(place) / "tokenizer.json")
        peer = Tokenizer.from_file(str(Path(place) / "tokenizer.json"))
    continued = continued_bpe.Continued(peer)
    continued.learn(TEXTS, 12)
    assert len(continued.merges) == 12
    words = Counter(continued._cut(word) for word in continued._pretokens(TEXTS))
    assert list(continued.merges) == slow_merges(words, 12, base.vocab_size)
    before, after = continued.count(TEXTS)
    found = extend(iter(TEXTS), base=base, n_tokens=12, reading=Reading(hold_out=0))
    assert before == sum(map(base.count, TEXTS))
    assert sum(map(found.tokenizer.count, TEXTS)) <= after < before
