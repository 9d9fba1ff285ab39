"""Audits of a part of the documents: what is carried over to the whole, and how far off it is."""

from __future__ import annotations

import random

import pytest

from jeton._core import Tokenizer
from jeton.auditing import Audit, audit
from jeton.corpus.sampling import Sampling
from jeton.errors import UsageError
from jeton.findings import Basis


def _texts(n: int) -> list[str]:
    generator = random.Random(11)
    return [f"{i} " + "the statement of " * generator.choice((1, 3, 9)) for i in range(n)]


def test_the_whole_is_within_the_interval_of_a_part(good: Tokenizer, poor: Tokenizer) -> None:
    texts = _texts(2_000)
    report = audit(
        iter(texts), tokenizers=[good, poor], quality=False, sampling=Sampling(max_documents=400)
    )
    sampling = report.sampling
    assert sampling is not None
    assert not sampling.is_whole
    assert sampling.n_documents_counted == report.corpus.n_documents == 400
    assert sampling.n_documents_of_all == 2_000
    assert sampling.n_bytes_of_all == sum(len(text.encode()) for text in texts)
    for estimate, tokenizer in zip(sampling.tokens_of_all, (good, poor), strict=True):
        truth = sum(map(tokenizer.count, texts))
        assert estimate.tokenizer == tokenizer.name
        assert estimate.n_tokens.basis is Basis.ESTIMATED
        assert estimate.low <= truth <= estimate.high
        assert (estimate.high - estimate.low) / truth < 0.1
    whole = audit(iter(texts), tokenizers=[good]).tokenizers[0]
    interval = report.tokenizers[0].tokens_per_document_interval
    assert interval is not None
    assert interval.low <= whole.tokens_per_document.mean <= interval.high


def test_an_error_decides_how_much_is_counted(good: Tokenizer) -> None:
    texts = _texts(3_000)

    def n_counted(error: float) -> int:
        sampling = audit(
            iter(texts), tokenizers=[good], quality=False, sampling=Sampling(error=error)
        ).sampling
        assert sampling is not None
        (estimate,) = sampling.tokens_of_all
        half = (estimate.high - estimate.low) / 2
        assert sampling.is_whole or half <= error * float(estimate.n_tokens.value)
        return sampling.n_documents_counted

    assert n_counted(0.05) < n_counted(0.001)


def test_copies_count_as_often_as_they_occur(good: Tokenizer) -> None:
    texts = ["twice the value"] * 2 + ["once"] + ["many"] * 7
    report = audit(iter(texts), tokenizers=[good], sampling=Sampling(max_documents=50))
    assert report.sampling is not None
    assert report.sampling.is_whole
    assert report.corpus.n_documents == 10
    assert report.tokenizers[0].n_tokens == sum(map(good.count, texts))
    assert report.tokenizers == audit(iter(texts), tokenizers=[good]).tokenizers


def test_what_cannot_be_sampled_or_merged_says_so(good: Tokenizer) -> None:
    with pytest.raises(UsageError, match="only documents can be sampled"):
        Audit(tokenizers=[good], logs=True, sampling=Sampling(max_documents=5))
    steps = Audit(tokenizers=[good], sampling=Sampling(max_documents=5))
    counts = steps.count(iter(_texts(20)))
    with pytest.raises(UsageError, match="cannot be merged"):
        counts.merge(counts)
