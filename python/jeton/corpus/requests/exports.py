"""Usage exports read as logs: rows of OpenAI and Anthropic that add up many requests.

A bucket states the time of its rows. ``jeton.read_usage`` reads the same files as records
of usage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_TIMES: Final = ("start_time", "starting_at", "start_time_iso")


def rows_of_bucket(bucket: Mapping[str, Any]) -> Iterator[Mapping[str, Any]] | None:
    """The rows of a bucket, each with its time; None: it is none."""
    results = bucket.get("results")
    if not isinstance(results, list) or not all(isinstance(row, dict) for row in results):
        return None
    time = next((bucket[name] for name in _TIMES if bucket.get(name) is not None), None)
    if time is None:
        return None
    return ({"start_time": time, **row} for row in results)
