"""Stability of ids, and the bundle that the audit shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import TextBatch
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.metrics import (
    gini,
    quality,
    reachability,
    renyi_efficiency,
    stability,
    undertrained_tokens,
    word_use,
)
from jeton.metrics.quality import MAX_SAMPLE_BYTES
from jeton.metrics.stability import CHANGES
from tests.auditing.tiny import documentation, train_tiny

documents = st.lists(st.text("abE é\u0301\n  \t.the", max_size=20), max_size=4)


@given(texts=documents, change=st.sampled_from(sorted(CHANGES)))
def test_stability_by_hand(texts: list[str], change: str) -> None:
    tokenizer = train_tiny(vocab_size=600)
    (found,) = stability(tokenizer, texts, changes=[change])
    common = before = after = changed = 0
    for text in texts:
        other = CHANGES[change](text)
        if other == text:
            continue
        one, two = Counter(tokenizer.encode(text)), Counter(tokenizer.encode(other))
        changed += 1
        common += (one & two).total()
        before += one.total()
        after += two.total()
    assert found.n_documents == changed
    assert found.kept_share == (2 * common / (before + after) if before + after else 1.0)
    assert found.token_ratio == (after / before if before else 1.0)


def test_changes_do_what_they_are_called() -> None:
    done = {name: change("    if é:\n        A b\n") for name, change in CHANGES.items()}
    assert done["nfd"] == "    if e\u0301:\n        A b\n"
    assert CHANGES["nfc"](done["nfd"]) == "    if é:\n        A b\n"
    assert done["leading_space"] == "     if é:\n        A b\n"
    assert done["doubled_spaces"] == "    if  é:\n        A  b\n"
    assert done["tabs"] == "\tif é:\n\t\tA b\n"
    assert done["windows_line_ends"] == "    if é:\r\n        A b\r\n"
    assert done["lower_case"] == "    if é:\n        a b\n"
    assert done["upper_case"] == "    IF É:\n        A B\n"
    with pytest.raises(UsageError, match="change 'rot13' is not known; expected one of nfc, nfd"):
        stability(train_tiny(vocab_size=600), [], changes=["rot13"])


def test_quality_bundles_the_figures() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    texts = documentation()
    stats = tokenizer.measure(TextBatch.from_texts(texts), words=True)
    found = quality(tokenizer, stats, texts[:30], score=lambda t: t.vocab_size / 2)
    full = renyi_efficiency(stats.id_counts, alpha=2.5, vocab_size=1200).value
    assert found.renyi_efficiency_2_5_full == full
    assert found.renyi_efficiency_3_0_observed == renyi_efficiency(stats.id_counts, alpha=3).value
    assert found.gini == gini(stats.id_counts)
    assert found.words_kept_share == word_use(stats).kept_share
    assert found.continued_word_share == pytest.approx(1 - found.words_kept_share)
    assert found.n_unreachable == reachability(tokenizer).n_unreachable
    assert found.n_undertrained == undertrained_tokens(tokenizer, stats.id_counts).n_undertrained
    assert set(found.stability) == set(CHANGES)
    assert found.bits_per_byte is not None
    assert found.bits_per_byte.basis is Basis.ESTIMATED
    assert found.bits_per_byte_interval is not None
    low, high = found.bits_per_byte_interval.low, found.bits_per_byte_interval.high
    assert low < found.bits_per_byte.value < high
    assert found.downstream_score == 600


@dataclass(frozen=True)
class Document:
    text: str


@dataclass(frozen=True)
class Sample:
    documents: tuple[Document, ...]


def test_quality_of_a_sample_without_words_or_much_text() -> None:
    tokenizer = train_tiny(vocab_size=600)
    texts = documentation()[:12]
    batch = TextBatch.from_texts(texts)
    plain, with_words = tokenizer.measure(batch), tokenizer.measure(batch, words=True)
    sample = Sample(tuple(Document(text) for text in texts))
    assert quality(tokenizer, plain, sample) == quality(tokenizer, with_words, list(texts))
    little = quality(tokenizer, tokenizer.measure(TextBatch.from_texts(["a"])), ["a"])
    assert little.bits_per_byte is None
    nothing = quality(tokenizer, tokenizer.measure(TextBatch.from_texts([])), [])
    assert nothing.words_kept_share is None
    assert nothing.continued_word_share is None
    assert nothing.stability["nfd"] == 1


def test_a_large_sample_is_drawn_by_digest() -> None:
    tokenizer = train_tiny(vocab_size=600)
    texts = [f"{number}: {text}" for number in range(4) for text in documentation()]
    assert sum(len(text.encode()) for text in texts) > MAX_SAMPLE_BYTES
    stats = tokenizer.measure(TextBatch.from_texts(texts[:10]), words=True)
    one, other = quality(tokenizer, stats, texts), quality(tokenizer, stats, texts[::-1])
    assert one.stability == other.stability
    assert one.bits_per_byte is not None
    assert other.bits_per_byte is not None
    assert one.bits_per_byte.value == pytest.approx(other.bits_per_byte.value)
