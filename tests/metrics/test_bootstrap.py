"""Intervals hold what they should, repeat exactly, and agree with other ways to the same figure."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.errors import UsageError
from jeton.metrics import (
    Interval,
    bootstrap_mean,
    bootstrap_quantile,
    bootstrap_ratio,
    bootstrap_sums,
)
from jeton.metrics.bootstrap import MAX_DOCUMENTS, _draws, _kept_draws


def lognormal(n: int, seed: int = 1) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).lognormal(5, 1, n).round()


def test_the_same_documents_give_the_same_interval() -> None:
    lengths = lognormal(300)
    one = bootstrap_mean(lengths)
    assert one == bootstrap_mean(lengths.tolist())
    assert one is not None
    assert (one.method, one.confidence, one.n_resamples, one.seed) == ("bca", 0.95, 2000, 0)
    assert one.low < lengths.mean() < one.high
    other = bootstrap_mean(lengths, seed=1)
    assert other is not None
    assert other != one
    assert other.low == pytest.approx(one.low, rel=0.02)


def test_kept_draws_are_those_that_would_be_drawn_again() -> None:
    for kept, drawn in zip(_kept_draws(300, 2000, 0), _draws(300, 2000, 0), strict=True):
        assert (kept == drawn).all()
        assert (drawn.sum(axis=1) == 300).all()


def test_a_mean_agrees_with_the_central_limit() -> None:
    values = np.random.Generator(np.random.PCG64(3)).normal(100, 15, 2000)
    reach = NormalDist().inv_cdf(0.975) * values.std(ddof=1) / math.sqrt(len(values))
    for method in ("bca", "percentile"):
        found = bootstrap_mean(values, method=method)
        assert found is not None
        assert found.low == pytest.approx(values.mean() - reach, abs=0.08)
        assert found.high == pytest.approx(values.mean() + reach, abs=0.08)


def test_many_documents_take_the_jackknife_and_agree() -> None:
    lengths = lognormal(MAX_DOCUMENTS + 1)
    many = bootstrap_mean(lengths)
    drawn = bootstrap_mean(lengths[:-1], n_resamples=400)
    assert many is not None
    assert drawn is not None
    assert (many.method, many.n_resamples, drawn.method) == ("delta", 0, "bca")
    error = lengths.std(ddof=1) / math.sqrt(len(lengths))
    assert many.high - lengths.mean() == pytest.approx(1.959964 * error, rel=1e-4)
    assert many.low == pytest.approx(drawn.low, abs=0.4 * error)


def test_bca_of_a_skewed_mean_leans_to_the_long_tail() -> None:
    lengths = lognormal(60)
    bca, plain = bootstrap_mean(lengths), bootstrap_mean(lengths, method="percentile")
    assert bca is not None
    assert plain is not None
    assert bca.low > plain.low
    assert bca.high > plain.high


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    truth = math.exp(5.5)
    held = 0
    for seed in range(120):
        found = bootstrap_mean(lognormal(80, seed + 10), n_resamples=300, seed=seed)
        assert found is not None
        held += found.low <= truth <= found.high
    # 95% of 120 is 114; a lognormal mean of 80 documents is known to fall somewhat short.
    assert 102 <= held <= 120


def test_a_ratio_is_of_sums_not_a_mean_of_ratios() -> None:
    tokens, n_bytes = np.array([1, 1000]), np.array([10, 2000])
    found = bootstrap_ratio(n_bytes, tokens, method="percentile")
    assert found is not None
    assert (found.low, found.high) == (2.0, 10.0)
    assert bootstrap_ratio([4, 4, 4], [2, 2, 2]) == Interval(2.0, 2.0, 0.95, "bca", 2000, 0)


@given(
    values=st.lists(st.integers(0, 50), min_size=2, max_size=30),
    share=st.sampled_from([0.5, 0.95, 0.99, 1.0]),
)
def test_quantiles_are_documents_and_rise(values: list[int], share: float) -> None:
    found = bootstrap_quantile(values, share)
    assert found is not None
    assert found.low in values
    assert found.high in values
    assert found.low <= found.high


def test_a_quantile_agrees_with_drawing_documents() -> None:
    lengths = lognormal(200)
    found = bootstrap_quantile(lengths, 0.95)
    generator = np.random.Generator(np.random.PCG64(7))
    drawn = lengths[generator.integers(200, size=(4000, 200))]
    ends = np.quantile(drawn, 0.95, axis=1, method="inverted_cdf")
    low, high = np.quantile(ends, [0.025, 0.975], method="inverted_cdf")
    assert found is not None
    ranks = np.sort(lengths)
    for mine, theirs in ((found.low, low), (found.high, high)):
        assert abs(int(np.searchsorted(ranks, mine)) - int(np.searchsorted(ranks, theirs))) <= 1


def test_too_little_has_no_interval() -> None:
    assert bootstrap_mean([]) is None
    assert bootstrap_mean([3]) is None
    assert bootstrap_ratio([1, 2], [0, 0]) is None
    assert bootstrap_quantile([1], 0.5) is None
    # A resample without a denominator is left out, the others count.
    found = bootstrap_ratio([1, 2], [0, 1], method="percentile")
    assert found is not None
    assert math.isfinite(found.high)


def test_numbers_out_of_range() -> None:
    with pytest.raises(UsageError, match=r"confidence is 1; expected above 0 and below 1"):
        bootstrap_mean([1, 2], confidence=1)
    with pytest.raises(UsageError, match=r"n_resamples is 5"):
        bootstrap_mean([1, 2], n_resamples=5)
    with pytest.raises(UsageError, match=r"one of each for every document"):
        bootstrap_ratio([1, 2], [1])
    with pytest.raises(UsageError, match=r"quantile 0 is out of range"):
        bootstrap_quantile([1, 2], 0)
    with pytest.raises(UsageError, match=r"1 dimensions"):
        bootstrap_sums([1, 2], lambda sums: sums[:, 0])
