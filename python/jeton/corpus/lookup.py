"""Values of a record: by a dotted path, as a name, out of JSON in a string."""

from __future__ import annotations

import math
from typing import Any

from jeton._foreign import json_of

__all__ = ["lookup", "parsed_json", "text_or_none"]


def lookup(record: Any, path: str) -> Any:
    """The value at a dotted path; a key that has dots in it itself goes first. None: not there.

    A string that holds a JSON object is descended into, as tables keep nested columns.
    """
    if not isinstance(record, dict):
        return None
    if path in record:
        return record[path]
    head, dot, rest = path.partition(".")
    while dot:
        inner = record.get(head)
        if isinstance(inner, str):
            inner = parsed_json(inner)
        if isinstance(inner, dict):
            found = lookup(inner, rest)
            if found is not None:
                return found
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def text_or_none(value: Any) -> str | None:
    """A name or a number as text; anything else is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else None
    return repr(value) if isinstance(value, float) and math.isfinite(value) else None


def parsed_json(value: Any) -> Any:
    """An object that is written as a string, as gateways log bodies."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json_of(value, any_integer=True)
        except (ValueError, RecursionError):
            return value
    return value
