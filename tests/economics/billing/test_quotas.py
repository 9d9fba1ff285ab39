"""Quotas: the busiest minute exactly, and when it grows beyond the limit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.economics.billing.quotas import Quota, quota_from_log, quota_from_rate
from jeton.errors import UsageError
from jeton.findings import Basis


def log(*rows: tuple[float, int]) -> dict[str, Any]:
    return {
        "time_s": np.array([time for time, _ in rows], dtype=float),
        "tokens": np.array([tokens for _, tokens in rows]),
    }


def test_the_busiest_minute_slides() -> None:
    # 59.9 seconds apart are in one minute although a clock's minute parts them; 60 are not.
    report = quota_from_log(
        Quota(tokens_per_minute=1000), **log((30.0, 400), (89.9, 500), (90.0, 300))
    )
    assert report.peak_tokens_per_minute == 900
    assert report.peak_requests_per_minute == 2
    assert report.binding == "tokens_per_minute"
    assert report.used_share == 0.9
    assert report.basis is Basis.EXACT
    assert report.first_exceeded_s is None
    assert report.n_refused == 0


def test_the_nearest_limit_binds_and_refuses() -> None:
    rows = [(float(i), 10) for i in range(10)]
    report = quota_from_log(Quota(tokens_per_minute=1000, requests_per_minute=6), **log(*rows))
    assert report.binding == "requests_per_minute"
    assert report.used_share == pytest.approx(10 / 6)
    assert report.first_exceeded_s == 6.0
    assert report.n_refused == 4
    assert report.months_until_exhausted is None


def test_fewer_tokens_per_request_fit_the_quota() -> None:
    report = quota_from_log(Quota(tokens_per_minute=600), **log((0, 500), (1, 500)))
    assert report.tokens_factor_that_fits == pytest.approx(0.6)
    halved = quota_from_log(Quota(tokens_per_minute=600), **log((0, 250), (1, 250)))
    assert halved.peak_tokens_per_minute == report.peak_tokens_per_minute / 2
    assert halved.n_refused == 0


def test_growth_until_the_quota_is_used_up() -> None:
    report = quota_from_log(Quota(tokens_per_minute=800), **log((0, 100)), growth_per_month=1.0)
    assert report.months_until_exhausted == pytest.approx(3)  # doubling: 100, 200, 400, 800
    shrinking = quota_from_log(Quota(tokens_per_minute=800), **log((0, 100)), growth_per_month=-0.1)
    assert shrinking.months_until_exhausted is None
    gone = quota_from_log(Quota(tokens_per_minute=80), **log((0, 100)), growth_per_month=0.1)
    assert gone.months_until_exhausted == 0


def test_days_have_limits_too() -> None:
    rows = [(3600.0 * hour, 1) for hour in range(30)]
    report = quota_from_log(Quota(requests_per_day=20), **log(*rows))
    assert report.peak_requests_per_day == 24
    assert report.first_exceeded_s == 3600.0 * 20


def test_unknown_times_and_counts_are_left_out() -> None:
    report = quota_from_log(Quota(tokens_per_minute=10), **log((math.nan, 5), (1, -1), (2, 7)))
    assert report.peak_tokens_per_minute == 7


def test_a_rate_gives_an_estimate() -> None:
    report = quota_from_rate(
        Quota(tokens_per_minute=100_000), requests_per_day=14_400, tokens_mean=1000
    )
    # 10 a minute; 3.09 standard deviations of sqrt(10) requests.
    assert report.peak_requests_per_minute == pytest.approx(10 + 3.0902 * math.sqrt(10), rel=1e-4)
    assert report.peak_tokens_per_minute == pytest.approx(1000 * report.peak_requests_per_minute)
    assert report.basis is Basis.ESTIMATED
    rng = np.random.default_rng(0)
    minutes = rng.poisson(10, 200_000) * 1000
    # The normal quantile of a Poisson of 10 is a little low; within a request or two.
    assert np.quantile(minutes, 0.999) == pytest.approx(report.peak_tokens_per_minute, abs=2000)


def test_no_limit_binds_nothing() -> None:
    report = quota_from_log(Quota(), **log((0, 5)))
    assert (report.binding, report.used_share) == (None, 0)


events = st.lists(
    st.tuples(st.floats(0, 600, allow_nan=False), st.integers(0, 1000)), min_size=1, max_size=40
)


@given(events)
def test_the_peak_is_that_of_the_definition(rows: list[tuple[float, int]]) -> None:
    report = quota_from_log(Quota(tokens_per_minute=1), **log(*rows))
    naive = max(sum(tokens for time, tokens in rows if end - 60 < time <= end) for end, _ in rows)
    assert report.peak_tokens_per_minute == naive


@given(events, st.integers(1, 3000))
def test_what_is_admitted_keeps_the_limit(rows: list[tuple[float, int]], limit: int) -> None:
    report = quota_from_log(Quota(tokens_per_minute=limit), **log(*rows))
    assert report.n_refused is not None
    assert (report.n_refused == 0) == (report.peak_tokens_per_minute <= limit)
    assert (report.first_exceeded_s is None) == (report.n_refused == 0)


def test_bad_input() -> None:
    with pytest.raises(UsageError, match="below 1"):
        quota_from_log(Quota(tokens_per_minute=0), **log((0, 1)))
    with pytest.raises(UsageError, match="as many of each"):
        quota_from_log(Quota(), time_s=np.zeros(2), tokens=np.zeros(1, int))
    with pytest.raises(UsageError, match="no request"):
        quota_from_log(Quota(), **log((math.nan, 1)))
    with pytest.raises(UsageError, match="expected numbers"):
        quota_from_rate(Quota(), requests_per_day=-1, tokens_mean=1)
    with pytest.raises(UsageError, match="growth_per_month"):
        quota_from_log(Quota(), **log((0, 1)), growth_per_month=-1)
