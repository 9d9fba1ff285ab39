"""Counts of the core equal counting by hand, whole, in parts and on many threads."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jeton import FormatError, TextBatch, Tokenizer, TrainingError, _core
from jeton._core import PretokenCounts, TermCounter, TextStats, TokenStats, from_tiktoken
from jeton._reference.split import BLANKS
from tests.core import makers
from tests.core.texts import texts

batches = st.lists(texts, max_size=6)
splits = st.lists(batches, min_size=1, max_size=4)


def histogram(lengths: Iterable[int]) -> tuple[list[int], list[int]]:
    counted = sorted(Counter(lengths).items())
    return [length for length, _ in counted], [count for _, count in counted]


def as_lists(pair: tuple[Any, Any]) -> tuple[list[int], list[int]]:
    assert pair[0].dtype == pair[1].dtype == np.uint64
    return pair[0].tolist(), pair[1].tolist()


class TestTextStats:
    @given(parts=splits, num_threads=st.sampled_from([1, 2, 8]))
    def test_equal_counting_by_hand(self, parts: list[list[str]], num_threads: int) -> None:
        merged = TextStats()
        added = TextStats()
        for part in parts:
            batch = TextBatch.from_texts(part)
            one = TextStats()
            one.add(batch, num_threads=num_threads)
            assert facts(one.merge(merged)) == facts(merged.merge(one))
            merged = merged.merge(one)
            added.add(batch, num_threads=num_threads)
        assert facts(merged) == facts(added)
        assert facts(added) == by_hand([text for part in parts for text in part])

    def test_replacements_are_counted(self) -> None:
        stats = TextStats()
        stats.add(TextBatch.from_texts([b"\xff\xff", "fine", "\ud800"]))
        assert (stats.n_replaced_documents, stats.n_replacements) == (2, 3)
        both = stats.merge(stats)
        assert (both.n_replaced_documents, both.n_replacements) == (4, 6)

    def test_merging_leaves_both_as_they_were(self) -> None:
        one, other = TextStats(), TextStats()
        one.add(TextBatch.from_texts(["a b"]))
        other.add(TextBatch.from_texts(["c"]))
        before = facts(one), facts(other)
        assert one.merge(other).n_documents == 2
        assert (facts(one), facts(other)) == before


def facts(stats: TextStats) -> dict[str, Any]:
    return {
        "n_documents": stats.n_documents,
        "n_bytes": stats.n_bytes,
        "n_chars": stats.n_chars,
        "n_words": stats.n_words,
        "n_whitespace_bytes": stats.n_whitespace_bytes,
        "bytes_per_document": as_lists(stats.bytes_per_document),
    }


def by_hand(documents: list[str]) -> dict[str, Any]:
    runs = [
        (k, "".join(g)) for d in documents for k, g in itertools.groupby(d, BLANKS.__contains__)
    ]
    return {
        "n_documents": len(documents),
        "n_bytes": sum(len(d.encode()) for d in documents),
        "n_chars": sum(map(len, documents)),
        "n_words": sum(not blank for blank, _ in runs),
        "n_whitespace_bytes": sum(len(run[1:].encode()) for blank, run in runs if blank),
        "bytes_per_document": histogram(len(d.encode()) for d in documents),
    }


class TestTokenStats:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(parts=splits, num_threads=st.sampled_from([1, 2, 8]))
    def test_equal_counting_by_hand(
        self, tiny: Tokenizer, parts: list[list[str]], num_threads: int
    ) -> None:
        documents = [text for part in parts for text in part]
        ids = [tiny.encode(text) for text in documents]
        merged = TokenStats(tiny.vocab_size)
        for part in parts:
            one = tiny.measure(TextBatch.from_texts(part), num_threads=num_threads)
            merged = one.merge(merged)
        assert merged.n_documents == len(documents)
        assert merged.n_tokens == sum(map(len, ids))
        assert merged.n_round_trip_failures == 0
        assert merged.n_normalized_documents == sum(tiny.normalize(d) != d for d in documents)
        assert as_lists(merged.tokens_per_document) == histogram(map(len, ids))
        expected = np.bincount([i for each in ids for i in each], minlength=tiny.vocab_size)
        assert merged.id_counts.dtype == np.uint64
        assert merged.id_counts.tolist() == expected.tolist()

    def test_round_trip_failures_are_counted(self, shared: Any) -> None:
        # Falcon's vocabulary has no token for U+000B: the document loses it.
        tokenizer = makers.load(shared / "data" / "vocab" / "falcon.json.zst")
        batch = TextBatch.from_texts(["fine", "not\x0bfine", "fine too"])
        assert tokenizer.measure(batch).n_round_trip_failures == 1
        assert tokenizer.measure(batch, round_trip=False).n_round_trip_failures == 0

    def test_of_different_vocabularies_are_refused(self) -> None:
        with pytest.raises(FormatError, match="3 and 4 ids"):
            TokenStats(3).merge(TokenStats(4))


class TestTermCounter:
    TERMS = ("a", "the", "the end", "END", "e\u0301", "\xe9", "--", "b a", "3.1")
    pieces = st.lists(
        st.sampled_from(
            [*TERMS, "The", "THE END", " ", "  ", "_", "-", ".", "b", "\xc9", "\u4e2d", "1"]
        ),
        max_size=12,
    ).map("".join)

    @given(documents=st.lists(pieces, max_size=5), num_threads=st.sampled_from([1, 2, 8]))
    def test_equal_counting_by_hand(self, documents: list[str], num_threads: int) -> None:
        counter = TermCounter(self.TERMS)
        counter.add(TextBatch.from_texts(documents), num_threads=num_threads)
        expected = sum((self.count(text) for text in documents), Counter[str]())
        assert counter.counts.tolist() == [expected[term] for term in self.TERMS]

    def count(self, text: str) -> Counter[str]:
        """At each place the longest term that stands free; then on after it."""
        found: Counter[str] = Counter()
        place = 0
        while place < len(text):
            fitting = [t for t in self.TERMS if self.stands_at(text, place, t)]
            if fitting:
                term = max(fitting, key=lambda t: len(t.encode()))
                found[term] += 1
                place += len(term)
            else:
                place += 1
        return found

    @staticmethod
    def stands_at(text: str, start: int, term: str) -> bool:
        end = start + len(term)
        # lower() of bytes knows only ASCII.
        if text[start:end].encode().lower() != term.encode().lower():
            return False
        return not (text[:start][-1:].isalnum() or text[end:][:1].isalnum())

    def test_an_empty_term_is_refused(self) -> None:
        with pytest.raises(ValueError, match="term 1 is empty"):
            TermCounter(["a", ""])

    def test_no_terms(self) -> None:
        counter = TermCounter([])
        counter.add(TextBatch.from_texts(["a"]))
        assert counter.counts.tolist() == []


class TestPretokenCounts:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        parts=splits,
        num_threads=st.sampled_from([1, 2, 8]),
        pattern=st.sampled_from(["gpt2", "o200k_base", makers.CUSTOM_PATTERN]),
        nfc=st.booleans(),
    )
    def test_equal_counting_by_hand(
        self, parts: list[list[str]], num_threads: int, pattern: str, nfc: bool
    ) -> None:
        normalizer: Literal["nfc"] | None = "nfc" if nfc else None
        splitter = from_tiktoken(
            makers.tiny("tiny-gpt2").to_tiktoken(), pattern=pattern, normalizer=normalizer
        )
        merged = PretokenCounts(pattern=pattern, normalizer=normalizer)
        added = PretokenCounts(pattern=pattern, normalizer=normalizer)
        for part in parts:
            one = PretokenCounts(pattern=pattern, normalizer=normalizer)
            one.add(TextBatch.from_texts(part), num_threads=num_threads)
            merged.merge(one)
            added.add(TextBatch.from_texts(part), num_threads=num_threads)
        documents = [text for part in parts for text in part]
        expected = Counter(p.encode() for text in documents for p in splitter.pretokenize(text))
        in_order = sorted(expected.items(), key=lambda item: (-item[1], item[0]))
        for counts in (merged, added):
            assert counts.items() == in_order
            assert len(counts) == len(expected)
            assert counts.n_pretokens == expected.total()
            assert counts.n_documents == len(documents)
            seen = [splitter.normalize(text).encode() for text in documents]
            assert counts.n_bytes in (sum(map(len, seen)), sum(len(d.encode()) for d in documents))

    def test_of_different_patterns_are_refused(self) -> None:
        one, other = PretokenCounts(pattern="gpt2"), PretokenCounts(pattern="cl100k_base")
        other.add(TextBatch.from_texts(["a"]))
        with pytest.raises((ValueError, TrainingError)):
            one.merge(other)

    def test_training_does_not_depend_on_order_or_threads(self) -> None:
        documents = list(makers.prose())
        fingerprints = set()
        for order, num_threads in ((documents, 1), (documents[::-1], 2), (documents, 8)):
            counts = PretokenCounts(pattern="gpt2")
            for text in order:
                counts.add(TextBatch.from_texts([text]), num_threads=num_threads)
            fingerprints.add(_core.train_bpe(counts, vocab_size=600).fingerprint)
        assert len(fingerprints) == 1
