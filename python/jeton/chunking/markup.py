"""Places for cuts in HTML and JSON."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jeton.chunking.boundaries import (
    Boundaries,
    TextTable,
    as_bytes,
    merged,
    sentence_boundaries,
)

_LOOKED_AT_CHARS = 2_000

_TAG = re.compile(
    r"<!--.*?-->|<(script|style|pre|code)\b.*?</\1\s*>|<(/?)([a-zA-Z][a-zA-Z0-9]*)"
    r"(?:\"[^\"]*\"|'[^']*'|[^'\">])*>",
    re.DOTALL | re.IGNORECASE,
)
_BLOCKS = {
    "article": 3, "aside": 6, "blockquote": 6, "body": 2, "dd": 12, "details": 6, "div": 7,
    "dl": 6, "dt": 8, "figure": 6, "footer": 3, "form": 6, "header": 3, "hr": 6, "li": 9,
    "main": 2, "nav": 3, "ol": 8, "p": 6, "pre": 6, "section": 2, "table": 5, "tbody": 28,
    "thead": 30, "tr": 26, "ul": 8,
}  # fmt: skip
"""Tags that begin blocks, with the price of a cut before them."""

_AFTER_HEADING = 60

_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|\n', re.DOTALL)
_HTML_START = re.compile(
    r"\s*(?:<!doctype html|<html\b|<(?:head|body|div|p|h[1-6]|article)\b)", re.I
)
_JSON_DEPTHS = 8


def markup_of(text: str) -> Literal["markdown", "html", "json"]:
    """The markup of a text, by its beginning; plain text counts as Markdown."""
    start = text[:_LOOKED_AT_CHARS]
    if _HTML_START.match(start):
        return "html"
    return "json" if _is_json(text) else "markdown"


def _is_json(text: str) -> bool:
    """True if a text is an object or array of JSON, or begins with one on a line of its own."""
    body = text.lstrip()
    if body[:1] not in ("{", "["):
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return False
    rest = body[end:]
    return not rest.strip() or rest.lstrip(" \t").startswith(("\n", "\r"))


def markup_boundaries(text: str, markup: Literal["html", "json"], language: str) -> Boundaries:
    """Places between the blocks of a page, or between the values of JSON."""
    if markup == "json":
        return Boundaries(*merged(dict(_json_places(text)), text))
    return _html_boundaries(text, language)


def _html_boundaries(text: str, language: str) -> Boundaries:
    costs: dict[int, int] = {}
    inside: list[tuple[int, int]] = []
    headings: list[tuple[int, int, str]] = []
    opened: tuple[int, int, int] | None = None
    tables = _Tables(text)
    for match in _TAG.finditer(text):
        inside.append(match.span())
        tables.take(match)
        name = (match[3] or match[1] or "").lower()
        closes = match[2] == "/"
        heading = len(name) == 2 and name[0] == "h" and name[1] in "123456"
        if heading and not closes:
            opened = (match.start(), int(name[1]), match.end())
            costs[match.start()] = int(name[1]) - 1
        elif heading and opened is not None:
            start, level, words = opened
            plain = html.unescape(_TAG.sub("", text[words : match.start()]))
            headings.append((start, level, " ".join(plain.split())))
            costs[match.end()] = _AFTER_HEADING
            opened = None
        elif name in _BLOCKS and not closes:
            costs.setdefault(match.start(), _BLOCKS[name])
    sentences = sentence_boundaries(text, language)
    within = _outside(text, sentences, inside)
    places, prices = merged(costs, text)
    every = dict(zip(within[0].tolist(), within[1].tolist(), strict=True))
    every.update(zip(places.tolist(), prices.tolist(), strict=True))
    ordered = sorted(every)
    starts = as_bytes(text, [start for start, _, _ in headings])
    return Boundaries(
        np.array(ordered, dtype=np.int64),
        np.array([every[place] for place in ordered], dtype=np.uint32),
        [(at, level, words) for at, (_, level, words) in zip(starts, headings, strict=True)],
        tables=tables.found(),
    )


class _Tables:
    """Tables of a page with the rows that name their columns: ``thead``, or a first row of ``th``.

    A table in a table belongs to the outer one.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self._start = 0
        """Start of the row or the head under way."""
        self._head: tuple[int, int] | None = None
        self._has_names = self._is_over = self._in_head = False
        self._spans: list[tuple[int, int, str]] = []

    def take(self, match: re.Match[str]) -> None:
        """Take a tag."""
        name, closes = (match[3] or "").lower(), match[2] == "/"
        if name == "table":
            self._depth = max(0, self._depth + (-1 if closes else 1))
            if not closes and self._depth == 1:
                self._head, self._is_over = None, False
            elif closes and self._depth == 0 and self._head is not None:
                start, end = self._head
                self._spans.append((end, match.start(), self._text[start:end]))
                self._head = None
            return
        if self._depth != 1 or self._is_over:
            return
        if name == "thead" or (name == "tr" and not self._in_head):
            if not closes:
                self._start, self._has_names = match.start(), name == "thead"
                self._in_head = name == "thead"
            else:
                self._in_head, self._is_over = False, True
                if self._has_names:
                    self._head = (self._start, match.end())
        elif name == "th":
            self._has_names = True

    def found(self) -> list[TextTable]:
        """The tables, in bytes."""
        flat = as_bytes(self._text, [place for a, b, _ in self._spans for place in (a, b)])
        return [
            TextTable(start, end, head)
            for start, end, (_, _, head) in zip(flat[::2], flat[1::2], self._spans, strict=True)
        ]


def _outside(
    text: str, found: Boundaries, inside: list[tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The boundaries that lie in no tag."""
    if not inside:
        return found.places, found.costs
    flat = as_bytes(text, [place for span in inside for place in span])
    starts, ends = np.array(flat[::2]), np.array(flat[1::2])
    tag = np.searchsorted(starts, found.places, side="left") - 1
    kept = (tag < 0) | (found.places >= ends[np.maximum(tag, 0)])
    return found.places[kept], found.costs[kept]


def _json_places(text: str) -> Iterator[tuple[int, int]]:
    """Places behind the commas of JSON and between its lines, the cheaper the further out."""
    depth = 0
    for match in _JSON.finditer(text):
        token = match[0]
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth = max(depth - 1, 0)
        elif token == "\n":
            # Values one a line (JSON Lines).
            if depth == 0:
                yield match.end(), 2
        elif token == ",":
            place = match.end()
            while place < len(text) and text[place].isspace():
                place += 1
            yield place, 4 + 7 * min(depth, _JSON_DEPTHS)
