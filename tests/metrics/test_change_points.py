"""Change points: how often noise passes for one, and whether a planted one is found on its day."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from jeton.errors import UsageError
from jeton.metrics.change_points import change_points

N_SERIES = 1_000
N_DAYS = 31
NOISE = 0.1


def series(seed: int) -> NDArray[np.float64]:
    return 100 * (1 + NOISE * np.random.default_rng(seed).standard_normal((N_SERIES, N_DAYS)))


def test_one_in_a_hundred_series_without_a_change_has_one() -> None:
    weights = np.ones(N_DAYS)
    n_cut = sum(bool(change_points(row, weights, min_change=0)) for row in series(1))
    # 10 are expected; three standard deviations of a binomial beside them.
    assert n_cut <= 20


def test_a_rise_by_a_half_is_found_on_its_day() -> None:
    weights = np.ones(N_DAYS)
    rows = series(2)
    rows[:, 15:] *= 1.5
    found = [change_points(row, weights) for row in rows]
    assert sum(bool(points) for points in found) >= 0.98 * N_SERIES
    assert sum(any(point.index == 15 for point in points) for points in found) >= 0.9 * N_SERIES


def test_points_without_weight_are_left_out() -> None:
    values = [10.0] * 5 + [0.0] + [20.0] * 5
    (point,) = change_points(values, [1.0] * 5 + [0.0] + [1.0] * 5)
    assert (point.index, point.before, point.after) == (6, 10.0, 20.0)


def test_arrays_of_different_length_are_refused() -> None:
    with pytest.raises(UsageError, match="expected as many of each"):
        change_points([1.0, 2.0], [1.0])
