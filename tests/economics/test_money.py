from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.catalog import price
from jeton.economics import api_cost, usd_per_year
from jeton.economics.money import usd_per_month
from jeton.errors import UnknownPriceError, UsageError


def test_ten_percent_of_100m_tokens_a_day_at_0_0004_per_1k() -> None:
    per_1k = Decimal("0.0004")
    listed = price(f"usd:{per_1k * 1000}")
    cost = api_cost(listed, input_tokens=[10_000_000], requests=[1], requests_per_day=1)
    assert cost.usd_per_day == Decimal("4.00")
    assert cost.usd_per_year == Decimal("1460")
    assert cost.usd_per_month == Decimal("1460") / 12


def test_a_month_is_a_twelfth_of_365_days() -> None:
    assert usd_per_month(Decimal(12)) == Decimal(365)
    assert usd_per_month(Decimal(12)) * 12 == usd_per_year(Decimal(12))


def test_input_and_output_over_a_histogram() -> None:
    cost = api_cost(
        price("usd:0.40/1.60"),
        input_tokens=[1000, 3000],
        requests=[3, 1],
        output_tokens_per_request=200,
        requests_per_day=1000,
    )
    # mean 1,500 x 0.40 + 200 x 1.60 = 920 millionths
    assert cost.usd_per_request == Decimal("0.00092")
    assert cost.usd_per_day == Decimal("0.92")


def test_without_traffic_there_is_no_day() -> None:
    cost = api_cost(price("usd:1"), input_tokens=[10], requests=[1])
    assert (cost.usd_per_day, cost.usd_per_month, cost.usd_per_year) == (None, None, None)


def test_a_missing_output_price_is_an_error() -> None:
    with pytest.raises(UnknownPriceError):
        api_cost(price("usd:1"), input_tokens=[1], requests=[1], output_tokens_per_request=1)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 1000)), min_size=1, max_size=10),
    st.integers(0, 10**6),
)
def test_half_the_tokens_are_half_the_money(
    histogram: list[tuple[int, int]], requests_per_day: int
) -> None:
    lengths, requests = zip(*histogram, strict=True)
    listed = price("usd:0.40")
    # Requests of the sample as traffic: no division, so no rounding.
    half = listed.usd_for_lengths(lengths, requests)
    whole = listed.usd_for_lengths([2 * length for length in lengths], requests)
    assert whole == 2 * half
    cost = api_cost(
        listed, input_tokens=lengths, requests=requests, requests_per_day=requests_per_day
    )
    assert cost.usd_per_day is not None
    expected = float(half) / sum(requests) * requests_per_day
    assert float(cost.usd_per_day) == pytest.approx(expected)


@pytest.mark.parametrize("traffic", [-1, float("nan"), float("inf")])
def test_impossible_traffic_is_refused(traffic: float) -> None:
    with pytest.raises(UsageError, match="requests_per_day"):
        api_cost(price("usd:1"), input_tokens=[1], requests=[1], requests_per_day=traffic)


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="no requests"):
        api_cost(price("usd:1"), input_tokens=[], requests=[])
