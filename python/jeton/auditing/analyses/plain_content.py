"""The content of a text alone: without the elements, keys, markers and labels around it.

A comparison of two texts wants these normal forms; they take away more than anybody would take out
of a prompt. Each function is a `rewriting.Rewrite`.

A comparison of two texts wants this normal form; each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from jeton._foreign import json_of
from jeton.auditing.analyses.markup import without_comments
from jeton.auditing.analyses.minified_json import find_json
from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

MAX_DEPTH = 100
"""Nesting of JSON that is looked into."""

MAX_LITERAL_CHARS = 8 << 20

MAX_LABEL_CHARS = 16
"""A string that stands in one JSON value many times and is no longer is a label ("user")."""

MIN_LABELS = 3

MIN_WORDS = 8
"""Different words alone in strings that are text cut to pieces, not codes."""

MIN_KEY_SHARE = 0.3
"""Lines with a key that comes again, of all lines, for a text to be YAML or settings."""

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
    r"|</?s>|<(?:bos|eos|pad|unk|mask|sep|cls)>|<extra_id_\d+>"
    r"|\[(?:CLS|SEP|BOS|EOS|PAD)\]\s*"
    r"|^(?:\#{2,3} (?:Instruction|Input|Response|System|User|Assistant|Human):?)[ \t]*\n"
    r"|^(?:Human|Assistant|USER|ASSISTANT|SYSTEM|User|System): ?",
    re.MULTILINE | re.IGNORECASE,
)

_LEVEL = r"(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)\b:?"
_TIME = r"\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:[ ]?[AP]M\b)?(?:[ ]?(?:Z|UTC\b|[+-]\d\d:?\d\d))?"
_STAMP = (
    rf"[\[(]?(?:\d{{4}}[-/.]\d\d[-/.]\d\d[T ])?{_TIME}[\])]?"
    r"|[\[(]?\d{4}[-/.]\d\d[-/.]\d\d[\])]?"
    rf"|\[?\d\d?/[A-Z][a-z]{{2}}/\d{{4}}:{_TIME}\]?"
    rf"|[A-Z][a-z]{{2}}[ ]+\d\d?[ ]{_TIME}(?:[ ][\w.-]+)?"
    r"|\[?1\d{9}(?:\d{3}|\.\d+)?\]?(?=[ :])"
)
_NUMBERED = r"\[?L?\d{1,7}\]?[:.)|>-]?(?=[ \t|:>]|$)"
_LABEL = re.compile(
    rf"[ \t]*(?:(?:{_STAMP})(?:[ \t]*(?:[-|:][ ]|{_LEVEL}|\[[\w.$ -]{{1,40}}\]:?"
    r"|[\w.$/-]{1,60}(?:\[\d+\]:|(?=[ ]-[ ])))){0,6}"
    rf"|{_NUMBERED})(?:[ \t]*\|)?[ \t]*(?:{_LEVEL}[ \t]*)?",
    re.IGNORECASE,
)

_KEY_LINE = re.compile(
    r"^[ \t]*(?:-[ \t]+)?(?P<key>[A-Za-z_][\w.-]{0,39})(?::(?=[ \t]|$)|[ \t]*=[ \t])"
    r"[ \t]*(?P<value>.*)$"
)
_BLOCK_SIGN = re.compile(r"[>|][+-]?\d?")
_PLAIN_VALUE = re.compile(r"[-+]?\d[\d.,eE+-]*|true|false|null|~|", re.IGNORECASE)


def without_all_markup(text: str) -> tuple[str, int]:
    """The text between the elements of HTML and XML; elements that break lines are a line end."""
    if "<" not in text or ">" not in text:
        return text, 0
    # The markers of chat templates have a name of their own.
    names = Counter(
        name.group().lower()
        for found in _ELEMENT.findall(text)
        if (name := _NAME.search(found)) is not None and not _MARKERS.fullmatch(found)
    )
    if not names:
        return text, 0

    def separator(match: re.Match[str]) -> str:
        if _MARKERS.fullmatch(match.group()):
            return match.group()
        name = _NAME.search(match.group())
        return "" if name is not None and name.group().lower() in _INLINE else "\x1e"

    new = _ELEMENT.sub(separator, without_comments(_CDATA.sub("", text)))
    # Line ends and indentation beside an element are its layout.
    new = _BLOCKS.sub("\n", new).strip("\n")
    return new, MAX_UTF8_BYTES * max(0, len(text) - len(new)) + len(names)


def without_json_keys(text: str) -> tuple[str, int]:
    """The strings that JSON or YAML holds, a line each, where it holds words; no keys, numbers."""
    found = [(start, end, list(_strings(value, 0))) for start, end, value in find_json(text)]
    everything = [string for _, _, strings in found for string in strings]
    words = {string for string in everything if string.isalpha()}
    parts, position, n_bytes = [], 0, 0
    for start, end, strings in found:
        if len(words) < MIN_WORDS and not any(_is_worded(string) for string in strings):
            continue
        times = Counter(strings)
        parts += [text[position:start], "\n".join(s for s in strings if not _is_label(s, times))]
        position = end
        n_bytes += MAX_UTF8_BYTES * (end - start)
    return ("".join([*parts, text[position:]]), n_bytes) if n_bytes else _without_yaml_keys(text)


def _is_worded(string: str) -> bool:
    return " " in string or not string.isascii() or len(string) > MAX_LABEL_CHARS


def _is_label(string: str, times: Counter[str]) -> bool:
    is_short = 0 < len(string) <= MAX_LABEL_CHARS and " " not in string
    return is_short and times[string] >= MIN_LABELS


def _without_yaml_keys(text: str) -> tuple[str, int]:
    """The values of lines such as ``key: value`` and ``key = value``, where keys come again."""
    lines = text.split("\n")
    if len(lines) < 2 * MIN_LABELS:
        return text, 0
    found = [_KEY_LINE.match(line) for line in lines]
    keys = Counter(match["key"] for match in found if match)
    n_again = sum(n for n in keys.values() if n >= MIN_LABELS)
    if n_again < MIN_KEY_SHARE * sum(map(bool, map(str.strip, lines))):
        return text, 0
    values = Counter(match["value"].strip("\"' ") for match in found if match)
    kept = []
    for line, match in zip(lines, found, strict=True):
        if match is None:
            kept.append(line.strip())
            continue
        value = match["value"].strip("\"' ")
        is_sign = _PLAIN_VALUE.fullmatch(value) or _BLOCK_SIGN.fullmatch(value)
        if not is_sign and not _is_label(value, values):
            kept.append(value)
    new = "\n".join(kept)
    return new, MAX_UTF8_BYTES * max(0, len(text) - len(new))


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


def with_literals_as_json(text: str) -> tuple[str, int]:
    """A whole text that is a list or dictionary as Python prints it, as JSON."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("[]", "{}", "()") or "'" not in stripped:
        return text, 0
    if len(stripped) > MAX_LITERAL_CHARS:
        return text, 0
    try:
        json_of(stripped, any_integer=True)
    except (ValueError, RecursionError):
        try:
            new = json.dumps(ast.literal_eval(stripped), ensure_ascii=False, separators=(",", ":"))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return text, 0
        return new, MAX_UTF8_BYTES * len(text)
    return text, 0


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
