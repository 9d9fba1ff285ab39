"""Time that a log covers, and the requests a day that follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from jeton.errors import UsageError

_DAY_S = 86_400
_HOUR_S = 3_600
_DAYS_OF = {
    "hour": Fraction(1, 24),
    "day": Fraction(1),
    "week": Fraction(7),
    "month": Fraction(365, 12),
    "quarter": Fraction(365, 4),
    "year": Fraction(365),
}
_UNITS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}
_COUNTED = re.compile(r"(\d+(?:\.\d+)?)\s*(h|d|w|m|y|hours?|days?|weeks?|months?|years?)", re.ASCII)
_DATES = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:\s*(?:\.\.+|/|:|\bto\b|\u2013)\s*(\d{4}-\d{2}-\d{2}))?", re.ASCII
)
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_NO_TIMES = "no request has a time: requests a day are not known"


@dataclass(frozen=True, slots=True)
class Period:
    """Time that requests cover.

    Attributes:
        first_s: First request, seconds since 1970-01-01 UTC; None if no request has a time.
        last_s: Last request.
        n_days: Days that the requests are spread over; None if not known.
        n_hours_covered: Different hours (UTC) that have a request.
        n_without_time: Requests whose time is not known.
        requests_per_day: Requests divided by days; None if the days are not known.
        assumption: How that was reckoned, in a sentence.
        override: The period as given by the user; empty where the log decides.
    """

    first_s: float | None = None
    last_s: float | None = None
    n_days: Decimal | None = None
    n_hours_covered: int = 0
    n_without_time: int = 0
    requests_per_day: Decimal | None = None
    assumption: str = _NO_TIMES
    override: str = ""

    @property
    def first(self) -> datetime | None:
        """First request, UTC."""
        return None if self.first_s is None else datetime.fromtimestamp(self.first_s, tz=UTC)

    @property
    def last(self) -> datetime | None:
        """Last request, UTC."""
        return None if self.last_s is None else datetime.fromtimestamp(self.last_s, tz=UTC)


def parse_period(text: str) -> Fraction:
    """Return the days of a period: ``day``, ``week``, ``month``, ``30d``, ``6h``, or dates.

    A month is a twelfth of a year. Dates are ``2026-10-01..2026-10-31`` (both inclusive), one day,
    or one month (``2026-10``).

    Raises:
        UsageError: If it is none of these, or no time at all.
    """
    word = text.strip().casefold()
    word = {"daily": "day", "weekly": "week", "monthly": "month", "yearly": "year"}.get(word, word)
    days = _DAYS_OF.get(word.removesuffix("s"))
    if days is not None:
        return days
    counted = _COUNTED.fullmatch(word)
    if counted is not None:
        unit = counted[2].removesuffix("s") if len(counted[2]) > 1 else _UNITS[counted[2]]
        days = Fraction(counted[1]) * _DAYS_OF[unit]
    else:
        days = _days_between(word)
    if days is None or days <= 0:
        raise UsageError(
            f"cannot read the period {text!r}; expected day, week, month, 30d, 6h or dates\n"
            "hint: --period 2026-10-01..2026-10-31, both days included"
        )
    return days


def _days_between(word: str) -> Fraction | None:
    dates, month = _DATES.fullmatch(word), _MONTH.fullmatch(word)
    try:
        if dates is not None:
            first = date.fromisoformat(dates[1])
            last = date.fromisoformat(dates[2] or dates[1])
            return Fraction((last - first).days + 1)
        if month is not None:
            year, number = int(month[1]), int(month[2])
            after = date(year + number // 12, number % 12 + 1, 1)
            return Fraction((after - date(year, number, 1)).days)
    except ValueError:
        return None
    return None


def period_of(
    n_requests: int,
    *,
    first_s: float | None = None,
    last_s: float | None = None,
    hours: Mapping[int, int] | None = None,
    n_without_time: int = 0,
    override: str = "",
    requests_per_day: int | float | Decimal | None = None,
) -> Period:
    """Return the period of requests and their number a day.

    Rule: a log of a day or more covers the UTC calendar days from its first to its last request,
    those without requests included. A shorter log is taken to be a whole day's traffic, whatever
    its hours: nothing is multiplied by hours that were not seen.

    Args:
        n_requests: All requests, those without a time included.
        first_s: Time of the first one, seconds since 1970-01-01 UTC.
        last_s: Time of the last one.
        hours: Requests by hour since 1970-01-01 UTC.
        n_without_time: Requests whose time is not known.
        override: Time that the log covers, as given by the user (`parse_period`).
        requests_per_day: Traffic as given by the user.

    Raises:
        UsageError: If the override or the traffic cannot be read.
    """
    days: Fraction | None
    n_hours_covered = len(hours or {})
    n_stray, first_s, last_s = _without_stray(hours or {}, first_s, last_s)
    if requests_per_day is not None:
        return _at_rate(
            Period(first_s, last_s, None, n_hours_covered, n_without_time),
            n_requests,
            requests_per_day,
        )
    if override:
        days = parse_period(override)
        words = f"{_requests(n_requests)} in the period given ({override}): {_days(days)}"
    elif first_s is None or last_s is None:
        days, words = None, _NO_TIMES
    else:
        days, words = _from_times(n_requests, first_s, last_s)
    if days is not None and n_without_time and not override:
        words += f"; {n_without_time:,} requests without a time are counted in"
    if days is not None and n_stray and not override:
        words += f"; {n_stray:,} at times far away from all others are counted in"
    rate = None if days is None else Fraction(n_requests) / days
    return Period(
        first_s=first_s,
        last_s=last_s,
        n_days=None if days is None else _decimal(days),
        n_hours_covered=n_hours_covered,
        n_without_time=n_without_time,
        requests_per_day=None if rate is None else _decimal(rate),
        assumption=words,
        override=override,
    )


_STRAY_SHARE = 0.01
_STRAY_FACTOR = 10


def _without_stray(
    hours: Mapping[int, int], first_s: float | None, last_s: float | None
) -> tuple[int, float | None, float | None]:
    """Return how many times are stray, and the first and last of the others.

    A clock that was not set lies years away: times are stray if they are at most 1% of all and
    the span without them is less than a tenth, as for the summary of a log.
    """
    if first_s is None or last_s is None or not hours:
        return 0, first_s, last_s
    most = int(sum(hours.values()) * _STRAY_SHARE / 2)
    order = sorted(hours)
    low, n_low = _skip(order, hours, most)
    high, n_high = _skip(order[::-1], hours, most)
    n_near = high - low + 1
    if not (n_low or n_high) or n_near * _HOUR_S * _STRAY_FACTOR > last_s - first_s:
        return 0, first_s, last_s
    # A date beside the others, no further than they span, is not far away.
    near = [hour for hour in order if low - n_near <= hour <= high + n_near]
    n_stray = sum(n for hour, n in hours.items() if not near[0] <= hour <= near[-1])
    first = first_s if near[0] == order[0] else float(near[0] * _HOUR_S)
    last = last_s if near[-1] == order[-1] else float((near[-1] + 1) * _HOUR_S - 1)
    return n_stray, first, last


def _skip(order: Sequence[int], counts: Mapping[int, int], most: int) -> tuple[int, int]:
    """Return the first hour after at most so many requests, and how many were passed over."""
    passed = 0
    for hour in order:
        if passed + counts[hour] > most:
            return hour, passed
        passed += counts[hour]
    return order[-1], passed


def _at_rate(period: Period, n_requests: int, rate: int | float | Decimal) -> Period:
    exact = Decimal(str(rate))
    if not exact.is_finite() or exact < 0:
        raise UsageError(f"requests_per_day is {rate}; expected at least 0")
    words = f"{exact.normalize():,f} requests a day, as given; {_requests(n_requests)} priced"
    return replace(
        period, requests_per_day=exact, assumption=words, override=f"{rate} requests a day"
    )


def _from_times(n: int, first_s: float, last_s: float) -> tuple[Fraction, str]:
    first, last = (datetime.fromtimestamp(t, tz=UTC) for t in (first_s, last_s))
    hours = (last_s - first_s) / _HOUR_S
    if last_s - first_s < _DAY_S:
        span = f"{first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC"
        words = f"{_requests(n)}, {span}: taken as one day's traffic"
        if hours < _SHORT_LOG_HOURS and n >= _MANY:
            rate = round(n * _DAY_S / max(last_s - first_s, _HOUR_S))
            words += (
                f"; at this rate around the clock it would be {rate:,} a day "
                "(--period hour, or --requests-per-day, says otherwise)"
            )
        return Fraction(1), words
    n_days = (last.date() - first.date()).days + 1
    words = f"{_requests(n)} on {n_days} calendar days (UTC), {first.date()} to {last.date()}"
    if n_days < _WEEK and all(
        date.fromordinal(day).weekday() < _SATURDAY
        for day in range(first.date().toordinal(), last.date().toordinal() + 1)
    ):
        words += "; no weekend among them, weekends are taken to be alike (--period week if idle)"
    return Fraction(n_days), words


_SHORT_LOG_HOURS = 6
"""Below this the assumption says what the rate would be around the clock."""
_MANY = 10
"""Fewer requests have no rate."""
_WEEK = 7
_SATURDAY = 5


def _requests(n: int) -> str:
    return f"{n:,} request" if n == 1 else f"{n:,} requests"


def _days(days: Fraction) -> str:
    number = f"{float(days):,.2f}".rstrip("0").rstrip(".")
    return f"{number} day" if days == 1 else f"{number} days"


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
