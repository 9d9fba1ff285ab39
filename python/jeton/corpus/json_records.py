"""JSON records out of text that comes in pieces: one a line, or one value after another.

Each takes bytes as they come and holds one record at most. A line that is not JSON is reported with
its number and left out. The parser is the standard library's, which takes a quarter of the time of
reading a log. orjson 3.13 needs two thirds of that quarter, which is not worth a dependency (100 MB
of OpenAI's and Anthropic's messages, 2026-11).
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from jeton._foreign import json_of

Report = Callable[[str, int, str], None]
"""Called with the kind of an issue, the line, and a detail."""

LONG_BYTES = 1 << 20
"""1 MiB: from there on the collector of cycles rests while JSON is parsed. It walks all containers
made so far again and again, and JSON makes no cycles: 11 million empty lists (32 MiB) take 0.6 s
instead of 5.8 s."""

_SEPARATORS = " \t\r\n,"

NOTHING = object()
"""Stands for a line without a value; null is a value."""

_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b": ")
"""Beginnings of lines of a stream of server-sent events, of which ``data`` holds JSON."""

_DATA = re.compile(rb"\A(?:data:\s*)++")


def parse_line(line: bytes) -> Any:
    """The value of one line of valid UTF-8.

    Raises:
        ValueError: Not JSON.
        RecursionError: Nested too deeply.
    """
    if len(line) >= LONG_BYTES:
        with without_collector():
            return _parsed(str(line, "utf-8"))
    text = str(line, "utf-8")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return _parsed(text)
    return value if end == len(text) else _parsed(text)


_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _parsed(text: str) -> Any:
    """As ``json.loads``, which looks for white space with patterns and takes half as long again."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return json_of(text, any_integer=True)  # white space in front, or the error in full
    if end != len(text) and not text[end:].isspace():
        return json_of(text, any_integer=True)
    return value


@contextmanager
def without_collector() -> Iterator[None]:
    """Let the collector of cycles rest: it walks all containers again while many are made."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


def value_of_line(line: bytes, number: int, report: Report) -> Any:
    """The value of a line, or of the data of an event; ``NOTHING`` if it has none."""
    try:
        return parse_line(line)
    except (ValueError, RecursionError) as error:
        reason = _reason(error)
    if not line.startswith(_EVENT_FIELDS):
        report("not_json", number, reason)
        return NOTHING
    data = _DATA.sub(b"", line, count=1)
    if len(data) == len(line) or data.strip() == b"[DONE]":
        return NOTHING
    try:
        return parse_line(data)
    except (ValueError, RecursionError) as error:
        if not data.startswith(_EVENT_FIELDS):
            report("not_json", number, _reason(error))
        return NOTHING


def json_lines(
    pieces: Iterable[bytes], *, max_record_bytes: int, report: Report, first_line: int = 1
) -> Iterator[tuple[int, Any]]:
    """``(line, value)`` for each line that is not blank.

    Args:
        pieces: The text, cut anywhere.
        max_record_bytes: A longer line is reported and left out, without being held.
        report: Called for what is left out.
        first_line: Number of the first line.
    """
    number = first_line
    waiting: list[bytes] = []
    n_waiting = 0
    for piece in pieces:
        lines = piece.split(b"\n")
        rest = lines.pop()
        for line in lines:
            n_line = n_waiting + len(line)
            if n_line > max_record_bytes:
                report("line_too_long", number, f"{n_line:,} bytes")
                line = b""
            elif waiting:
                line = b"".join([*waiting, line])
            if line and not line.isspace():
                value = value_of_line(line, number, report)
                if value is not NOTHING:
                    yield number, value
            waiting, n_waiting = [], 0
            number += 1
        n_waiting += len(rest)
        # A line that is too long already is only measured from here on.
        waiting = [*waiting, rest] if n_waiting <= max_record_bytes else []
    if n_waiting > max_record_bytes:
        report("line_too_long", number, f"{n_waiting:,} bytes")
    elif waiting:
        line = b"".join(waiting)
        if line and not line.isspace():
            value = value_of_line(line, number, report)
            if value is not NOTHING:
                yield number, value


def looks_like_values(first_piece: bytes) -> bool:
    """True if a text is one JSON array, or values over several lines, rather than JSON lines."""
    start = first_piece.lstrip()
    line, line_break, after = start.partition(b"\n")
    if start[:1] == b"[":
        # Lines that are arrays each (of messages, say) are JSON lines.
        return not (line.rstrip().endswith(b"]") and after.lstrip()[:1] == b"[")
    if start[:1] != b"{":
        return False
    if not line_break:
        return False
    try:
        parse_line(line)
    except (ValueError, RecursionError):
        # A first line that is damaged and closed is a damaged line, not a value that goes on.
        return not line.rstrip().endswith(b"}")
    return False


def is_one_array(text: bytes) -> bool:
    """True if a whole text is one array on one line: records, or the pieces of one answer."""
    line, _, after = text.strip().partition(b"\n")
    return line[:1] == b"[" and line.endswith(b"]") and not after


def json_values(
    pieces: Iterable[bytes], *, max_record_bytes: int, report: Report
) -> Iterator[tuple[int, Any]]:
    """``(line, value)`` for each value of a text of JSON values, pretty-printed or not.

    The values stand one after another, or are the elements of one array that is never held whole.
    After something that is not JSON, the rest of the text is left out: where the next value begins
    cannot be known.

    Args:
        pieces: The text, cut anywhere between two characters.
        max_record_bytes: A longer value ends the reading, with a report.
        report: Called for what is left out.
    """
    decoder = json.JSONDecoder()
    source = iter(pieces)
    text, at, line = "", 0, 1
    is_array: bool | None = None
    while True:
        start = at
        while at < len(text) and text[at] in _SEPARATORS:
            at += 1
        if at < len(text) and text[at] == "[" and is_array is None:
            is_array = True
            at += 1
        elif at < len(text) and text[at] == "]" and is_array:
            is_array = None
            at += 1
        line += text.count("\n", start, at)
        if at > start:
            continue
        reason = ""
        if at < len(text):
            try:
                with without_collector():
                    value, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                reason = _reason(error)
            else:
                yield line, value
                line += text.count("\n", at, end)
                at = end
                continue
        if len(text) - at > max_record_bytes:
            report(
                "line_too_long", line, f"more than {max_record_bytes:,} bytes; the rest is left out"
            )
            return
        piece = next(source, None)
        if piece is None:
            if reason:
                report("not_json", line, f"{reason}; the rest of the file is left out")
            return
        text, at = text[at:] + str(piece, "utf-8"), 0


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return str(error).split("\n", 1)[0][:80] or "not JSON"
