"""Values of a record: by a dotted path, as a name, out of JSON in a string."""

from __future__ import annotations

import math
from typing import Any

from jeton._foreign import json_of


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


def value_at(record: Any, path: str) -> tuple[bool, Any]:
    """True if the path of a text leads somewhere, and the value there: the language of ``--field``.

    Dots descend, ``[]`` joins the texts of a list by line ends, and a key that has dots itself goes
    before what they would descend to. A null on the way is a null. JSON in a string counts.
    """
    if isinstance(record, dict) and path in record:
        return True, record[path]
    head, brackets, rest = path.partition("[]")
    if brackets:
        is_there, values = value_at(record, head) if head else (True, record)
        values = parsed_json(values)
        if not isinstance(values, list):
            return is_there, values if values is None else ValueError()
        rest = rest.removeprefix(".")
        found = [value_at(value, rest) if rest else (True, value) for value in values]
        texts = [value for _, value in found if isinstance(value, str)]
        return bool(texts) or not values, "\n".join(texts)
    if not isinstance(record, dict):
        return False, None
    keys = path.split(".")
    for n in range(len(keys) - 1, 0, -1):
        head = ".".join(keys[:n])
        if head not in record:
            continue
        inner = parsed_json(record[head])
        if inner is None:
            return True, None
        found_inside = value_at(inner, ".".join(keys[n:]))
        if found_inside[0]:
            return found_inside
    return False, None


def first_keys(path: str) -> list[str]:
    """Keys of a record with which a path may begin, the longest first."""
    ends = [len(path), *(i for i, c in enumerate(path) if c == "." or path.startswith("[]", i))]
    return sorted({path[:end] for end in ends if end}, key=len, reverse=True)


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
