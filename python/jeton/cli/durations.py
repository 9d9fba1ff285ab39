"""Durations on the command line: 90s, 10m, 1h."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|)")


class Duration(click.ParamType[float]):
    """A number of seconds, minutes or hours: 90s, 10m, 1h."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Returns seconds."""
        if isinstance(value, float):
            return value
        found = _DURATION.fullmatch(str(value).strip())
        if found is None or float(found[1]) <= 0:
            self.fail(f"{value!r} is no duration; expected for example 90s, 10m or 1h", param, ctx)
        return float(found[1]) * _UNITS[found[2]]
