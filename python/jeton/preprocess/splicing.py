"""Splicing of one field of a JSON record: every other byte of the record stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

_BLANKS = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()
_skip: Callable[[str, int], tuple[object, int]] = _decoder.raw_decode


def field_span(record: str, path: str, start: int = 0) -> tuple[int, int] | None:
    """Where the value of a field begins and ends; None: the record has no such field.

    Args:
        record: One JSON object, valid.
        path: Name of the field; dots descend, and a name that has dots itself goes first.
        start: Where the object begins.
    """
    members = _members(record, start)
    if path in members:
        return members[path]
    head, dot, rest = path.partition(".")
    while dot:
        if head in members:
            inner = members[head][0]
            if record[inner] == "{":
                return field_span(record, rest, inner)
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def _members(record: str, start: int) -> dict[str, tuple[int, int]]:
    """The span of each value of an object; of a key that stands twice, the last one's."""
    found: dict[str, tuple[int, int]] = {}
    at = _after_blanks(record, start)
    if record[at : at + 1] != "{":
        return found
    at = _after_blanks(record, at + 1)
    while record[at] != "}":
        key, at = _skip(record, at)
        at = _after_blanks(record, _after_blanks(record, at) + 1)
        value_start = at
        _, at = _skip(record, at)
        found[str(key)] = (value_start, at)
        at = _after_blanks(record, at)
        if record[at] == ",":
            at = _after_blanks(record, at + 1)
    return found


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def spliced(record: str, span: tuple[int, int], text: str) -> str:
    """Return the record with another string at a span."""
    value = json.dumps(text, ensure_ascii=record.isascii())
    return record[: span[0]] + value + record[span[1] :]
