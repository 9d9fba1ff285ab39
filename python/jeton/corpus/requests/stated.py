"""The cost that a log states itself, as a fact beside the amounts: in whole billionths of a USD.

A gateway that calls a provider with a key of one's own charges a fee; the provider's bill is the
upstream cost then, and it goes to another account.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.counts import Report

MAX_USD: Final = 100_000
"""USD of one record; more is a mistake: a hundred million tokens at the dearest rate of the list
(600 USD a million) cost less."""

_NANO: Final = 1_000_000_000
_TICKS: Final = 10
"""Ticks of xAI in a billionth of a USD."""

_UNKNOWN: Final = -1
_INSIDE: Final = ("total", "total_cost", "total_cost_usd", "totalCost")


def nanousd_of(value: Any, report: Report) -> int:
    """A stated cost out of JSON or CSV (``0.0132``, ``"$0.12"``); -1 where it states none."""
    if isinstance(value, dict):
        value = next((value[name] for name in _INSIDE if value.get(name) is not None), None)
    if value is None or isinstance(value, bool):
        return _UNKNOWN
    if isinstance(value, str):
        text = value.strip().removeprefix("$").replace(",", "")
        if not text or text[:1].isalpha() or text == "-":
            return _UNKNOWN  # words such as "Included" state no amount
        try:
            value = float(text)
        except ValueError:
            value = math.nan
    if not isinstance(value, int | float) or not 0 <= value <= MAX_USD:
        shown = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "too long"
        report("bad_cost", f"the stated cost is {shown[:40]}")
        return _UNKNOWN
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
