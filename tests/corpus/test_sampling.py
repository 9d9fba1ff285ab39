"""Samples: drawn without order or chance, and honest about how far they may be off."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.corpus import open_documents
from jeton.corpus.sampling import (
    DocumentSample,
    DocumentSampler,
    Sampling,
    _student_quantile,
    sample_documents,
)
from jeton.errors import UsageError


def batch(texts: list[str]) -> _core.TextBatch:
    return _core.TextBatch.from_texts(texts)


def contents(sample: DocumentSample) -> list[tuple[str, int]]:
    return list(zip(sample.texts, sample.n_copies.tolist(), strict=True))


def drawn(texts: list[str], *, cut: int, limits: Sampling) -> DocumentSample:
    return sample_documents(iter([batch(texts[:cut]), batch(texts[cut:])]), sampling=limits)


TEXTS = st.lists(st.text("ab", max_size=4), max_size=40)
LIMITS = st.builds(
    Sampling,
    max_documents=st.none() | st.integers(1, 8),
    max_bytes=st.none() | st.integers(1, 20),
)


@given(texts=TEXTS, limits=LIMITS, cut=st.integers(0, 40), seed=st.integers(0, 9))
def test_neither_order_nor_shards_matter(
    texts: list[str], limits: Sampling, cut: int, seed: int
) -> None:
    whole = drawn(texts, cut=cut, limits=limits)
    shuffled = texts[:]
    Random(seed).shuffle(shuffled)
    again = drawn(shuffled, cut=0, limits=limits)
    shards = []
    for part in (texts[:cut], texts[cut:]):
        shard = DocumentSampler(max_documents=limits.max_documents, max_bytes=limits.max_bytes)
        shard.add(batch(part))
        shards.append(shard)
    for first, second in (shards, shards[::-1]):
        merged = first.merge(second).sample()
        assert contents(merged) == contents(whole) == contents(again)
        assert (merged.n_documents, merged.n_bytes) == (len(texts), len("".join(texts)))
        assert merged.is_whole == whole.is_whole == again.is_whole
    assert whole.is_whole == (len(whole) == len(set(texts)))
    assert all(texts.count(text) == n for text, n in contents(whole))


@given(texts=TEXTS, n=st.integers(1, 20), more=st.integers(0, 20))
def test_a_larger_sample_contains_the_smaller(texts: list[str], n: int, more: int) -> None:
    small = contents(drawn(texts, cut=0, limits=Sampling(max_documents=n)))
    large = contents(drawn(texts, cut=0, limits=Sampling(max_documents=n + more)))
    assert large[: len(small)] == small
    assert len(small) == min(n, len(set(texts)))


def test_limit_of_bytes() -> None:
    texts = [f"{i:04}" * 25 for i in range(500)]
    sample = drawn(texts, cut=10, limits=Sampling(max_bytes=2_000))
    assert len(sample) == 20
    assert sample.texts.n_bytes == 2_000
    # A single text may be larger than the limit: nothing at all would speak for nothing.
    assert len(drawn(["x" * 5_000], cut=0, limits=Sampling(max_bytes=10))) == 1


def test_the_whole_is_exact() -> None:
    texts = ["one", "two", "two", "three"]
    sample = drawn(texts, cut=2, limits=Sampling())
    lengths = np.diff(sample.texts.offsets)
    estimate = sample.estimate(lengths)
    assert estimate.is_exact
    assert estimate.value == estimate.low == estimate.high == len("".join(texts))
    assert estimate.relative_error == 0
    assert not sample.estimate(lengths[:1]).is_exact


def test_a_count_by_the_byte_is_known_without_error() -> None:
    texts = [f"{i}" * (i % 7 + 1) for i in range(1_000)]
    sample = drawn(texts, cut=5, limits=Sampling(max_documents=100))
    estimate = sample.estimate(2 * np.diff(sample.texts.offsets))
    assert estimate.value == pytest.approx(2 * len("".join(texts)))
    assert estimate.relative_error == pytest.approx(0, abs=1e-9)


def test_too_few_texts_state_no_error() -> None:
    sample = drawn([str(i) for i in range(1_000)], cut=5, limits=Sampling(max_documents=29))
    assert math.isinf(sample.estimate(np.ones(29)).relative_error)
    more = drawn([str(i) for i in range(1_000)], cut=5, limits=Sampling(max_documents=30))
    assert math.isfinite(more.estimate(np.ones(30)).relative_error)


def test_intervals_hold_what_they_promise() -> None:
    """300 corpora with skewed lengths and ratios: 95% intervals cover the truth 90 to 99%."""
    n_covered, n_trials = 0, 300
    rng = np.random.default_rng(0)
    for trial in range(n_trials):
        lengths = (rng.lognormal(3, 1, size=600) + 8).astype(int)
        texts = [f"{trial:03}{i:05}" + "x" * (length - 8) for i, length in enumerate(lengths)]
        sample = drawn(texts, cut=0, limits=Sampling(max_documents=120))
        of_text = dict(zip(texts, lengths * rng.gamma(4, 0.25, size=len(texts)), strict=True))
        truth = sum(of_text.values())
        estimate = sample.estimate([of_text[text] for text in sample.texts])
        n_covered += estimate.low <= truth <= estimate.high
    assert 0.90 <= n_covered / n_trials <= 0.99


def test_measuring_stops_when_the_error_is_small_enough() -> None:
    rng = np.random.default_rng(1)
    texts = [f"{i:05}" + "x" * int(n) for i, n in enumerate(rng.integers(5, 500, size=8_000))]
    tokens = {text: len(text) * (0.2 + 0.1 * (i % 3)) for i, text in enumerate(texts)}
    truth = sum(tokens.values())
    seen: list[int] = []

    def count(portion: _core.TextBatch) -> list[float]:
        seen.append(len(portion))
        return [tokens[text] for text in portion]

    sampling = Sampling(error=0.02)
    sample = sample_documents(iter([batch(texts)]), sampling=sampling)
    estimate, counts = sample.measure(count, sampling=sampling)
    assert estimate.relative_error <= 0.02
    assert estimate.low <= truth <= estimate.high
    assert seen[0] == 256
    assert sum(seen) == len(counts) == estimate.n_texts < len(texts)
    # Without an error to reach, everything that was kept is measured, at once.
    estimate, counts = sample.measure(count, sampling=Sampling())
    assert estimate.is_exact
    assert estimate.value == pytest.approx(truth)


def test_tokens_of_a_real_corpus(shared: Path) -> None:
    """The estimate of 1,000 texts against the exact count of all 19,504."""
    tok = jeton.load("jeton-general-32k")
    path = shared / "data/corpora/chat.jsonl.zst"
    exact = sum(int(tok.count_batch(texts).sum()) for _, texts in open_documents(path))
    sampling = Sampling(max_documents=1_000)
    sample = sample_documents(open_documents(path), sampling=sampling)
    estimate, _ = sample.measure(tok.count_batch, sampling=sampling)
    assert estimate.low <= exact <= estimate.high
    assert estimate.relative_error < 0.03
    assert set(sample.sources) == {str(path)}


@pytest.mark.parametrize(
    ("freedom", "expected"), [(29, 2.04523), (60, 2.00030), (120, 1.97993), (10**9, 1.95996)]
)
def test_quantiles_of_student(freedom: int, expected: float) -> None:
    """The published table (Abramowitz and Stegun, table 26.10)."""
    assert _student_quantile(0.95, freedom) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"max_documents": 0},
        {"max_bytes": -1},
        {"error": 0.0},
        {"error": 1.0},
        {"error": math.nan},
        {"confidence": 1.0},
    ],
)
def test_limits_that_cannot_be_meant(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        Sampling(**options)  # type: ignore[arg-type]


def test_what_does_not_fit_together() -> None:
    with pytest.raises(UsageError, match="different limits"):
        DocumentSampler(max_documents=1).merge(DocumentSampler(max_documents=2))
    with pytest.raises(UsageError, match="3 counts for 2 texts"):
        drawn(["a", "b"], cut=1, limits=Sampling()).estimate([1, 2, 3])
