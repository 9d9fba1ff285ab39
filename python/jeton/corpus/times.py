"""Times of requests: ISO 8601, or numbers since 1970 in seconds, milli-, micro- or nanoseconds."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

TimeUnit: TypeAlias = Literal["auto", "s", "ms", "us", "ns"]

# Whole, so that nanoseconds, which a float cannot hold, are divided without a loss.
_DIVISORS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

_FIRST_DAY_S = 86_400
"""Dates before it are what programs write for no time at all. Numbers may begin at 0, in traces."""

LAST_TIME_S = 4_102_444_800.0
"""2100-01-01 UTC, in seconds since 1970: a log does not come from later."""

_MAX_CHARS = 64
"""Characters of a time as text: a longer one is something else."""


def parse_time(value: Any, *, unit: TimeUnit = "auto") -> tuple[float, str]:
    """Seconds since 1970 UTC, and what is to be said about the value.

    Returns:
        ``(seconds, "")``; ``(seconds, "time_without_zone")``; or ``(nan, "bad_time")``. A number is
        taken in the largest unit in which it lies before the year 2100, unless ``unit`` says more:
        so logs from 1970-01-30 on are told apart by their size, traces that start at 0 are not.
    """
    if unit == "auto" and type(value) in (int, float) and 0 <= value <= LAST_TIME_S:
        return float(value), ""  # what most logs have
    if isinstance(value, datetime):  # Parquet
        return _from_datetime(value, "" if value.tzinfo else "time_without_zone")
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _MAX_CHARS:
            return math.nan, "bad_time"
        try:
            number: int | float = int(text) if text.isdecimal() else float(text)
        except ValueError:
            return _from_iso(text)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    else:
        return math.nan, "bad_time"
    if not 0 <= number <= LAST_TIME_S * _DIVISORS["ns"]:
        return math.nan, "bad_time"
    for divisor in _DIVISORS.values() if unit == "auto" else (_DIVISORS[unit],):
        if number / divisor <= LAST_TIME_S:
            return number / divisor, ""
    return math.nan, "bad_time"


def _from_iso(text: str) -> tuple[float, str]:
    try:
        time = datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        return math.nan, "bad_time"
    has_zone = time.tzinfo is not None or text.endswith(" UTC")
    return _from_datetime(time, "" if has_zone else "time_without_zone")


def _from_datetime(time: datetime, kind: str) -> tuple[float, str]:
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    try:
        seconds = time.timestamp()
    except (OverflowError, ValueError):
        return math.nan, "bad_time"
    if not _FIRST_DAY_S <= seconds <= LAST_TIME_S:
        return math.nan, "bad_time"
    return seconds, kind


def iso_time(seconds: float) -> str:
    """ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(math.floor(seconds), UTC).isoformat().replace("+00:00", "Z")
