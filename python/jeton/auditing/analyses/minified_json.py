"""JSON inside texts: what its layout costs, and what keys cost that every record repeats.

JSON is found where a document or a line begins with ``{`` or ``[`` and parses, and behind prose on
the same line (``Order: {"id": 7}``). The layout is taken away by the lexical rule alone (white
space outside of strings), so numbers, order and repeated keys stay as they were written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

MIN_JSON_CHARS = 16
"""Shorter values have hardly any layout, and brackets at the beginning of a line of prose (notes,
small lists) are of this size."""

MIN_RECORDS = 3
"""Records of the same keys from which a table is shorter than the records."""

_MAX_SCANNED = 4
"""The text may be scanned this many times over in vain: brackets that begin nothing could
otherwise make the search quadratic."""

_MAX_DEPTH = 100
"""Nesting beyond this is not looked into; Python's parser gives up at about 1,000."""

_OPENING = re.compile(r"[{\[](?<=[\s:].)")
_PROSE = re.compile(r"""(?:[^"'`=(){}\[\];<>\\]|(?<=\w)'(?=\w))*+(?<=[:\s])""")
"""Words in front of JSON; code has quotes, brackets or an assignment there."""

_RECORD = re.compile(r'\{\s*+"|\[\s*+[{\[]')
_MAX_PROSE_CHARS = 200
_LAYOUT = re.compile(r'("(?:[^"\\]|\\.)*+")|[ \t\r\n]++', re.DOTALL)
_DECODER = json.JSONDecoder()


def find_json(text: str) -> Iterator[tuple[int, int, Any]]:
    """``(start, end, value)`` of JSON objects and arrays, in code points."""
    if '"' not in text and "[" not in text:
        return
    budget = _MAX_SCANNED * len(text) + 1024
    position = 0
    openings = (match.start() for match in _OPENING.finditer(text))
    for start in chain([0] if text[0] in "{[" else [], openings):
        if start < position or budget <= 0 or not _may_begin(text, start):
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            budget -= error.pos - start + 1
            continue
        except ValueError:  # an integer of thousands of digits
            budget -= len(text) - start
            continue
        except RecursionError:
            return
        position = end
        if end - start >= MIN_JSON_CHARS and isinstance(value, dict | list):
            yield start, end, value


def _may_begin(text: str, start: int) -> bool:
    """True if only blanks stand before a bracket on its line, or prose before that of a record."""
    line = text.rfind("\n", max(0, start - _MAX_PROSE_CHARS), start) + 1
    before = text[max(line, start - _MAX_PROSE_CHARS) : start]
    if not before or before.isspace():
        return True
    return _PROSE.fullmatch(before) is not None and _RECORD.match(text, start) is not None


def without_json_layout(text: str) -> tuple[str, int]:
    """Take the white space outside of strings away (a `rewriting.Rewrite`)."""
    if "\n " not in text and '": ' not in text and ', "' not in text and "\n\t" not in text:
        return text, 0
    parts, position, n_bytes = [], 0, 0
    for start, end, _ in find_json(text):
        value = text[start:end]
        compact = _LAYOUT.sub(r"\1", value)
        n_bytes += len(value) - len(compact)
        parts += [text[position:start], compact]
        position = end
    if not n_bytes:
        return text, 0
    # A blank that goes may have been a token together with its neighbours.
    return "".join([*parts, text[position:]]), 3 * n_bytes


def without_repeated_keys(text: str) -> tuple[str, int]:
    """Write lists of like records as one list of keys and rows of values (a `rewriting.Rewrite`).

    The rest of the value keeps its layout out: compare with the text after `without_json_layout`.
    Lines that are records of the same keys (JSON Lines) count as one list.
    """
    parts, position, n_bytes = [], 0, 0
    for start, end, value in _joined_lines(text):
        table, n_saved = _as_table(value, 0)
        if n_saved:
            compact = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
            parts += [text[position:start], compact]
            position = end
            n_bytes += end - start
    if not n_bytes:
        return text, 0
    return "".join([*parts, text[position:]]), n_bytes


def _joined_lines(text: str) -> Iterator[tuple[int, int, Any]]:
    """The values of `find_json`, records on lines of their own taken together."""
    run: list[tuple[int, int, Any]] = []
    for item in find_json(text):
        if run and isinstance(item[2], dict) and not text[run[-1][1] : item[0]].strip():
            run.append(item)
            continue
        yield from _run_as_one(run)
        run = [item]
        if not isinstance(item[2], dict):
            yield item
            run = []
    yield from _run_as_one(run)


def _run_as_one(run: list[tuple[int, int, Any]]) -> Iterator[tuple[int, int, Any]]:
    if len(run) == 1:
        yield run[0]
    elif run:
        yield run[0][0], run[-1][1], [item[2] for item in run]


def _as_table(value: Any, depth: int) -> tuple[Any, int]:
    """The value with tables in place of lists of like records; how many keys went."""
    if depth > _MAX_DEPTH:
        return value, 0
    if isinstance(value, dict):
        n_gone = 0
        new = {}
        for key, item in value.items():
            new[key], n = _as_table(item, depth + 1)
            n_gone += n
        return new, n_gone
    if not isinstance(value, list):
        return value, 0
    if len(value) >= MIN_RECORDS and all(isinstance(item, dict) and item for item in value):
        keys = list(value[0])
        if all(item.keys() == value[0].keys() for item in value):
            rows = [[_as_table(item[key], depth + 1)[0] for key in keys] for item in value]
            return {"keys": keys, "rows": rows}, len(keys) * (len(value) - 1)
    results = [_as_table(item, depth + 1) for item in value]
    return [item for item, _ in results], sum(n for _, n in results)
