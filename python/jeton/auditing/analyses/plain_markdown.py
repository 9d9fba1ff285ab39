"""The content of Markdown alone: without emphasis, lists, tables, links, fences and citations.

A comparison of two texts wants this normal form; each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

MAX_LABEL_CHARS = 16
MIN_LABELS = 3
"""A cell that stands in one table so often and is no longer is a label ("user")."""

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+.-]*[ \t]*(?:\n|\Z)", re.MULTILINE)
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{1,2000}(?:[ \t]+\"[^\"\n]*\")?\)")
_CITATION = re.compile(r"[ \t]?(?:\[\^?\d{1,3}\])+")
_LINE_START = re.compile(
    r"^[ \t]*(?:(?:>|\#{1,6}[ \t]|(?:[-*+]|\d{1,3}[.)])[ \t](?:\[[ xX]\][ \t])?)[ \t]*)+",
    re.MULTILINE,
)
_EMPHASIS = re.compile(
    r"(?<![A-Za-z0-9])(\*|__)(?=[^\s*_])([^\n]{1,1000}?)(?<=[^\s*_])\1(?![A-Za-z0-9])"
)
_STRONG = re.compile(r"\*{2,}|~~|`+")
_RULE_OF_TABLE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?[ \t]*")
_NUMBER = re.compile(r"[-+]?\d[\d.,%]*")


def without_markdown(text: str) -> tuple[str, int]:
    """The words of a text without the signs by which Markdown arranges and stresses them."""
    new = _FENCE.sub("", text) if "```" in text or "~~~" in text else text
    if "|" in new:
        new = "\n".join(_without_tables(new.split("\n")))
    if "](" in new:
        new = _IMAGE_OR_LINK.sub(r"\1", new)
    if "[" in new:
        new = _CITATION.sub("", new)
    new = _LINE_START.sub("", new)
    # Markers that stand in pairs by nature need none: lines may be broken between the two.
    new = _EMPHASIS.sub(r"\2", _STRONG.sub("", new))
    return new, MAX_UTF8_BYTES * max(0, len(text) - len(new))


def _without_tables(lines: list[str]) -> Iterator[str]:
    """Lines in which each row of a table is its words; head, numbers and labels are dropped."""
    i = 0
    while i < len(lines):
        is_head = i + 1 < len(lines) and "|" in lines[i] and _is_rule(lines[i + 1])
        if not is_head:
            yield lines[i]
            i += 1
            continue
        end = i + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        yield from _words_of([_cells(line) for line in lines[i + 2 : end]])
        i = end


def _is_rule(line: str) -> bool:
    return "|" in line and _RULE_OF_TABLE.fullmatch(line) is not None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _words_of(rows: list[list[str]]) -> Iterator[str]:
    times = Counter(cell for row in rows for cell in row)
    for row in rows:
        yield " ".join(
            cell
            for cell in row
            if not _NUMBER.fullmatch(cell)
            and not (times[cell] >= MIN_LABELS and len(cell) <= MAX_LABEL_CHARS and " " not in cell)
        )
