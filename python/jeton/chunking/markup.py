"""Places for cuts in HTML and JSON."""

from __future__ import annotations

import ast
import html
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton.chunking.boundaries import Boundaries, TextTable, as_bytes, merged, sentence_boundaries

# Places for cuts in source code: between definitions, else between blocks of lines.

_TOP, _MEMBER, _IN_DEFINITION = 2, 6, 40
"""Prices of cuts before a definition, before one within it, and inside one without parts."""

_AFTER_EMPTY = 10
"""Discount for a line after an empty one."""

_INDENT_CHARS = 4
_MAX_LEVELS = 6

_IMPORT = re.compile(
    r"(?:import\b|from\s+\S+\s+import\b|#\s*include\b|using\s|use\s|package\s|extern\s+crate\b"
    r"|(?:const|let|var)\s.+=\s*require\()"
)
_DEFINITION = re.compile(
    r"function|method|class|struct|impl|trait|enum|interface|module|constructor"
)
_BODY_OF = re.compile(r"class|impl|trait|interface|module|namespace")
_IMPORT_LINES = 80

Definition = tuple[int, int, int, str]
"""First line, one past the last, depth, and the first line's text of what holds others."""


def code_boundaries(
    text: str, language: str | None
) -> tuple[Boundaries, list[tuple[int, tuple[str, ...]]]]:
    """Places between definitions and lines, and imports and class as context of what is below.

    Raises:
        UsageError: The language is not known.
        MissingExtraError: Its grammar is not installed.
    """
    lines = _lines(text)
    starts = [start for start, _ in lines]
    definitions = [] if language is None else list(_definitions(text, language))
    costs: dict[int, int] = {}
    after_empty = False
    for start, line in lines:
        body = line.strip()
        if body:
            indent = len(line) - len(line.lstrip())
            level = min(_columns(line[:indent]) // _INDENT_CHARS, _MAX_LEVELS)
            closing = body[0] in "})]" or body in ("end", "fi", "done")
            price = _IN_DEFINITION + 6 * level + (20 if closing else 0)
            if not level and not closing:
                price = 16
            costs[start] = price - (_AFTER_EMPTY if after_empty else 0)
        after_empty = not body
    for first, end, depth, _ in definitions:
        inner = range(first + 1, min(end, len(lines)))
        for number in inner:
            if starts[number] in costs:
                costs[starts[number]] += 10
        first = _with_comments(lines, first)
        costs[starts[first]] = _TOP if depth == 0 else _MEMBER
        if end < len(lines) and starts[end] in costs:
            costs[starts[end]] = min(costs[starts[end]], _TOP if depth == 0 else _MEMBER)
    return Boundaries(*merged(costs, text)), _contexts(text, lines, definitions)


def _lines(text: str) -> list[tuple[int, str]]:
    found = []
    start = 0
    # Parsers count line feeds; `splitlines` would split at more.
    for line in text.split("\n"):
        found.append((start, line))
        start += len(line) + 1
    return found


def _columns(indent: str) -> int:
    return len(indent.expandtabs(_INDENT_CHARS))


def _with_comments(lines: list[tuple[int, str]], first: int) -> int:
    """The first of the comments and attributes right above a definition."""
    while first and lines[first - 1][1].lstrip().startswith(("#", "//", "/*", "*", "@", "--")):
        if _IMPORT.match(lines[first - 1][1].strip()):
            break
        first -= 1
    return first


def _contexts(
    text: str, lines: list[tuple[int, str]], definitions: list[Definition]
) -> list[tuple[int, tuple[str, ...]]]:
    """Imports, from below them on, and the first line of the class around a place."""
    imports = [
        number
        for number, (_, line) in enumerate(lines)
        if line[:1].strip() and _IMPORT.match(line.strip())
    ][:_IMPORT_LINES]
    block = "\n".join(lines[number][1].strip() for number in imports)
    always = (block,) if block else ()
    changes: list[tuple[int, tuple[str, ...]]] = []
    if imports and imports[-1] + 1 < len(lines):
        changes.append((lines[imports[-1] + 1][0], always))
    for first, end, _, holder in definitions:
        if holder and first + 1 < len(lines):
            changes.append((lines[first + 1][0], (*always, holder)))
            if end < len(lines):
                changes.append((lines[end][0], always))
    changes.sort(key=lambda change: change[0])
    places = as_bytes(text, [place for place, _ in changes])
    return [(at, context) for at, (_, context) in zip(places, changes, strict=True)]


def _definitions(text: str, language: str) -> Iterator[Definition]:
    if language == "python":
        yield from _python_definitions(text)
        return
    from jeton.metrics.code import syntax_tree

    lines = text.split("\n")
    cursor = syntax_tree(language, text).walk()
    depth = 0
    opened: list[bool] = []
    # No recursion: trees of generated code are deep.
    while True:
        node: Any = cursor.node
        defines = node.is_named and _DEFINITION.search(node.type) is not None and _is_block(node)
        if defines:
            first, end = node.start_point[0], node.end_point[0] + 1
            holds = _BODY_OF.search(node.type) is not None
            yield first, end, depth, lines[first].strip() if holds else ""
        if cursor.goto_first_child():
            opened.append(defines)
            depth += defines
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= opened.pop()


def _is_block(node: Any) -> bool:
    """True for definitions of several lines with a body; calls and types have none."""
    return node.end_point[0] > node.start_point[0] and any(
        "body" in child.type or "block" in child.type or "list" in child.type
        for child in node.children
    )


def _python_definitions(text: str) -> Iterator[Definition]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.split("\n")
    waiting: list[tuple[ast.AST, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        for child in ast.iter_child_nodes(node):
            below = depth
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(mark.lineno for mark in child.decorator_list)]) - 1
                holder = lines[child.lineno - 1].strip() if isinstance(child, ast.ClassDef) else ""
                yield first, child.end_lineno or child.lineno, depth, holder
                below += 1
            waiting.append((child, below))


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
