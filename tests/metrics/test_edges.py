"""Statistics at ties, and the second half of a rule: falls beside rises."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from jeton.metrics.bootstrap import _bca_shares, bootstrap_quantile
from jeton.metrics.change_points import change_points


@pytest.mark.parametrize(("before", "after"), [(10.0, 20.0), (20.0, 10.0)])
def test_rises_and_falls_are_both_found(before: float, after: float) -> None:
    (point,) = change_points([before] * 6 + [after] * 6, [1.0] * 12)
    assert (point.index, point.before, point.after) == (6, before, after)


def test_ties_count_half() -> None:
    """Values on both sides alike and half the resamples equal: no bias, whatever ties there are."""
    resamples = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    left_out = np.array([0.9, 1.0, 1.1])
    low, high = _bca_shares(1.0, left_out, resamples, 0.025)
    assert low == pytest.approx(0.025)
    assert high == pytest.approx(0.975)
    # 2 below and 4 equal of 8 are a half; one more below is five eighths.
    low, _ = _bca_shares(1.0, left_out, np.array([0.0, 0.0, 0.0, 1, 1, 1, 1, 2]), 0.025)
    normal = NormalDist()
    bias = normal.inv_cdf(5 / 8)
    assert low == pytest.approx(normal.cdf(2 * bias + normal.inv_cdf(0.025)))


@pytest.mark.parametrize("share", [0.07, 0.14, 0.28, 0.55, 0.56, 0.57])
def test_a_rank_is_not_moved_by_binary_rounding(share: float) -> None:
    """0.07 * 100 is 7.000000000000001: the rank is 7, and the interval lies around the 7th."""
    n = 100
    rank = round(share * n)
    found = bootstrap_quantile(np.arange(1.0, n + 1), share, n_resamples=4000, seed=3)
    assert found is not None
    draws = np.random.Generator(np.random.PCG64(3)).beta(rank, n - rank + 1, size=4000)
    values = np.minimum((draws * n).astype(np.int64), n - 1) + 1
    low, high = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    assert (found.low, found.high) == (low, high)
    assert math.isclose(found.confidence, 0.95)
