"""The content of a text alone: without the elements, keys, markers and labels around it.

A comparison of two texts wants these normal forms; they take away more than anybody would take out
of a prompt. Each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from jeton.auditing.analyses.markup import without_comments
from jeton.auditing.analyses.minified_json import find_json
from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

__all__ = [
    "without_all_markup",
    "without_chat_markers",
    "without_json_keys",
    "without_line_labels",
]

MAX_DEPTH = 100
"""Nesting of JSON that is looked into."""

MAX_LABEL_CHARS = 16
"""A string that stands in one JSON value many times and is no longer is a label ("user")."""

MIN_LABELS = 3

MIN_LABELLED_SHARE = 0.8
"""Lines that begin with a number or a time for these to be labels of lines."""

MIN_LABELLED_LINES = 3

_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_ELEMENT = re.compile(r"<(?:[/?!]?[A-Za-z][\w:.-]*)(?:\s+[^<>]*)?/?\??>")
_BLOCKS = re.compile(r"\s*(?:\x1e\s*)+")
_INLINE = frozenset(
    ["a", "abbr", "b", "code", "em", "font", "i", "label", "s", "small", "span", "strong", "sub"]
)
_NAME = re.compile(r"[A-Za-z][\w:.-]*")

_ROLES = "system|user|assistant|tool|human|model|developer|ipython|function|gpt|bot"
_MARKERS = re.compile(
    r"<\|(?:im_start|start_header_id|start|message|channel|role)\|>"
    rf"(?:(?:{_ROLES}|final|analysis|commentary)\b(?:<\|[\w ]{{1,30}}\|>)*\s*)?"
    r"|<\|[a-z][\w /.-]{1,40}\|>\s*"
    r"|<\uff5c[^<>\uff5c]{1,40}\uff5c>\s*"
    rf"|<(?:start|end)_of_turn>(?:(?:{_ROLES})\b)?\s*"
    r"|\[/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL_RESULTS)\]\s*|<</?SYS>>\s*"
    r"|</?s>|<(?:bos|eos|pad|unk)>"
    r"|\[(?:CLS|SEP|BOS|EOS|PAD)\]\s*"
    r"|^(?:\#{2,3} (?:Instruction|Input|Response|System|User|Assistant|Human):?)[ \t]*\n"
    r"|^(?:Human|Assistant|USER|ASSISTANT|SYSTEM|User|System): ?",
    re.MULTILINE | re.IGNORECASE,
)

_LABEL = re.compile(
    r"[ \t]*(?:\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"|\[?\d{4}-\d\d-\d\d\]?|\[?L?\d{1,7}\]?[:.)|>-]?(?=[ \t|:>]|$))(?:[ \t]*\|)?[ \t]*"
    r"(?:(?:DEBUG|INFO|WARN|WARNING|ERROR|TRACE)\b:?[ \t]*)?",
    re.IGNORECASE,
)


def without_all_markup(text: str) -> tuple[str, int]:
    """The text between the elements of HTML and XML; elements that break lines are a line end."""
    if "<" not in text or ">" not in text:
        return text, 0
    names = Counter(
        name.group().lower()
        for found in _ELEMENT.findall(text)
        if (name := _NAME.search(found)) is not None
    )
    if not names:
        return text, 0

    def separator(match: re.Match[str]) -> str:
        name = _NAME.search(match.group())
        return "" if name is not None and name.group().lower() in _INLINE else "\x1e"

    new = _ELEMENT.sub(separator, without_comments(_CDATA.sub("", text)))
    # Line ends and indentation beside an element are its layout.
    new = _BLOCKS.sub("\n", new).strip("\n")
    return new, MAX_UTF8_BYTES * max(0, len(text) - len(new)) + len(names)


def without_json_keys(text: str) -> tuple[str, int]:
    """The strings that JSON holds, a line each, where it holds words; without keys and numbers."""
    parts, position, n_bytes = [], 0, 0
    for start, end, value in find_json(text):
        strings = list(_strings(value, 0))
        if not any(" " in s or not s.isascii() or len(s) > MAX_LABEL_CHARS for s in strings):
            continue
        times = Counter(strings)
        kept = [
            s
            for s in strings
            if not (times[s] >= MIN_LABELS and 0 < len(s) <= MAX_LABEL_CHARS and " " not in s)
        ]
        parts += [text[position:start], "\n".join(kept)]
        position = end
        n_bytes += MAX_UTF8_BYTES * (end - start)
    return ("".join([*parts, text[position:]]), n_bytes) if n_bytes else (text, 0)


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        inner = list(find_json(value)) if value[:1] in ("{", "[") and depth < MAX_DEPTH else []
        if inner and inner[0][1] - inner[0][0] == len(value):
            yield from _strings(inner[0][2], depth + 1)
        else:
            yield value
    elif isinstance(value, dict | list) and depth < MAX_DEPTH:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item, depth + 1)


def without_chat_markers(text: str) -> tuple[str, int]:
    """The messages without what chat templates write around them."""
    new = _MARKERS.sub("", text)
    if new == text:
        return text, 0
    return new, MAX_UTF8_BYTES * (len(text) - len(new))


def without_line_labels(text: str) -> tuple[str, int]:
    """Lines without the number or the time that each of them begins with."""
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    n_labelled = sum(_LABEL.match(line) is not None for line in filled)
    if n_labelled < MIN_LABELLED_LINES or n_labelled < MIN_LABELLED_SHARE * len(filled):
        return text, 0
    new = "\n".join(_LABEL.sub("", line, count=1) if _LABEL.match(line) else line for line in lines)
    return new, MAX_UTF8_BYTES * (len(text) - len(new))
