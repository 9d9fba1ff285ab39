"""The Pareto front and the best candidate under the user's limits."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.economics import trade_off
from jeton.economics.tradeoff import Candidate, Limits
from jeton.errors import UsageError

BIG = Candidate("big", memory_bytes=40e9, usd_per_month=Decimal(900), seconds_per_request=0.4)
SMALL = Candidate("small", memory_bytes=10e9, usd_per_month=Decimal(1000), seconds_per_request=0.5)
WORSE = Candidate("worse", memory_bytes=41e9, usd_per_month=Decimal(901), seconds_per_request=0.4)


def test_the_front_leaves_out_what_is_dominated() -> None:
    found = trade_off([BIG, SMALL, WORSE])
    assert [point.is_on_front for point in found.points] == [True, True, False]
    assert found.best == "big"
    assert "900" in found.reason
    assert found.objectives == ("usd_per_month", "seconds_per_request", "memory_bytes")


def test_twins_are_both_on_the_front() -> None:
    twin = Candidate("twin", BIG.memory_bytes, BIG.usd_per_month, BIG.seconds_per_request)
    found = trade_off([BIG, twin])
    assert all(point.is_on_front for point in found.points)
    assert found.best == "big"  # by name, the last tie


def test_limits_leave_the_best_of_those_that_keep_them() -> None:
    found = trade_off([BIG, SMALL], limits=Limits(memory_bytes=24e9))
    assert found.best == "small"
    assert found.points[0].violates == ("memory_bytes",)
    assert found.points[1].violates == ()
    assert "1 of 2" in found.reason


def test_limits_that_nobody_keeps() -> None:
    limits = Limits(memory_bytes=24e9, seconds_per_request=0.1)
    found = trade_off([BIG, SMALL], limits=limits)
    assert found.best is None
    assert "memory_bytes" in found.reason
    assert "seconds_per_request" in found.reason


def test_what_is_unknown_of_one_counts_for_none_but_breaks_a_limit() -> None:
    good = Candidate("good", 1, 1, 1, bits_per_byte=0.9)
    silent = Candidate("silent", 1, 1, 1)
    found = trade_off([good, silent], limits=Limits(bits_per_byte=1.0), prefer="bits_per_byte")
    assert found.points[1].is_on_front
    assert found.points[1].violates == ("bits_per_byte (unknown)",)
    assert found.best == "good"
    assert "bits per byte are not compared: not known for silent" in found.reason


def test_preferring_time() -> None:
    fast = Candidate("fast", 1, 5, 0.1)
    cheap = Candidate("cheap", 1, 1, 0.9)
    assert trade_off([fast, cheap], prefer="seconds_per_request").best == "fast"
    assert trade_off([fast, cheap]).best == "cheap"


number = st.one_of(st.integers(0, 3), st.floats(0, 1e9))
candidates = st.lists(st.tuples(number, number, number, number), min_size=1, max_size=8).map(
    lambda rows: [Candidate(f"c{i}", *row) for i, row in enumerate(rows)]
)


@given(candidates, st.tuples(number, number, number, number))
def test_the_best_is_on_the_front_and_keeps_the_limits(
    found_candidates: list[Candidate], bounds: tuple[float, float, float, float]
) -> None:
    found = trade_off(found_candidates, limits=Limits(*bounds))
    points = {point.name: point for point in found.points}
    assert any(point.is_on_front for point in found.points)
    for point in found.points:
        beaten = any(
            all(a <= b for a, b in zip(_row(other), _row(point), strict=True))
            and _row(other) != _row(point)
            for other in found.points
        )
        assert point.is_on_front == (not beaten)
    if found.best is None:
        assert all(point.violates for point in found.points)
    else:
        assert points[found.best].is_on_front
        assert not points[found.best].violates


def _row(point: object) -> list[float]:
    names = ("memory_bytes", "usd_per_month", "seconds_per_request", "bits_per_byte")
    return [getattr(point, name) for name in names]


@pytest.mark.parametrize(
    ("given_candidates", "message"),
    [
        ([], "no candidate"),
        ([BIG, BIG], "given twice"),
        ([Candidate("x", usd_per_month=-1)], "usd_per_month of 'x' is -1"),
        ([Candidate("x", memory_bytes=float("nan"))], "memory_bytes of 'x' is nan"),
    ],
)
def test_bad_input_is_named(given_candidates: list[Candidate], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        trade_off(given_candidates)


def test_an_unknown_preference_is_refused() -> None:
    with pytest.raises(UsageError, match="prefer is 'speed'"):
        trade_off([BIG], prefer="speed")  # type: ignore[arg-type]


def test_nothing_known_gives_no_best() -> None:
    found = trade_off([Candidate("a"), Candidate("b", usd_per_month=1)])
    assert found.best is None
    assert "known of every candidate" in found.reason
