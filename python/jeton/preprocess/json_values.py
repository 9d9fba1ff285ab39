"""JSON as it was written: numbers keep their spelling, objects the order of their keys.

Values are ``dict``, ``list``, ``str``, ``NumberText``, ``True``, ``False`` and ``None``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from jeton.corpus.json_records import without_collector

MAX_DEPTH = 200
"""Nesting up to which values are rewritten; deeper ones are only minified."""


class NumberText(str):
    """Number of a JSON text, as it was written: ``1.0``, ``1e5``, ``12345678901234567890``."""

    __slots__ = ()


class DuplicateKeyError(ValueError):
    """An object has a key twice, so that its values are no mapping."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DuplicateKeyError("a key stands twice in an object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_strict = json.JSONDecoder(
    parse_float=NumberText,
    parse_int=NumberText,
    parse_constant=_no_constant,
    object_pairs_hook=_unique,
)
_any_keys = json.JSONDecoder(
    parse_float=NumberText, parse_int=NumberText, parse_constant=_no_constant
)


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        DuplicateKeyError: A key stands twice in an object.
        ValueError: Not JSON.
        RecursionError: Nested too deeply to be parsed.
    """
    with without_collector():
        return _strict.decode(text)


def is_json(text: str) -> bool:
    """True if a text is JSON, with whatever keys.

    Raises:
        RecursionError: Nested too deeply to be parsed.
    """
    try:
        with without_collector():
            _any_keys.decode(text)
    except ValueError:
        return False
    return True


_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+')


def minified(text: str) -> str:
    """Return a JSON text without the white space between its parts; all else is as it was."""
    return _PARTS.sub(lambda part: part[0] if part[0][0] == '"' else "", text)


_LONE = re.compile("[\ud800-\udfff]")


def string_text(value: str) -> str:
    """Return a string as JSON with as few escapes as possible."""
    text = json.dumps(value, ensure_ascii=False)
    return _LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", text) if not text.isascii() else text


def scalar_text(value: Any) -> str:
    """Return a number, a string, true, false or null as JSON."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, str):
        return string_text(value)
    return {True: "true", False: "false", None: "null"}[value]


def compact(value: Any) -> str:
    """Return a value as minified JSON."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{string_text(k)}:{compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return scalar_text(value)


def depth_of(value: Any) -> int:
    """Return how deeply a value is nested; 0 for a scalar."""
    deepest = 0
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, dict | list):
            deepest = max(deepest, depth + 1)
            inner = item.values() if isinstance(item, dict) else item
            waiting += [(part, depth + 1) for part in inner]
    return deepest


def same_values(left: Any, right: Any) -> bool:
    """True if two values are equal: kinds, spelling of numbers, order of keys."""
    if isinstance(left, dict) and isinstance(right, dict):
        if list(left) != list(right):
            return False
        return all(map(same_values, left.values(), right.values()))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_values, left, right))
    return type(left) is type(right) and bool(left == right)
