"""Places for cuts in source code: between definitions, else between blocks of lines."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from jeton.chunking.boundaries import Boundaries, as_bytes, merged

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
