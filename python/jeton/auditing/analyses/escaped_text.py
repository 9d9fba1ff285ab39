r"""Text with all escapes written as the characters that they stand for, however often escaped.

A comparison of two texts wants this normal form: the checks of `escapes` look for what costs and
leave alone what may be meant (``%20`` in an address, ``\n`` in source code).
"""

from __future__ import annotations

import ast
import html
import json
import quopri
import re
from collections.abc import Callable
from urllib.parse import unquote

from jeton._foreign import json_of

MAX_ROUNDS = 6
"""Times that one escaping inside another is taken off."""

MIN_ESCAPES = 3
"""Escapes from which a text counts as escaped as a whole."""

_MAX_LITERAL_CHARS = 8 << 20
_LAST_CODE_POINT = 0x10FFFF

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
# Before a sign of JSON it is a key or a value there, and stays one.
_INNER_STRING = re.compile(r'(?<![\\\w])"(?:[^"\\\n]++|\\.)*+"(?!\s*[:,\]}])')
_ESCAPE = re.compile(r'\\["\\/bfnrtu]')
_MAY_BE_ESCAPED = re.compile("[&%=]")
_UNITS = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\U000?[0-9a-fA-F]{5})+")
_ONE_UNIT = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")
_BYTES = re.compile(r"(?:\\x[0-9a-fA-F]{2})+")
_OCTAL = re.compile(r"(?:\\[0-3][0-7]{2}){2,}")
_BRACED = re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}|U\+([0-9A-F]{4,6})(?![0-9A-F])[ ]?")
_SHORT = re.compile(r"\\([ntr\"'/\\])")
_SHORT_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r"}
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_SOFT_BREAK = re.compile(r"=\r?\n")
_QUOTED_PRINTABLE = re.compile(r"=[0-9A-F]{2}")


def unescaped_text(text: str) -> tuple[str, int]:
    """The text that escapes stand for (a `rewriting.Rewrite`)."""
    original = text
    # All of these first: the other forms would take away what makes it a literal.
    while (inner := _literal(text)) != text:
        text = inner
    text = _STRING.sub(_unescaped_string, text) if _is_json(text) else _unescaped(text)
    return (text, 4 * max(len(original), len(text))) if text != original else (text, 0)


def _unescaped(text: str) -> str:
    for _ in range(MAX_ROUNDS):
        before = text
        for unescape in (_literal, _inner_literals, *_FORMS):
            text = unescape(text)
        if text == before:
            break
    return text


def _is_json(text: str) -> bool:
    """True if a whole text is an object or array of JSON: its strings have escapes, it has none."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return False
    try:
        json_of(stripped, any_integer=True)
    except (ValueError, RecursionError):
        return False
    return True


def _unescaped_string(match: re.Match[str]) -> str:
    if "\\" not in match.group() and not _MAY_BE_ESCAPED.search(match.group()):
        return match.group()
    string = json_of(match.group(), any_integer=True)
    if _is_json(string):
        # JSON inside a string is JSON that was escaped: it stands there as JSON.
        return unescaped_text(string)[0].strip()
    return json.dumps(_unescaped(string), ensure_ascii=False, allow_nan=False)


def _literal(text: str) -> str:
    """A whole text that is a string of JSON or of Python, or a field of CSV."""
    stripped = text.strip()
    if len(stripped) < 2 or len(stripped) > _MAX_LITERAL_CHARS or stripped[-1] not in "\"'":
        return text
    if stripped[0] == '"':
        try:
            found = json_of(stripped, strict=False, any_integer=True)
        except ValueError:
            inner = stripped[1:-1].replace('""', "")
            return text if '"' in inner else stripped[1:-1].replace('""', '"')
        return found if isinstance(found, str) else text
    if stripped[0] != "'" and stripped[:2] not in ("b'", 'b"', "u'", 'u"'):
        return text
    try:
        value = ast.literal_eval(stripped)
        return value.decode("utf-8") if isinstance(value, bytes) else str(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _inner_literals(text: str) -> str:
    """Strings of JSON within a text, as a step leaves them that dumps a part of a prompt."""
    if text.count("\\") < MIN_ESCAPES or '"' not in text:
        return text

    def string(match: re.Match[str]) -> str:
        if len(_ESCAPE.findall(match.group())) < MIN_ESCAPES:
            return match.group()
        try:
            found = json_of(match.group(), strict=False, any_integer=True)
        except ValueError:
            return match.group()
        return found if isinstance(found, str) else match.group()

    # The other forms would take away what makes the next one a string.
    for _ in range(MAX_ROUNDS):
        before = text
        text = _INNER_STRING.sub(string, text)
        if text == before:
            break
    return text


def _code_points(text: str) -> str:
    if "\\u" not in text and "\\U" not in text and "U+" not in text:
        return text

    def characters(match: re.Match[str]) -> str:
        units = b"".join(
            bytes.fromhex(short)
            if short
            else chr(min(int(long, 16), _LAST_CODE_POINT)).encode("utf-16-be")
            for short, long in _ONE_UNIT.findall(match.group())
        )
        try:
            return units.decode("utf-16-be")
        except UnicodeDecodeError:
            return match.group()

    def braced(match: re.Match[str]) -> str:
        number = int(match.group(1) or match.group(2), 16)
        return (
            chr(number) if number <= 0x10FFFF and not 0xD800 <= number < 0xE000 else match.group()
        )

    return _BRACED.sub(braced, _UNITS.sub(characters, text))


def _bytes_of_code(text: str) -> str:
    r"""``\xc3\xa9`` and ``\303\251``; bytes that are no UTF-8 are code points."""
    if "\\x" in text:
        text = _BYTES.sub(lambda m: _decoded(bytes.fromhex(m.group().replace("\\x", ""))), text)
    if "\\3" in text or "\\2" in text:
        text = _OCTAL.sub(
            lambda m: _decoded(bytes(int(n, 8) for n in m.group().split("\\")[1:])), text
        )
    return text


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _short_escapes(text: str) -> str:
    r"""``\n`` and ``\"`` where a whole text was escaped: it has no line end of its own left."""
    if "\\" not in text:
        return text
    found = _SHORT.findall(text)
    n_lines = sum(letter in "nr" for letter in found)
    n_quotes = sum(letter == '"' for letter in found)
    is_escaped = (n_lines and "\n" not in text.strip()) or (
        n_quotes >= 2 and n_quotes >= text.count('"') / 2
    )
    if not is_escaped:
        # A part of a prompt may have been escaped alone: it is one line with many ends in it.
        return "\n".join(map(_short_in_line, text.split("\n"))) if n_lines >= MIN_ESCAPES else text
    return _SHORT.sub(lambda m: _SHORT_CHARACTERS.get(m.group(1), m.group(1)), text)


def _short_in_line(line: str) -> str:
    if line.count("\\n") < MIN_ESCAPES:
        return line
    return _SHORT.sub(lambda m: _SHORT_CHARACTERS.get(m.group(1), m.group(1)), line)


def _entities(text: str) -> str:
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda match: html.unescape(match.group()), text)


def _percents(text: str) -> str:
    stripped = text.strip()
    has_blanks = any(map(str.isspace, stripped))
    n_plus, n_percents = text.count("+"), len(_PERCENT.findall(text))
    is_form = n_percents >= MIN_ESCAPES or n_plus * 20 >= len(stripped)
    if not has_blanks and n_plus and is_form and "%20" not in text:
        # Forms write blanks as plus signs, and no other blank is left.
        text = text.replace("+", " ")
    if "%" not in text:
        return text

    def characters(match: re.Match[str]) -> str:
        try:
            return unquote(match.group(), errors="strict")
        except UnicodeDecodeError:
            return match.group()

    return _PERCENT.sub(characters, text)


def _quoted_printable(text: str) -> str:
    if "=" not in text or not text.isascii():
        return text
    n_breaks = len(_SOFT_BREAK.findall(text))
    n_escapes = len(_QUOTED_PRINTABLE.findall(text)) + n_breaks
    if n_escapes < (1 if n_breaks else MIN_ESCAPES) or n_escapes < text.count("="):
        return text
    try:
        return quopri.decodestring(text.encode("ascii")).decode("utf-8")
    except UnicodeDecodeError:
        return text


_FORMS: tuple[Callable[[str], str], ...] = (
    _quoted_printable,
    _code_points,
    _bytes_of_code,
    _entities,
    _percents,
    _short_escapes,
)
