"""Parts of a document that steps leave alone: code fences, preformatted HTML, indented lines.

Every rule errs towards leaving text alone: what is taken for code keeps its bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_KEPT_TAG = re.compile(r"<(/?)(pre|textarea|script|style|code)\b", re.IGNORECASE)

_CODE_LINE = re.compile(
    r"""\s*(?:
        (?:def|class|import|from|return|func|fn|let|const|var|public|private|protected|static
          |package|namespace|using|elif|else|try|except|finally|with|raise|yield|async|await
          |struct|enum|impl|trait|module|begin|end|local|void|int|SELECT|INSERT|UPDATE|CREATE)\b
          (?=.*(?:[:;{}(\[,]\s*$|\)\s*$|\s=\s|\w\())
        |from\s[\w.]+\simport\s|import\s[\w.]+(?:\sas\s\w+)?\s*$|return\s[\w.]+\s*$
        |[@\#]\w+|\#!|//|/\*|\*/?\s|--\s|[{}\[\]();]+,?;?\s*$
        |[\w.\-"']+\s*(?:[-+*/|&]?=|:=)(?:\s|$)|[\w.\-"']+:(?:\s+\S+){0,3}\s*$
        |-\s+[\w.\-"']+:(?:\s|$)|-\s+\S+\s*$
        |.*[{};(\[,]\s*$|.*\):?\s*$|.*\\$
        |(?:if|for|while|elif|else|switch|case)\b.*[:{]\s*$
        |\w[\w.]*\(.*\)\s*$
    )""",
    re.VERBOSE,
)
_SURELY_CODE = re.compile(
    r"""^(?:
        (?:async[ ])?def[ ]\w+\(.*|class[ ]\w+.*:
        |import[ ][\w.]+(?:[ ]as[ ]\w+)?|from[ ][\w.]+[ ]import[ ].*
        |\#include[ ]*[<"].*|\#!/.*|package[ ][\w.]+;?
        |(?:pub[ ])?fn[ ]\w+.*|func[ ].*\{|<\?php.*|<\?xml.*
        |---|(?:public|private)[ ].*[{;]
        |(?:const|let|var)[ ]\w+[ ]*=.*|.*;|[\w$.]+[ ]=[ ].*|\w[\w.]*\(.*\)
        |print\(.*
    )\s*$""",
    re.VERBOSE | re.MULTILINE,
)

SURVEYED_CHARS = 200_000
"""Characters of a document by which it is taken for code or for prose."""

CODE_SHARE = 0.5
"""Share of the lines that have the form of code from which on a document is taken for code."""

SURE_SHARE = 0.25
"""Share that suffices where some line can hardly be prose: an import, a definition, a statement."""


@lru_cache(maxsize=16)
def looks_like_code(text: str) -> bool:
    """True if a whole document is rather source code or a configuration than prose.

    Every step asks, so the last answers are kept.

    Example:
        >>> looks_like_code("import os; name = 'a  b'; print(name)")
        True
        >>> looks_like_code("We met at noon.  It rained.")
        False
    """
    head = text[:SURVEYED_CHARS]
    lines = [line for line in head.splitlines() if line.strip()]
    if not lines:
        return False
    outside = [part.text for part in text_lines(head) if not part.is_kept and part.text.strip()]
    indented = sum(1 for line in lines if line[:1] in " \t" and not _FENCE.match(line))
    # Fenced code says of itself what it is; prose around it stays prose.
    if len(outside) + indented < len(lines) * 0.3:
        return False
    coded = sum(1 for line in lines if _CODE_LINE.match(line))
    share = coded / len(lines)
    if share >= CODE_SHARE:
        return True
    return share >= SURE_SHARE and bool(_SURELY_CODE.search("\n".join(outside)))


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a document.

    Attributes:
        text: Without its line end.
        end: Its line end; empty at the end of the text.
        is_kept: True if it is code or preformatted, or begins with white space.
        is_fenced: True if it is in a fence or in preformatted HTML, or marks the ends of one.
    """

    text: str
    end: str
    is_kept: bool
    is_fenced: bool


def text_lines(text: str) -> Iterator[TextLine]:
    """The lines of a document, each with whether steps leave it alone."""
    fence = ""
    open_tag = ""
    at = 0
    while at < len(text):
        stop = text.find("\n", at)
        end = len(text) if stop < 0 else stop + 1
        line = text[at:end]
        at = end
        body = line[:-1] if stop >= 0 else line
        line_end = line[len(body) :]
        if body.endswith("\r") and line_end:
            body, line_end = body[:-1], "\r\n"
        is_fenced = bool(fence or open_tag)
        if fence:
            closing = body.strip(" \t>")
            if closing and set(closing) == {fence[0]} and len(closing) >= len(fence):
                fence = ""
        elif not open_tag and (opening := _FENCE.match(body)):
            fence, is_fenced = opening[1], True
        if not fence:
            for tag in _KEPT_TAG.finditer(body):
                name = tag[2].lower()
                if not open_tag and not tag[1]:
                    open_tag, is_fenced = name, True
                elif tag[1] and name == open_tag:
                    open_tag = ""
        is_indented = body[:1] in (" ", "\t") and bool(body.strip())
        yield TextLine(body, line_end, is_fenced or is_indented, is_fenced)


# Splicing of one field of a JSON record: every other byte of the record stays as it was.

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
