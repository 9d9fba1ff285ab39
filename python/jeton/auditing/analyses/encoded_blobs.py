r"""Data and escapes that cost: data URIs, base64, hexadecimal; ``\u00e9``, ``&eacute;``, ``%C3``.

A vocabulary knows nothing of data, so it costs a token for every two or three characters, and a
model can hardly use it. Data is told by its randomness: words, paths and identifiers in camel case
are made of the same characters.

Escapes are `rewriting.Rewrite`s that write the character itself. In source code an escape may be
what is meant; the checks ask for a share of the tokens that code does not reach.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote

from jeton.auditing.analyses.rewriting import substitute

MIN_BASE64_CHARS = 64
"""Shorter runs are identifiers, keys and signatures, which may be meant to be read (48 bytes)."""

MIN_HEX_CHARS = 80
"""A SHA-256 digest has 64 digits and SHA-384 and -512 are rare: from 80 on it is data."""

MAX_SAME_CLASS_SHARE = 0.55
"""Neighbours of the same class (lower case, upper case, digit, sign) in random base64 are
(2 x 26^2 + 10^2 + 2^2) / 64^2 = 0.36 of all; in words and paths they are more than 0.8. At 64
characters the limit is three standard deviations above the former."""

MIN_DISTINCT_BASE64 = 24
"""Different characters that 64 random ones of 64 have nearly always (41 in the mean)."""

MIN_DISTINCT_HEX = 10
"""Different digits; a bitmap of zeros is data too, but runs are found by another rewrite."""

PLACEHOLDER = "[data]"
"""Replacement of a blob: the reader of the prompt should know that there was one."""

# One line of base64, or lines of equal width as MIME (76) and PEM (64) wrap it.
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:data:[\w.+-]{1,64}/[\w.+-]{1,64}(?:;[\w=.-]{1,64})*;base64,)?"
    r"[A-Za-z0-9+/_-]{32,}(?:\r?\n[ \t]*[A-Za-z0-9+/_-]{48,})*"
    r"(?:={1,2}|\r?\n[ \t]*[A-Za-z0-9+/_-]{1,47}={1,2})?"
)
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x|\\x)?[0-9a-fA-F]{40,}(?:\r?\n[ \t]*[0-9a-fA-F]{16,})*")
_WHITE_SPACE = re.compile(r"\s+")
_LONG_RUN_CHARS = 40
_LONG_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{_LONG_RUN_CHARS}}}")


@dataclass(frozen=True, slots=True)
class Blob:
    """One stretch of encoded data: ``text[start:end]``, in code points."""

    start: int
    end: int
    kind: str


def find_blobs(text: str) -> list[Blob]:
    """All blobs of a text, in their order; they do not overlap."""
    # Words are cut far faster than runs are found, and a run is a part of a word.
    if max(map(len, text.split()), default=0) < _LONG_RUN_CHARS or not _LONG_RUN.search(text):
        return []
    blobs = []
    for match in _BASE64.finditer(text):
        kind = _kind(match.group())
        if kind:
            blobs.append(Blob(match.start(), match.end(), kind))
    taken = [(blob.start, blob.end) for blob in blobs]
    for match in _HEX.finditer(text):
        is_free = not any(s < match.end() and match.start() < e for s, e in taken[-1:])
        if is_free and _is_hex(match.group()):
            blobs.append(Blob(match.start(), match.end(), "hex"))
    return _without_overlaps(sorted(blobs, key=lambda blob: (blob.start, -blob.end)))


def _without_overlaps(blobs: list[Blob]) -> list[Blob]:
    kept: list[Blob] = []
    for blob in blobs:
        if not kept or blob.start >= kept[-1].end:
            kept.append(blob)
    return kept


def _kind(run: str) -> str:
    """``"data-uri"``, ``"base64"``, ``"hex"``, or nothing for what is not data."""
    if run.startswith("data:"):
        payload = run.partition(",")[2]
        return "data-uri" if len(payload) >= MIN_BASE64_CHARS else ""
    payload = _WHITE_SPACE.sub("", run).rstrip("=")
    if _is_hex(payload):
        return "hex"
    return "base64" if _is_random_base64(payload) else ""


def _is_hex(run: str) -> bool:
    digits = _WHITE_SPACE.sub("", run)
    digits = digits[2:] if digits.startswith(("0x", "\\x")) else digits
    if len(digits) < MIN_HEX_CHARS:
        return False
    counts = Counter(digits.lower())
    return (
        set(counts) <= set("0123456789abcdef")
        and len(counts) >= MIN_DISTINCT_HEX
        and any(letter in counts for letter in "abcdef")
    )


def _is_random_base64(run: str) -> bool:
    if len(run) < MIN_BASE64_CHARS:
        return False
    # A long run is judged by its beginning: data is random everywhere.
    sample = run[:4096]
    if len(set(sample)) < MIN_DISTINCT_BASE64:
        return False
    classes = [_character_class(character) for character in sample]
    same = sum(a == b for a, b in pairwise(classes))
    return same <= MAX_SAME_CLASS_SHARE * (len(classes) - 1)


def _character_class(character: str) -> int:
    return (
        0 if character.islower() else 1 if character.isupper() else 2 if character.isdigit() else 3
    )


def without_blobs(text: str) -> tuple[str, int]:
    """Put `PLACEHOLDER` in place of every blob (a `rewriting.Rewrite`)."""
    blobs = find_blobs(text)
    if not blobs:
        return text, 0
    parts, position = [], 0
    for blob in blobs:
        parts.append(text[position : blob.start])
        parts.append(PLACEHOLDER)
        position = blob.end
    parts.append(text[position:])
    return "".join(parts), sum(blob.end - blob.start for blob in blobs)


MIN_PERCENT_ESCAPES = 3
"""Escaped bytes in a row: one letter of most scripts has two or three; ``%20`` in an address is
one and stays."""

# Only characters beyond ASCII: \\u0022 and the like must stay escaped inside a string.
_UNICODE_ESCAPES = re.compile(r"(?<!\\)(?:\\u[0-9a-fA-F]{4})+")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){3,}")
_NESTED_QUOTE = re.compile(r'\\"(?:[^"\\\n]|\\[^"\n])*+\\"\s*:')
_ESCAPED = re.compile(r'\\(["\\/])')


def without_unicode_escapes(text: str) -> tuple[str, int]:
    """The characters that ``ensure_ascii`` of JSON writers escaped."""
    if "\\u" not in text:
        return text, 0

    def character(match: re.Match[str]) -> str | None:
        units = bytes.fromhex(match.group().replace("\\u", ""))
        try:
            found = units.decode("utf-16-be")
        except UnicodeDecodeError:
            return None
        # Controls, quotes and backslashes are escaped for a reason.
        return found if all(ord(c) > 0x9F for c in found) else None

    return substitute(_UNICODE_ESCAPES, character, text)


def without_entities(text: str) -> tuple[str, int]:
    """The characters of HTML's references."""
    if "&" not in text:
        return text, 0
    return substitute(_ENTITY, lambda match: html.unescape(match.group()), text)


def without_percent_escapes(text: str) -> tuple[str, int]:
    """The characters of percent-encoded text, where they are UTF-8 and not ASCII."""
    if "%" not in text:
        return text, 0

    def characters(match: re.Match[str]) -> str | None:
        try:
            found = unquote(match.group(), errors="strict")
        except UnicodeDecodeError:
            return None
        return found if not found.isascii() else None

    return substitute(_PERCENT, characters, text)


def without_nested_quotes(text: str) -> tuple[str, int]:
    r"""JSON inside a JSON string: one level of backslashes less.

    Only texts with escaped keys (``\"name\":``) are touched; all their escaped quotes and
    backslashes lose one backslash.
    """
    if '\\"' not in text or not _NESTED_QUOTE.search(text):
        return text, 0
    new, n_bytes = substitute(_ESCAPED, lambda match: match.group(1), text)
    return new, 2 * n_bytes
