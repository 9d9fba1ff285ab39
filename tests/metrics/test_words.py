"""Words kept and scripts: the core's one pass equals counting by offsets, for every kind of
tokenizer."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jeton._core import TextBatch, TextStats, Tokenizer, TokenStats
from jeton.errors import UsageError
from jeton.metrics import script_use, word_use
from tests.auditing.tiny import train_tiny
from tests.core import makers

# Scripts whose writers put no spaces between words, as far as the texts below have them.
NO_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "THAI")

texts = st.text(st.sampled_from("abcdE ,.é\u0301中のд1٣\U0001f600\n\tthe and 'ไท"), max_size=30)


def letter_words(text: str) -> list[tuple[int, int]]:
    """The naive twin: runs of letters and marks, by the standard library's categories."""
    words: list[tuple[int, int]] = []
    for place, char in enumerate(text):
        category = unicodedata.category(char)
        follows = bool(words) and words[-1][1] == place
        spaced = not unicodedata.name(char, "").startswith(NO_SPACES)
        if category.startswith("L") and spaced:
            words[-1:] = (
                [(words[-1][0], place + 1)] if follows else [*words[-1:], (place, place + 1)]
            )
        elif category.startswith("M") and follows:
            words[-1] = (words[-1][0], place + 1)
    return words


def by_offsets(tokenizer: Tokenizer, documents: list[str]) -> tuple[int, int, int]:
    n_words = n_kept = n_tokens = 0
    for text in documents:
        encoding = tokenizer.encode_with_offsets(text)
        # Offsets as tokenizers has them give a lone mark of a space the letter after it, in T5.
        pieces = [tokenizer.id_to_bytes(int(id_)).decode(errors="replace") for id_ in encoding.ids]
        shows = np.array([piece != "\u2581" for piece in pieces], dtype=np.bool_)
        for start, end in letter_words(text):
            overlap = int(((encoding.starts < end) & (encoding.ends > start) & shows).sum())
            n_words += 1
            n_kept += overlap == 1
            n_tokens += overlap
    return n_words, n_kept, n_tokens


def by_core(stats: TokenStats) -> tuple[int, int, int]:
    return stats.n_letter_words, stats.n_letter_words_kept, stats.n_letter_word_tokens


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.lists(texts, max_size=4), min_size=1, max_size=3),
    num_threads=st.sampled_from([1, 2, 8]),
    name=st.sampled_from(["tiny-gpt2", "tiny-o200k_base", "tiny-custom"]),
)
def test_the_pass_equals_offsets_in_any_order(
    parts: list[list[str]], num_threads: int, name: str
) -> None:
    tokenizer = makers.tiny(name)
    forth, back = TokenStats(tokenizer.vocab_size), TokenStats(tokenizer.vocab_size)
    for part in parts:
        batch = TextBatch.from_texts(part)
        one = tokenizer.measure(batch, words=True, documents=True, num_threads=num_threads)
        assert one.document_tokens.tolist() == [len(tokenizer.encode(text)) for text in part]
        forth = forth.merge(one)
    for part in reversed(parts):
        batch = TextBatch.from_texts(part)
        back = tokenizer.measure(batch, words=True, round_trip=False).merge(back)
    documents = [text for part in parts for text in part]
    assert by_core(forth) == by_core(back) == by_offsets(tokenizer, documents)
    assert forth.n_laid_out_documents == len(documents)
    assert forth.script_tokens == back.script_tokens
    assert sum(forth.script_tokens.values()) == forth.n_tokens
    assert sum(forth.script_bytes.values()) == sum(len(text.encode()) for text in documents)
    assert forth.n_digits == sum(char.isdecimal() for text in documents for char in text)
    assert len(forth.document_tokens) == 0


@pytest.mark.parametrize(
    ("name", "min_share"),
    [
        ("gpt2.json.zst", 1),
        ("llama2.model", 0.85),
        ("llama2.json.zst", 0.85),
        # T5 has no token for signs that code needs; CLIP writes marks at the ends of words.
        # One count differs since the bytes of a token are those in mid-text; not yet explained.
        pytest.param("t5-small.json.zst", 0.7, marks=pytest.mark.xfail(reason="open: one count")),
        ("clip_base.json.zst", 0.4),
        ("albert_30k-clean.model.zst", 0.85),
        ("bert_base_cased.json.zst", 0.85),
        ("bert_base_uncased.json.zst", 0.85),
        ("mistral03.json.zst", 0.85),
        ("xlm_roberta_recon.model.zst", 0.85),
    ],
)
def test_published_tokenizers_of_every_kind(shared: Path, name: str, min_share: float) -> None:
    tokenizer = makers.load(shared / "data" / "vocab" / name)
    documents = [text[:3000] for text in makers.prose()]
    documents += ["Unbelievable words, in 1984.", "naïve café: Größe", "tabs\tand\n\nlines "]
    stats = tokenizer.measure(TextBatch.from_texts(documents), words=True, round_trip=False)
    laid_out = [
        text
        for text in documents
        if tokenizer.measure(TextBatch.from_texts([text]), words=True).n_laid_out_documents
    ]
    assert len(laid_out) == stats.n_laid_out_documents >= min_share * len(documents)
    # Never a document whose words would be wrong.
    assert by_core(stats) == by_offsets(tokenizer, laid_out)


def test_word_use_reads_the_shares() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    batch = TextBatch.from_texts(["the statement 12345", "the 中文"])
    use = word_use(tokenizer.measure(batch, words=True))
    n_words, n_kept, n_tokens = by_offsets(tokenizer, list(batch))
    assert (use.n_words, use.word_splitter, use.is_complete) == (3, "letters", True)
    assert n_words == 3
    assert use.kept_share == n_kept / 3
    assert use.continued_share == 1 - use.kept_share
    assert use.tokens_per_word == n_tokens / 3
    assert 0 < use.tokens_per_digit <= 1
    with pytest.raises(UsageError, match="measure with words=True"):
        word_use(tokenizer.measure(batch))
    assert word_use(TokenStats(5)).kept_share == 0


def test_script_use() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    batch = TextBatch.from_texts(["the Ωμέγα", "漢字 x"])
    text_stats = TextStats()
    text_stats.add(batch)
    rows = script_use(text_stats, tokenizer.measure(batch, words=True))
    assert [(row.script, row.n_chars) for row in rows] == [
        ("Greek", 5),
        ("Latin", 4),
        ("Common", 2),
        ("Han", 2),
    ]
    assert sum(row.char_share for row in rows) == pytest.approx(1)
    assert sum(row.n_tokens for row in rows) == tokenizer.measure(batch).n_tokens
    greek, latin = rows[0], rows[1]
    assert greek.bytes_per_token is not None
    assert latin.bytes_per_token is not None
    assert greek.bytes_per_token < latin.bytes_per_token


@given(documents=st.lists(texts, max_size=5), num_threads=st.sampled_from([1, 8]))
def test_text_stats_count_scripts_and_marks(documents: list[str], num_threads: int) -> None:
    stats = TextStats()
    stats.add(TextBatch.from_texts(documents), num_threads=num_threads)
    joined = "".join(documents)
    assert sum(stats.script_chars.values()) == stats.n_chars == len(joined)
    assert sum(stats.script_bytes.values()) == stats.n_bytes
    assert stats.n_marks == sum(unicodedata.category(c).startswith("M") for c in joined)
    assert stats.n_digits == sum(c.isdecimal() for c in joined)
    assert stats.n_space_bytes == sum(len(c.encode()) for c in joined if c.isspace())
    assert stats.n_ascii_documents == sum(text.isascii() for text in documents)
    known = Counter(unicodedata.name(c, "").split(" ")[0] for c in joined)
    assert stats.script_chars.get("Cyrillic", 0) == known["CYRILLIC"]
    assert stats.script_chars.get("Han", 0) == known["CJK"]
