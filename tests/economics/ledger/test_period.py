"""Requests a day: by the days that a log covers, and never by hours that were not seen."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from jeton.economics.ledger import Period, parse_period, period_of
from jeton.errors import UsageError

DAY_S = 86_400


def at(day: int, hour: float, month: int = 10) -> float:
    return datetime(2026, month, day, tzinfo=UTC).timestamp() + hour * 3600


def of(times: list[float], **options: object) -> Period:
    hours: dict[int, int] = {}
    for moment in times:
        hours[int(moment // 3600)] = hours.get(int(moment // 3600), 0) + 1
    return period_of(
        len(times),
        first_s=min(times),
        last_s=max(times),
        hours=hours,
        **options,  # type: ignore[arg-type]
    )


def test_a_part_of_a_day_is_a_day() -> None:
    times = [at(5, 8.15 + 11.8 * n / 149) for n in range(150)]
    period = of(times)
    assert period.requests_per_day == 150
    assert "2026-10-05 08:09 to 19:57 UTC" in period.assumption
    assert "taken as one day's traffic" in period.assumption
    assert period.n_hours_covered == 12


def test_a_month_is_its_days() -> None:
    times = [at(day, 8 + n / 13) for day in range(1, 32) for n in range(150)]
    period = of(times)
    assert period.requests_per_day == 150
    assert period.n_days == 31


def test_days_without_requests_count() -> None:
    assert of([at(1, 9), at(1, 10), at(4, 9), at(4, 10)]).requests_per_day == 1


def test_a_night_is_one_day() -> None:
    assert of([at(1, 20), at(1, 22), at(2, 5)]).requests_per_day == 3


def test_weekdays_alone_are_said_to_be() -> None:
    times = [at(day, 9 + n / 10) for day in range(5, 10) for n in range(100)]
    period = of(times)
    assert period.requests_per_day == 100
    assert "no weekend among them" in period.assumption
    assert of(times, override="week").requests_per_day == Decimal(500) / 7
    assert "no weekend" not in of([at(d, 9) for d in range(1, 15)]).assumption


def test_an_hour_is_not_multiplied_by_24() -> None:
    period = of([at(5, 9 + n / 600) for n in range(600)])
    assert period.requests_per_day == 600
    assert "14,400 a day" in period.assumption
    assert of([at(5, 9 + n / 600) for n in range(600)], override="hour").requests_per_day == 14_400


def test_a_clock_that_was_not_set_does_not_stretch_a_log() -> None:
    times = [at(day, 8 + n / 13) for day in range(1, 32) for n in range(150)]
    period = of([*times, 0.0, 3.0])
    assert period.n_days == 31
    assert "2 at times far away" in period.assumption


def test_what_is_given_holds() -> None:
    period = of([at(5, 9)] * 10, requests_per_day=50_000)
    assert period.requests_per_day == 50_000
    assert "as given" in period.assumption
    assert period_of(7).requests_per_day is None
    assert period_of(7, override="day").requests_per_day == 7
    with pytest.raises(UsageError, match="requests_per_day is -1"):
        period_of(7, requests_per_day=-1)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("day", 1),
        ("Week", 7),
        ("month", Fraction(365, 12)),
        ("year", 365),
        ("hour", Fraction(1, 24)),
        ("30d", 30),
        ("6h", Fraction(1, 4)),
        ("2 weeks", 14),
        ("1.5 days", Fraction(3, 2)),
        ("2026-10-01..2026-10-31", 31),
        ("2026-10-01/2026-10-01", 1),
        ("2026-10-05", 1),
        ("2026-02", 28),
        ("2026-12", 31),
    ],
)
def test_periods_as_people_write_them(text: str, days: Fraction | int) -> None:
    assert parse_period(text) == days


@pytest.mark.parametrize(
    "text", ["", "fortnight", "0d", "-3d", "2026-13", "2026-10-31..2026-10-01", "30", "1e9d"]
)
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read the period"):
        parse_period(text)
