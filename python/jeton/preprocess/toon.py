"""TOON, the Token-Oriented Object Notation: encoder and strict decoder of its version 3 forms.

Objects are indented lines, arrays of scalars one line, arrays of alike flat objects a table, other
arrays a list (specification: github.com/toon-format/spec, sections 5 to 12). Two things differ on
purpose: numbers keep their spelling (every decoder reads ``1e5`` and ``1.0``), and the decoder
gives them back as they were written. Control characters have no escape there; a text that has some
cannot be written.
"""

from __future__ import annotations

import re
from typing import Any

from jeton.preprocess.json_values import NumberText

_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_NUMBER_LIKE = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?\Z", re.IGNORECASE)
_MUST_QUOTE = re.compile(r'[:"\\\[\]{}\x00-\x1f,]')
_NO_ESCAPE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES = {"\\": "\\", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = {"true": True, "false": False, "null": None}
_HEADER = re.compile(r"\[(\d+)\](?:\{((?:[^\"{}]|\"(?:[^\"\\]|\\.)*\")*)\})?:(?: (.*))?\Z")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class ToonError(ValueError):
    """A value cannot be written as TOON, or a text is not TOON."""


def encode_toon(value: Any) -> str:
    """Return a value as TOON.

    Args:
        value: As ``parse_json`` returns it.

    Raises:
        ToonError: A string has characters for which TOON has no escape.

    Example:
        >>> from jeton.preprocess.json_values import parse_json
        >>> print(encode_toon(parse_json('{"users": [{"id": 1, "name": "Ada"}], "n": 1.0}')))
        users[1]{id,name}:
          1,Ada
        n: 1.0
    """
    lines: list[str] = []
    if isinstance(value, dict):
        _put_fields(lines, value, 0)
    elif isinstance(value, list):
        _put_array(lines, "", "", value, 0)
    else:
        lines.append(_scalar(value))
    return "\n".join(lines)


def _quoted(text: str) -> str:
    if _NO_ESCAPE.search(text):
        raise ToonError("a string has control characters, for which TOON has no escape")
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def _key(key: str) -> str:
    return key if _BARE_KEY.match(key) else _quoted(key)


def _scalar(value: Any) -> str:
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, str):
        is_bare = (
            value
            and value == value.strip()
            and value not in _LITERALS
            and not value.startswith("-")
            and not _NUMBER_LIKE.match(value)
            and not _MUST_QUOTE.search(value)
            and not _NO_ESCAPE.search(value)
        )
        return value if is_bare else _quoted(value)
    return {True: "true", False: "false", None: "null"}[value]


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _table_fields(items: list[Any]) -> list[str] | None:
    """The keys of a table, or None where an array cannot be one."""
    if not all(isinstance(item, dict) and item for item in items):
        return None
    fields = list(items[0])
    wanted = set(fields)
    for item in items:
        if set(item) != wanted or not all(map(_is_scalar, item.values())):
            return None
    return fields


def _put_fields(lines: list[str], value: dict[str, Any], depth: int, first: str = "") -> None:
    """Write the fields of an object; the first one behind ``first``, a hyphen and its indent."""
    for number, (key, inner) in enumerate(value.items()):
        start = first if first and number == 0 else "  " * depth
        if isinstance(inner, dict):
            lines.append(f"{start}{_key(key)}:")
            _put_fields(lines, inner, depth + 1)
        elif isinstance(inner, list):
            _put_array(lines, start, _key(key), inner, depth)
        else:
            lines.append(f"{start}{_key(key)}: {_scalar(inner)}")


def _put_array(lines: list[str], start: str, key: str, items: list[Any], depth: int) -> None:
    """Write an array under its header; ``depth`` is that of the header."""
    # An array right inside of another one is a list: readers know no table there.
    key_or_root = bool(key) or not start
    header = f"{start}{key}[{len(items)}]"
    if not items:
        lines.append(f"{header}:")
    elif all(map(_is_scalar, items)):
        lines.append(f"{header}: {','.join(map(_scalar, items))}")
    elif key_or_root and (fields := _table_fields(items)) is not None:
        lines.append(f"{header}{{{','.join(map(_key, fields))}}}:")
        indent = "  " * (depth + 1)
        lines += [indent + ",".join(_scalar(item[name]) for name in fields) for item in items]
    else:
        lines.append(f"{header}:")
        for item in items:
            _put_item(lines, item, depth + 1)


def _put_item(lines: list[str], item: Any, depth: int) -> None:
    start = "  " * depth + "- "
    if isinstance(item, dict):
        if not item:
            lines.append("  " * depth + "-")
        else:
            _put_fields(lines, item, depth + 1, first=start)
    elif isinstance(item, list):
        _put_array(lines, start, "", item, depth)
    else:
        lines.append(start + _scalar(item))


def decode_toon(text: str) -> Any:
    """Return the value of a TOON text; the twin of ``encode_toon``, strict in all counts.

    Raises:
        ToonError: It is not TOON.
    """
    if not text:
        return {}
    lines: list[tuple[int, str]] = []
    for line in text.split("\n"):
        body = line.lstrip(" ")
        n_spaces = len(line) - len(body)
        if n_spaces % 2 or not body or body[0] == "\t":
            raise ToonError("a line is blank, or its indentation is no multiple of two spaces")
        lines.append((n_spaces // 2, body))
    reader = _Reader(lines)
    value = reader.root()
    if reader.at != len(lines):
        raise ToonError(f"line {reader.at + 1} belongs to nothing")
    return value


class _Reader:
    """Position in the lines of a text, and what stands there."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self.lines = lines
        self.at = 0

    def root(self) -> Any:
        depth, body = self.lines[0]
        if depth:
            raise ToonError("the first line is indented")
        if header := _HEADER.match(body):
            self.at = 1
            return self._array(header, 1)
        if len(self.lines) == 1 and _split_key(body) is None:
            self.at = 1
            return _value(body)
        return self._fields(0)

    def _fields(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.at < len(self.lines) and self.lines[self.at][0] == depth:
            body = self.lines[self.at][1]
            if body == "-" or body.startswith("- "):
                break
            self.at += 1
            self._field(found, body, depth)
        return found

    def _field(self, found: dict[str, Any], body: str, depth: int) -> None:
        """Add the field whose line was read; what it holds is deeper than ``depth``."""
        split = _split_key(body)
        if split is None:
            raise ToonError(f"line {self.at}: a colon is missing")
        key, rest = split
        if key in found:
            raise ToonError(f"line {self.at}: the key {key!r} stands twice")
        if header := _HEADER.match(rest):
            found[key] = self._array(header, depth + 1)
        elif rest == ":":
            found[key] = self._fields(depth + 1)
        elif rest.startswith(": "):
            found[key] = _value(rest[2:])
        else:
            raise ToonError(f"line {self.at}: a space is missing behind the colon")

    def _array(self, header: re.Match[str], depth: int) -> list[Any]:
        """The items under a header; those on lines of their own are at ``depth``."""
        n_items, fields, inline = int(header[1]), header[2], header[3]
        if inline is not None:
            if fields is not None:
                raise ToonError("a table has values in its header")
            items = [_value(cell) for cell in _cells(inline)]
        elif fields is not None:
            names = [_name(cell) for cell in _cells(fields)]
            items = self._rows(names, n_items, depth)
        else:
            items = []
            while len(items) < n_items and self._is_item(depth):
                items.append(self._item(depth))
        if len(items) != n_items:
            raise ToonError(f"an array has {len(items)} items; its header says {n_items}")
        return items

    def _is_item(self, depth: int) -> bool:
        if self.at >= len(self.lines) or self.lines[self.at][0] != depth:
            return False
        body = self.lines[self.at][1]
        return body == "-" or body.startswith("- ")

    def _rows(self, names: list[str], n_rows: int, depth: int) -> list[Any]:
        rows: list[Any] = []
        while len(rows) < n_rows and self.at < len(self.lines):
            if self.lines[self.at][0] != depth:
                break
            cells = [_value(cell) for cell in _cells(self.lines[self.at][1])]
            if len(cells) != len(names):
                raise ToonError(f"line {self.at + 1}: {len(cells)} cells for {len(names)} fields")
            rows.append(dict(zip(names, cells, strict=True)))
            self.at += 1
        return rows

    def _item(self, depth: int) -> Any:
        body = self.lines[self.at][1]
        self.at += 1
        if body == "-":
            return {}
        body = body[2:]
        if header := _HEADER.match(body):
            return self._array(header, depth + 1)
        if _split_key(body) is None:
            return _value(body)
        # The line of the hyphen is a field one level deeper than the hyphen.
        found: dict[str, Any] = {}
        self._field(found, body, depth + 1)
        for key, value in self._fields(depth + 1).items():
            if key in found:
                raise ToonError(f"the key {key!r} stands twice")
            found[key] = value
        return found


def _split_key(body: str) -> tuple[str, str] | None:
    """The key of a line and what follows it, from its colon or bracket on."""
    if quoted := _QUOTED.match(body):
        rest = body[quoted.end() :]
        return (_unescaped(quoted[1]), rest) if rest[:1] in (":", "[") else None
    match = re.match(r"[A-Za-z_][A-Za-z0-9_.]*", body)
    if match is None:
        return None
    rest = body[match.end() :]
    if rest[:1] == ":" or _HEADER.match(rest):
        return match[0], rest
    return None


def _cells(line: str) -> list[str]:
    """The parts of a line between commas that stand outside of quotes."""
    cells: list[str] = []
    at = 0
    while True:
        if quoted := _QUOTED.match(line, at):
            end = quoted.end()
            if end < len(line) and line[end] != ",":
                raise ToonError("something stands behind a closing quote")
        else:
            comma = line.find(",", at)
            end = len(line) if comma < 0 else comma
        cells.append(line[at:end])
        if end >= len(line):
            return cells
        at = end + 1


def _name(cell: str) -> str:
    if quoted := _QUOTED.fullmatch(cell):
        return _unescaped(quoted[1])
    if not _BARE_KEY.match(cell):
        raise ToonError(f"{cell!r} is no name of a field")
    return cell


def _value(cell: str) -> Any:
    if cell == "[]":
        # The empty array of later versions.
        return []
    if cell in _LITERALS:
        return _LITERALS[cell]
    if cell.startswith('"'):
        quoted = _QUOTED.fullmatch(cell)
        if quoted is None:
            raise ToonError("a string has no closing quote")
        return _unescaped(quoted[1])
    return NumberText(cell) if _NUMBER.match(cell) else cell


def _unescaped(body: str) -> str:
    if "\\" not in body:
        return body

    def char(match: re.Match[str]) -> str:
        if match[1] not in _UNESCAPES:
            raise ToonError(f"\\{match[1]} is no escape")
        return _UNESCAPES[match[1]]

    return re.sub(r"\\(.)", char, body)
