"""Intervals: they cover what they should, and do not depend on anything but text and seed."""

from __future__ import annotations

import random

import numpy as np

from jeton._core import Tokenizer
from jeton.auditing import audit
from jeton.metrics.bootstrap import CONFIDENCE
from jeton.workload.counting.intervals import (
    N_GROUPS,
    GroupSums,
    bytes_per_token_interval,
    tokens_per_document_interval,
)


def _words(generator: random.Random, n: int) -> list[str]:
    return [
        f"{generator.random()} " + "the statement " * generator.choice((1, 2, 5, 30))
        for _ in range(n)
    ]


def test_intervals_hold_the_truth_about_as_often_as_they_say(good: Tokenizer) -> None:
    generator = random.Random(7)
    population = _words(generator, 20_000)
    truth = float(np.mean(good.count_batch(population)))
    n_covered = 0
    for _ in range(40):
        report = audit(
            iter(generator.sample(population, 200)), tokenizers=[good], quality=False
        ).tokenizers[0]
        interval = report.tokens_per_document_interval
        assert interval is not None
        assert interval.low < report.tokens_per_document.mean < interval.high
        n_covered += interval.low <= truth <= interval.high
    # 38 of 40 are expected; 33 and fewer have a chance below 0.5%.
    assert n_covered >= 34


def test_a_ratio_is_known_better_than_a_mean_of_lengths(good: Tokenizer) -> None:
    report = audit(
        iter(_words(random.Random(1), 300)), tokenizers=[good], quality=False
    ).tokenizers[0]
    tokens, ratio = report.tokens_per_document_interval, report.bytes_per_token_interval
    assert tokens is not None
    assert ratio is not None
    assert ratio.confidence == CONFIDENCE
    assert ratio.low < report.bytes_per_token < ratio.high
    width_of_tokens = (tokens.high - tokens.low) / report.tokens_per_document.mean
    assert (ratio.high - ratio.low) / report.bytes_per_token < width_of_tokens


def test_few_documents_have_no_interval(good: Tokenizer) -> None:
    report = audit(iter(["one", "two", "three"]), tokenizers=[good], quality=False).tokenizers[0]
    assert report.tokens_per_document_interval is None
    assert report.bytes_per_token_interval is None


def test_the_seed_decides_and_nothing_else(good: Tokenizer) -> None:
    texts = _words(random.Random(3), 100)
    first = audit(iter(texts), tokenizers=[good], quality=False, seed=5).tokenizers
    assert (
        first
        == audit(
            iter(texts[::-1]), tokenizers=[good], quality=False, seed=5, num_threads=1
        ).tokenizers
    )
    other = audit(iter(texts), tokenizers=[good], quality=False, seed=6).tokenizers
    assert first[0].tokens_per_document_interval != other[0].tokens_per_document_interval


def test_sums_of_groups_are_the_bootstrap_of_equal_groups() -> None:
    groups = GroupSums(1)
    groups.add_documents(np.arange(N_GROUPS), np.full(N_GROUPS, 10))
    groups.add_tokens(0, np.arange(N_GROUPS), np.full(N_GROUPS, 4))
    groups.add_overhead(0, np.arange(N_GROUPS), np.full(N_GROUPS, 3))
    tokens, ratio = tokens_per_document_interval(groups, 0), bytes_per_token_interval(groups, 0)
    assert tokens is not None
    assert ratio is not None
    assert (tokens.low, tokens.high) == (7, 7)
    assert (ratio.low, ratio.high) == (2.5, 2.5)
