"""Text that was written as data: base64, hexadecimal, lists of bytes.

Where the data decodes to text again, that text stands in its place; of other data only its name is
left. So a prompt that a step wrote as base64 is again the prompt that it was.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable
from typing import TypeAlias

from jeton.auditing.analyses.encoded_blobs import PLACEHOLDER, find_blobs

MIN_CHARS = 16
"""A shorter text without spaces is a word or an identifier."""

MIN_KINDS = 10
"""Different characters of data within a text."""

MAX_ROUNDS = 2
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
    for _ in range(MAX_ROUNDS):
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
