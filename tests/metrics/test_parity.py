"""Premiums of languages: by hand, on invented text, and against a first count of the UDHR."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jeton._core import decompress
from jeton.errors import EmptyCorpusError, UsageError
from jeton.metrics import AlignedText, gini, parity
from tests.auditing.tiny import train_tiny
from tests.core import makers

ALIGNED = [
    ("de", "Die Anweisung wird ausgeführt.", "The statement is executed."),
    ("ru", "Оператор выполняется.", "The statement is executed."),
    ("de", "Der Wert ist eine Liste.", "The value is a list."),
    ("en", "The value is a list.", "The value is a list."),
    ("ru", "Значение является списком.", "The value is a list."),
]


def test_premiums_by_hand() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    report = parity(tokenizer, ALIGNED)
    assert [item.language for item in report.languages] == ["ru", "de"]
    for item in report.languages:
        pairs = [(a, b) for language, a, b in ALIGNED if language == item.language]
        n_tokens = sum(len(tokenizer.encode(text)) for text, _ in pairs)
        n_reference = sum(len(tokenizer.encode(text)) for _, text in pairs)
        assert (item.n_texts, item.n_tokens) == (2, n_tokens)
        assert item.premium == n_tokens / n_reference > 1
        n_bytes = sum(len(text.encode()) for text, _ in pairs)
        assert item.byte_premium == n_bytes / sum(len(text.encode()) for _, text in pairs)
        assert item.premium_interval is not None
        assert item.premium_interval.low <= item.premium <= item.premium_interval.high
    premiums = [item.premium for item in report.languages]
    assert report.gini == gini([*premiums, 1.0])
    assert (report.max_premium, report.median_premium) == (premiums[0], sum(premiums) / 2)
    assert parity(tokenizer, [AlignedText(*item) for item in reversed(ALIGNED)]) == report


def test_the_same_text_has_no_premium() -> None:
    report = parity(train_tiny(vocab_size=600), [("xx", text, text) for _, _, text in ALIGNED])
    (only,) = report.languages
    assert (only.premium, only.byte_premium, report.gini) == (1.0, 1.0, 0.0)


def test_parity_bad_input() -> None:
    tokenizer = train_tiny(vocab_size=600)
    with pytest.raises(EmptyCorpusError, match="no aligned text of another language than 'en'"):
        parity(tokenizer, ALIGNED[3:4])
    with pytest.raises(EmptyCorpusError, match="'de' have no tokens"):
        parity(tokenizer, [("de", "", "")])
    with pytest.raises(UsageError, match="expected \\(language, text, text in the reference"):
        parity(tokenizer, [("de", "only two")])  # type: ignore[list-item]


def test_chinese_on_the_udhr(shared: Path) -> None:
    # A first count with other tools found 2.7 (GPT-2), 1.6 (cl100k_base) and 1.15 (Llama 3).
    data = decompress((shared / "data" / "corpora" / "udhr.jsonl.zst").read_bytes())
    texts = {row["id"]: row["text"] for row in map(json.loads, data.splitlines())}
    pair = [("zh", texts["udhr/cmn_hans"], texts["udhr/eng"])]
    vocab = shared / "data" / "vocab"
    for name, expected in (
        ("gpt2.json.zst", 2.7),
        ("cl100k_base.tiktoken.zst", 1.6),
        ("llama3.tiktoken.zst", 1.15),
    ):
        report = parity(makers.load(vocab / name), pair)
        assert report.max_premium == pytest.approx(expected, abs=0.05)
        assert report.languages[0].premium_interval is None
