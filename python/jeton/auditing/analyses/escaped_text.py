r"""Text that was written in another way: escapes of any depth, base64, hexadecimal, bytes.

A comparison of two texts wants this normal form: the checks of `encoded_blobs` look for what costs
and leave alone what may be meant (``%20`` in an address, ``\n`` in source code).

Where data decodes to text again, that text stands in its place; of other data only its name is
left. So a prompt that a step wrote as base64 is again the prompt that it was.
"""

from __future__ import annotations

import ast
import base64
import binascii
import html
import json
import quopri
import re
import zlib
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import unquote

from jeton._foreign import json_of
from jeton.auditing.analyses.encoded_blobs import PLACEHOLDER, find_blobs

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


MIN_CHARS = 16
"""A shorter text without spaces is a word or an identifier."""

MIN_KINDS = 10
"""Different characters of data within a text."""

MAX_ENCODINGS = 2
"""Texts are encoded twice now and then (a JSON body in a JSON envelope)."""

MAX_CONTROL_SHARE = 0.02
"""Controls among the characters of text; any other data has far more."""

_MAX_INFLATED_BYTES = 16 << 20

_ALPHABET = re.compile(r"[!-~\s]*+")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_BASE64_URL = re.compile(r"[A-Za-z0-9_\s-]+={0,2}\s*")
_HEX = re.compile(r"(?:0x)?[0-9A-Fa-f\s:,]+")
_PREFIXED_HEX = re.compile(r"(?:(?:0x|\\x|%|#)[0-9A-Fa-f]{2}[\s,;]*)+")
_NUMBERS = re.compile(r"[\[({]?\s*\d{1,3}(?:\s*[,;]?\s+\d{1,3}|,\d{1,3})+\s*[,;]?\s*[\])}]?")
_NUMBER = re.compile(r"\d+")
_INNER_DATA = re.compile(
    r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :,]){24,}+[0-9A-Fa-f]{2}(?![0-9A-Fa-f])"
    r"|[\[(]?(?<!\d)\d{1,3}(?:,[ ]?\d{1,3}+){31,}+[\])]?"
    r"|[!-~]{80,}+"
)
_NOT_HEX = re.compile(r"0[xX]|[^0-9A-Fa-f]")
_WHITE_SPACE = re.compile(r"\s+")


def decoded_text(text: str) -> tuple[str, int]:
    """Text in place of data that stands for it (a `rewriting.Rewrite`)."""
    n_bytes = 0
    for _ in range(MAX_ENCODINGS):
        whole = _whole(text)
        if whole is None:
            break
        n_bytes += len(text)
        text = whole
    blobs = find_blobs(text)
    if not blobs:
        decoded = _INNER_DATA.sub(_inner, text)
        return decoded, n_bytes + (len(text) if decoded != text else 0)
    parts, position = [], 0
    for blob in blobs:
        found = text[blob.start : blob.end]
        payload = found.partition(",")[2] if blob.kind == "data-uri" else found
        # A picture is no text, whatever its bytes are.
        new = None if found.startswith("data:image") else _whole(payload)
        parts += [text[position : blob.start], PLACEHOLDER if new is None else new]
        position = blob.end
        n_bytes += blob.end - blob.start
    return "".join([*parts, text[position:]]), n_bytes


def _inner(match: re.Match[str]) -> str:
    found = match.group()
    # Rules of one sign, rows of padding and addresses are no data.
    if len(set(found)) < MIN_KINDS or "://" in found:
        return found
    return _whole(found) or found


def _whole(text: str) -> str | None:
    """The text that all of the given one stands for; None if it stands for itself."""
    stripped = text.strip()
    if len(stripped) < MIN_CHARS or not stripped.isascii() or not _ALPHABET.fullmatch(stripped):
        return None
    # Encoders break lines at one width, or not at all; prose has words.
    is_prose = max(map(len, stripped.split())) < min(len(stripped), 2 * MIN_CHARS)
    for decode in _SPACED_DECODERS if is_prose else (*_SPACED_DECODERS, *_DECODERS):
        try:
            data = decode(stripped)
        except (binascii.Error, ValueError):
            continue
        found = None if data is None else _as_text(data)
        if found is not None:
            return found
    return None


def _as_text(data: bytes) -> str | None:
    if data[:2] in (b"\x1f\x8b", b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
        try:
            data = zlib.decompressobj(wbits=47).decompress(data, _MAX_INFLATED_BYTES)
        except zlib.error:
            return None
    for encoding in ("utf-8", "utf-16-le"):
        try:
            found = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        n_controls = sum(not c.isprintable() and not c.isspace() for c in found)
        has_words = any(c.isspace() for c in found) or not found.isascii()
        if found and has_words and n_controls <= MAX_CONTROL_SHARE * len(found):
            return found
        if encoding == "utf-8" and data.count(0) * 4 < len(data):
            break
    return None


def _hexadecimal(text: str) -> bytes | None:
    if _HEX.fullmatch(text) or _PREFIXED_HEX.fullmatch(text):
        return bytes.fromhex(_NOT_HEX.sub("", text))
    return None


def _numbers(text: str) -> bytes | None:
    """A list of bytes."""
    if not _NUMBERS.fullmatch(text):
        return None
    values = [int(number) for number in _NUMBER.findall(text)]
    return bytes(values) if max(values) < 256 else None


def _base64(text: str) -> bytes | None:
    compact = _WHITE_SPACE.sub("", text).rstrip("=")
    if len(compact) % 4 == 1:
        return None
    padded = compact + "=" * (-len(compact) % 4)
    if _BASE64.fullmatch(text):
        return base64.b64decode(padded, validate=True)
    return base64.urlsafe_b64decode(padded) if _BASE64_URL.fullmatch(text) else None


_Decoder: TypeAlias = Callable[[str], bytes | None]

_SPACED_DECODERS: tuple[_Decoder, ...] = (_hexadecimal, _numbers)
_DECODERS: tuple[_Decoder, ...] = (_base64,)
