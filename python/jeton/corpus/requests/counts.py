"""Numbers of a log as counts: whole, not negative, not absurd.

The cost that a log states itself, as a fact beside the amounts: in whole billionths of a USD.

A gateway that calls a provider with a key of one's own charges a fee; the provider's bill is the
upstream cost then, and it goes to another account.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
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


MAX_USD: Final = 100_000
"""USD of one record; more is a mistake: a hundred million tokens at the dearest rate of the list
(600 USD a million) cost less."""

_NANO: Final = 1_000_000_000
_TICKS: Final = 10
"""Ticks of xAI in a billionth of a USD."""

_UNSTATED: Final = -1
_INSIDE: Final = ("total", "total_cost", "total_cost_usd", "totalCost")


def nanousd_of(value: Any, report: Report) -> int:
    """A stated cost out of JSON or CSV (``0.0132``, ``"$0.12"``); -1 where it states none."""
    if isinstance(value, dict):
        value = next((value[name] for name in _INSIDE if value.get(name) is not None), None)
    if value is None or isinstance(value, bool):
        return _UNSTATED
    if isinstance(value, str):
        text = value.strip().removeprefix("$").replace(",", "")
        if not text or text[:1].isalpha() or text == "-":
            return _UNSTATED  # words such as "Included" state no amount
        try:
            value = float(text)
        except ValueError:
            value = math.nan
    if not isinstance(value, int | float) or not 0 <= value <= MAX_USD:
        shown = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "too long"
        report("bad_cost", f"the stated cost is {shown[:40]}")
        return _UNSTATED
    return round(value * _NANO)


def stated_facts(
    given: Any, costs: Mapping[str, Any], report: Report, n_requests: int = 1
) -> dict[str, int]:
    """Facts of a stated cost; empty where none is stated.

    Args:
        given: The record's own field; None: it has none.
        costs: Costs of the usage by meaning (``usage_names.COSTS``).
        report: Called for what is no amount.
        n_requests: Requests that the record adds up.
    """
    total = nanousd_of(given, report)
    if total < 0 and "total" in costs:
        total = nanousd_of(costs["total"], report)
    if total < 0 and type(costs.get("ticks")) is int:
        total = nanousd_of(costs["ticks"] / (_TICKS * _NANO), report)
    if costs.get("own key") is True:
        upstream = nanousd_of(costs.get("upstream"), report)
        if upstream >= 0:
            return {
                "stated_requests": n_requests,
                "stated_nanousd": upstream,
                "own_key_requests": n_requests,
                "gateway_nanousd": max(total, 0),
            }
    if total < 0:
        return {}
    return {"stated_requests": n_requests, "stated_nanousd": total}
