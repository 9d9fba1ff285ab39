"""Retention and BM25, worked out by hand."""

from __future__ import annotations

import math

import pytest

import jeton
from jeton.chunking import Bm25, Question, evaluate_chunks

TOKENIZER = jeton.load("jeton-general-32k")


def test_bm25_by_hand() -> None:
    index = Bm25(["a b", "a a c d", "e"], k1=1.2, b=0.75)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = 7 / 3
    first = idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / mean))
    second = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / mean))
    assert index.scores("A") == pytest.approx([first, second, 0.0])
    assert index.ranked("zebra", 2) == [0, 1]
    assert Bm25([]).ranked("a", 3) == []


def test_measures_by_hand() -> None:
    # Each word is a token.
    text = "one two three four five six seven eight"
    words = text.split()
    assert TOKENIZER.count(text) == len(words)
    at = [text.index(word) for word in words]
    spans = [(0, at[3]), (at[3], at[6]), (at[6], len(text))]
    # Tokens begin with their space: "three" ends in the first span, "four" in the second.
    questions = [Question("four?", ((at[2], at[5] - 1),))]
    found = evaluate_chunks(text, spans, questions, tokenizer=TOKENIZER, k=1, rank=lambda *_: [[1]])
    # The passage is "three four five", the chunk has "four five six".
    assert found.whole_share.mean == 0
    assert found.recall.mean == pytest.approx(2 / 3)
    assert found.precision.mean == pytest.approx(2 / 3)
    assert found.iou.mean == pytest.approx(2 / 4)
    assert found.overlap_share == 0
    again = evaluate_chunks(
        text, [*spans, (0, len(text))], questions, tokenizer=TOKENIZER, rank=lambda *_: [[3]]
    )
    assert again.whole_at_k.mean == again.recall.mean == 1
    assert again.overlap_share == 1
