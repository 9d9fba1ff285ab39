"""The comparison of training with the references: on small text, where it differs, as a table."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scripts.conformance import training

pytestmark = pytest.mark.rivals

TEXTS = [
    "The baritone sang of barns and bars.\nA bar is not a barn; barns are not bars.",
    "aaaa aaa aa a abab baba\nnaïve café 日本語 日本 2024 2025",
    "for i in range(10):\n    total += values[i]  # the total",
] * 4
SIZE = {"tokenizers": 340, "sentencepiece": 110}


@pytest.mark.parametrize("reference", sorted(training.REFERENCES))
def test_small_text_is_learned_alike(reference: str) -> None:
    importlib.import_module(reference)
    found = training.against(reference, "small", TEXTS, vocab_size=SIZE[reference])
    assert found.difference is None
    assert found.n_equal == found.n_theirs > 80
    assert found.reference.startswith(f"{reference} ")
    assert found.n_bytes == sum(len(text.encode()) for text in TEXTS)


@pytest.mark.parametrize(
    ("theirs", "n_equal", "difference"),
    [
        (["a", "b", "x"], 2, "'c' here, 'x' there"),
        (["a", "b"], 2, "'c' here, 'the end' there"),
        (["a", "b", "c", "d"], 3, "'the end' here, 'd' there"),
    ],
)
def test_the_first_difference_is_told(
    theirs: list[str], n_equal: int, difference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def both(texts: Sequence[str], vocab_size: int) -> tuple[list[Any], list[Any]]:
        return ["a", "b", "c"], theirs

    monkeypatch.setitem(training.REFERENCES, "tokenizers", both)
    found = training.against("tokenizers", "small", ["text"])
    assert (found.n_equal, found.n_theirs) == (n_equal, len(theirs))
    assert found.difference == difference


def test_rows_are_rewritten_one_by_one() -> None:
    def row(corpus: str, library: str, n_equal: int) -> training.Compared:
        return training.Compared(corpus, 10**6, f"{library} 1.0", 9, n_equal, "a | b")

    first = training.render(
        [row("chat", "tokenizers", 1), row("code", "sentencepiece", 2)], vocab_size=9, date="D1"
    )
    again = training.render([row("chat", "tokenizers", 3)], vocab_size=9, date="D2", before=first)
    assert again.splitlines()[-2:] == [
        "| code | 1.0 | sentencepiece 1.0 | 9 pieces | 2 | a \\| b | D1 |",
        "| chat | 1.0 | tokenizers 1.0 | 9 merges | 3 | a \\| b | D2 |",
    ]


def test_the_page_shows_every_corpus_against_every_reference() -> None:
    table = training.PART.of(training.DOCUMENT.read_text(encoding="utf-8"))
    rows = re.findall(
        r"^\| (\w+) \| [\d.]+ \| (\w+) [\d.]+ \| ([\d,]+) \w+ \| ([\d,]+) \|", table, re.M
    )
    assert [row[:2] for row in rows] == [
        (corpus, reference) for corpus in training.CORPORA for reference in training.REFERENCES
    ]
    assert all(learned == equal for _, _, learned, equal in rows), "or the page says why not"


def test_without_the_shared_data_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert training.main(["--shared", str(tmp_path), "--corpus", "chat"]) == 2
    assert "hint: pass --shared FOLDER" in capsys.readouterr().err
