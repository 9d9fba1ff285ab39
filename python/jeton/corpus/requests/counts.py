"""Numbers of a log as counts: whole, not negative, not absurd."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

MAX_TOKENS: Final = 100_000_000
"""A count above this is a mistake, in tokens: ten times the longest context window published for a
model in production (Llama 4 Scout, 10 million; ai.meta.com, 2025-04-05)."""

MAX_SUMMED: Final = 10**15
"""Limit for a row of an export, which adds up many requests: a thousand times the tokens that all
models of one provider generate in a day."""

MILLISECONDS: Final = 1_000
"""Seconds are stored as whole milliseconds (``jeton.dimensions``)."""

Report = Callable[[str, str], None]
"""Called with the kind of an issue and its detail."""

_UNKNOWN: Final = -1

DOUBTS: Final = frozenset(
    {
        "negative_count", "absurd_count", "bad_count", "inconsistent_usage",
        "convention_undecided", "unread_usage", "unknown_tariff", "cache_not_logged",
    }
)  # fmt: skip
"""Issues after which the price of a request is an estimate."""


class Watch:
    """Passes reports on, and notes whether one of them makes the usage doubtful."""

    __slots__ = ("_report", "is_doubtful")

    def __init__(self, report: Report) -> None:
        self._report = report
        self.is_doubtful = False

    def __call__(self, kind: str, detail: str) -> None:
        """Pass a report on."""
        if kind in DOUBTS:
            self.is_doubtful = True
        self._report(kind, detail)


# CSV, spreadsheets and OTLP write numbers as strings: 12, 12.0, 1,234.
_WHOLE: Final = re.compile(r"\s*(-?\d{1,18}|-?\d{1,3}(?:,\d{3}){1,5})(?:\.0*)?\s*", re.ASCII)


def count_of(value: Any, name: str, report: Report, *, most: int = MAX_TOKENS) -> int:
    """A count out of JSON or CSV; -1 (and a report) if it is none."""
    number: float | None = None
    if type(value) is int or (
        isinstance(value, float) and math.isfinite(value) and value == math.floor(value)
    ):
        number = value
    elif isinstance(value, str) and len(value) <= 32:
        match = _WHOLE.fullmatch(value)
        number = int(match[1].replace(",", "")) if match else None
    if number is None:
        report("bad_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    if number < 0:
        report("negative_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    if number > most:
        report("absurd_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    return int(number)


def milliseconds_of(value: Any, name: str, report: Report) -> int:
    """Seconds out of JSON or CSV as whole milliseconds; -1 (and a report) if they are none."""
    try:
        seconds = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, bool) or not math.isfinite(seconds):
        report("bad_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    if not 0 <= seconds <= MAX_TOKENS:
        report("negative_count" if seconds < 0 else "absurd_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    return round(seconds * MILLISECONDS)


def _shown(value: Any) -> str:
    # Not the repr of a whole number of a million digits, which Python refuses to write.
    if type(value) is int:
        text = f"{value:,}" if abs(value) < 10**30 else "a number of more than 30 digits"
    else:
        text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
