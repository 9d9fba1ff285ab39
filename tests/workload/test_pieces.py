"""The parts of the scan by themselves: digests, markers, white space, sampling, joining."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import Surveyor, TextBatch, Tokenizer
from jeton.auditing.analyses.layout import without_needless_whitespace
from jeton.auditing.evidence import percent
from jeton.guard.wordlist import MARKERS
from jeton.workload.counting.counts import LookalikeCounts
from jeton.workload.counting.scan import MIN_JOINED_BYTES, Observed, joined
from jeton.workload.digests import DuplicateTracker, digests_of, digests_of_pairs
from jeton.workload.sampling.passages import N_SAMPLES, PassageSampler, TermFinder

TEXTS = st.lists(st.text(alphabet="ab é\n<|>", max_size=12), max_size=30)


def _track(texts: list[str], *, max_documents: int = 100) -> DuplicateTracker:
    tracker = DuplicateTracker(max_documents=max_documents)
    batch = TextBatch.from_texts(texts)
    tracker.add(digests_of(batch), np.diff(batch.offsets))
    return tracker


@given(TEXTS)
def test_duplicates_equal_a_naive_count(texts: list[str]) -> None:
    summary = _track(texts).summary()
    with_text = [text for text in texts if text]
    assert summary.n_duplicates == len(with_text) - len(set(with_text))
    assert summary.n_duplicate_bytes == sum(len(t.encode()) for t in with_text) - sum(
        len(t.encode()) for t in set(with_text)
    )
    assert summary.max_copies == max(map(with_text.count, with_text), default=0)
    assert summary.is_complete


def test_tracking_stops_at_its_limit_and_says_so() -> None:
    summary = _track(["a", "b", "a", "a"], max_documents=3).summary()
    assert (summary.n_tracked_documents, summary.n_duplicates) == (3, 1)
    assert not summary.is_complete


@given(st.lists(st.sampled_from(["<|", "im_end", "|>", "[INST]", "[", "x", "<|im_end|>", " "])))
def test_markers_equal_a_naive_scan(parts: list[str]) -> None:
    # Cut into documents everywhere, so that markers also lie across two of them.
    for texts in ([*parts], ["".join(parts)], ["".join(parts[:3]), "".join(parts[3:])]):
        surveyor = Surveyor(MARKERS, block_bytes=1, max_blocks=0)
        scanner = LookalikeCounts(MARKERS)
        scanner.add(surveyor.survey(TextBatch.from_texts(texts)))
        naive = [[m for m in MARKERS for _ in re.findall(re.escape(m), text)] for text in texts]
        assert sum(scanner.counts.values()) == sum(map(len, naive))
        assert scanner.n_documents == sum(map(bool, naive))


@given(TEXTS, TEXTS)
def test_digests_are_those_of_texts_and_answers(texts: list[str], answers: list[str]) -> None:
    texts, answers = (part[: min(len(texts), len(answers))] for part in (texts, answers))
    digests = digests_of(TextBatch.from_texts(texts), num_threads=2)
    pairs = digests_of_pairs(digests, TextBatch.from_texts(answers))
    assert len(set(digests.tolist())) == len(set(texts))
    assert len(set(pairs.tolist())) == len(set(zip(texts, answers, strict=True)))
    # The order of the bytes of a digest, by which documents are drawn, is that of its number.
    keys = [int.from_bytes(digest.tobytes()[:8], "big") for digest in digests]
    assert keys == digests["high"].tolist()


def test_white_space_that_means_something_stays() -> None:
    before = "def f():\n    return   1  \n\n\n\n\tx\t\ty\r\n  "
    assert without_needless_whitespace(before) == "def f():\n    return 1\n\n\tx y\r\n"


@given(st.lists(st.sampled_from(["a", "b", " ", "\t", "\n", "\r\n"]), max_size=60).map("".join))
def test_white_space_rewrite_is_idempotent_and_keeps_words_and_indentation(text: str) -> None:
    once = without_needless_whitespace(text)
    assert without_needless_whitespace(once) == once
    assert once.split() == text.split()
    assert len(once) <= len(text)
    indents = [line[: len(line) - len(line.lstrip())] for line in text.split("\n") if line.strip()]
    kept = [line[: len(line) - len(line.lstrip())] for line in once.split("\n") if line.strip()]
    assert kept == indents


@given(st.lists(st.sampled_from(["a", " ", "\t", "\n", "\r\n"]), max_size=40).map("".join))
def test_white_space_short_cuts_change_nothing(text: str) -> None:
    naive = re.sub(r"(?<![ \t])[ \t]+(?=\r?\n|\Z)", "", text)
    naive = re.sub(r"(?<=\S)[ \t]{2,}(?=\S)", " ", naive)
    assert without_needless_whitespace(text) == re.sub(r"(?:\r?\n){3,}", "\n\n", naive)


def test_a_megabyte_of_spaces_is_rewritten_in_linear_time() -> None:
    # The test suite's time limit is the assertion: a quadratic pattern would take hours.
    assert without_needless_whitespace("x" + " " * 1_000_000 + "x") == "x x"
    assert without_needless_whitespace(" " * 1_000_000 + "x") == " " * 1_000_000 + "x"


@pytest.mark.parametrize("size", [1, 100_000, 3 * MIN_JOINED_BYTES])
def test_joining_keeps_documents_and_order(size: int) -> None:
    texts = [chr(97 + index) * size for index in range(12)]
    batches = [
        Observed(
            TextBatch.from_texts([text, ""]),
            groups=np.array([2 * index, 2 * index + 1]),
            domains=None,
            overhead_tokens=np.array([index, -index]),
        )
        for index, text in enumerate(texts)
    ]
    whole = list(joined(iter(batches)))
    joined_texts = [text for batch in whole for text in batch.texts]
    assert joined_texts == [t for text in texts for t in (text, "")]
    assert [group for batch in whole for group in batch.groups] == list(range(24))
    assert all(batch.domains is None and batch.overhead_tokens is not None for batch in whole)
    assert all(batch.texts.n_bytes >= MIN_JOINED_BYTES for batch in whole[:-1])


def _sample(texts: list[str], terms: list[str], chars: int = 80) -> PassageSampler:
    sampler = PassageSampler(terms, sample_chars=chars)
    batch = TextBatch.from_texts(texts)
    sampler.add("file", batch, digests_of(batch))
    return sampler


def test_samples_do_not_depend_on_order_and_are_not_the_first_ones(
    good: Tokenizer, poor: Tokenizer
) -> None:
    texts = [
        f"Request number {i} is about the statement and its value {i * i}." for i in range(500)
    ]
    tokenizers = [(good.name or "", good), (poor.name or "", poor)]
    forward = _sample(texts, []).select(tokenizers)
    assert forward == _sample(texts[::-1], []).select(tokenizers)
    assert len(forward) == N_SAMPLES
    assert len({sample.text for sample in forward}) == N_SAMPLES
    assert max(texts.index(sample.text) for sample in forward) > 50


def test_samples_are_cut_at_characters_and_show_terms(good: Tokenizer) -> None:
    document = "漢字🙂 é " * 20_000 + "the glioblastoma was seen " + "漢字🙂 é " * 20_000
    samples = _sample([document], ["glioblastoma"]).select([("good", good)])
    assert "glioblastoma" in samples[0].text
    for sample in samples:
        assert sample.text in document
        assert len(sample.text) <= 80
        cut = sample.cuts[0]
        assert list(cut.ids) == good.encode(sample.text)
        assert cut.starts[0] == 0
        assert cut.ends[-1] == len(sample.text)


def test_samples_come_from_every_source(good: Tokenizer) -> None:
    sampler = PassageSampler([])
    for name in ("a", "b", "c"):
        texts = [f"The {name} statement {i} of the language reference." for i in range(30)]
        batch = TextBatch.from_texts(texts)
        sampler.add(name, batch, digests_of(batch))
    chosen = sampler.select([("good", good)])
    assert sorted(sample.source for sample in chosen) == ["a", "a", "b", "b", "c", "c"]


def test_term_finder_finds_whole_words_of_several_words() -> None:
    finder = TermFinder(["Lis Pendens", "renal"])
    assert finder.find("the lis pendens of it") == 4
    assert finder.find("adrenal and renally") is None
    assert finder.find("RENAL") == 0


def test_percent_has_the_digits_it_deserves() -> None:
    shares = (0, 0.0005, 0.034, 0.1234, 1)
    assert [percent(share) for share in shares] == ["0%", "0.05%", "3.4%", "12%", "100%"]
