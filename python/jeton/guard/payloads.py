"""Decoding: bits, selectors, tags, digits and escapes back to the text that they carry.

Nothing that is decoded is executed or followed; it is shown. Every decoder is bounded by the length
of its input.
"""

from __future__ import annotations

import binascii
import html
import re
from base64 import a85decode, b32decode, b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from urllib.parse import unquote_to_bytes

from jeton.guard.characters import CLASSES, properties
from jeton.guard.wordlist import INSTRUCTION, MARKERS, NEWER_MARKERS, WEB_ADDRESS

_MAX_DIGITS = 1 << 20
"""Digits of one run that are decoded; what lies behind is decoded by nobody."""

_MARKERS = tuple(marker.lower() for marker in (*MARKERS, *NEWER_MARKERS))

_MIN_TEXT_SHARE = 0.9
"""Share of printable characters from which on decoded bytes count as text."""


def meaning(payload: str) -> str:
    """Return ``"special token"``, ``"instruction"``, ``"link"`` or ``"text"`` for decoded text."""
    lower = payload.lower()
    if any(marker in lower for marker in _MARKERS):
        return "special token"
    if INSTRUCTION.search(payload):
        return "instruction"
    if WEB_ADDRESS.search(payload):
        return "link"
    return "text"


def carried(payload: str) -> str:
    """Return the meaning with its article: ``"a special token"``, ``"an instruction"``."""
    return _WITH_ARTICLE[meaning(payload)]


_WITH_ARTICLE = {
    "special token": "a special token",
    "instruction": "an instruction",
    "link": "a link",
    "text": "text",
}


_BLOCK = 192


def line_around(text: str, at: int) -> tuple[int, int]:
    """Return the range of text that is read with a place: neighbours share it.

    It begins and ends at line ends, or some 200 characters away at places that do not depend on
    the place itself. So thousands of places of one line are read once.
    """
    block = at // _BLOCK * _BLOCK
    start, end = max(0, block - _BLOCK), block + 2 * _BLOCK
    start = max(start, text.rfind("\n", start, at) + 1)
    newline = text.find("\n", at, end)
    return start, min(len(text), end if newline < 0 else newline)


@lru_cache(maxsize=64)
def reveals_instruction(line: str, plain: str) -> bool:
    """Return True if a line has more wordings of instructions once its disguise is taken off."""
    # To a pattern without case the dotless i is an i.
    stated = line.replace("\u0131", "_")
    return len(INSTRUCTION.findall(plain)) > len(INSTRUCTION.findall(stated))


def text_of(data: bytes) -> str | None:
    """Return bytes as text; None where they are none.

    A cut character at the end is left out.
    """
    if not data:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data" or error.start < len(data) - 3:
            return None
        text = data[: error.start].decode()
    return text if _is_plain(text) else None


def _is_plain(text: str) -> bool:
    if not text:
        return False
    n_plain = sum(char.isprintable() or char in "\n\t\r" for char in text)
    return n_plain >= _MIN_TEXT_SHARE * len(text)


def shown(data: bytes) -> str:
    """Return bytes as text, or in hexadecimal."""
    text = text_of(data)
    return data.hex() if text is None else text


def from_tags(run: str) -> str:
    """Return the ASCII text that tag characters spell."""
    return "".join(chr(ord(char) - 0xE0000) for char in run if 0xE0020 <= ord(char) <= 0xE007E)


def from_selectors(run: str) -> bytes:
    """Return the bytes that variation selectors carry: 1 to 16 are 0 to 15, 17 to 256 the rest."""
    made = bytearray()
    for char in run:
        code = ord(char)
        if 0xFE00 <= code <= 0xFE0F:
            made.append(code - 0xFE00)
        elif 0xE0100 <= code <= 0xE01EF:
            made.append(code - 0xE0100 + 16)
    return bytes(made)


def _packed(bits: str, width: int) -> Iterator[bytes]:
    """Bytes of bits in groups, the highest first and the lowest first."""
    groups = [bits[at : at + width] for at in range(0, len(bits) - width + 1, width)]
    for order in (1, -1):
        values = [int(group[::order], 2) for group in groups]
        yield bytes(values)


def from_symbols(run: Sequence[str]) -> str | None:
    """Return the text that a run of a few different symbols carries.

    Two symbols are bits, four are pairs of bits, and a symbol besides two is a mark between
    characters. Each assignment is tried; the first that gives text wins.
    """
    counts = Counter(run)
    symbols = sorted(counts)
    if len(symbols) == 1 or len(run) > _MAX_DIGITS:
        return None
    if len(symbols) == 2:
        return _from_bits(run, symbols)
    if len(symbols) == 3:
        # The mark between characters is the rarest or stands at even distances: try each.
        for mark in sorted(symbols, key=lambda symbol: counts[symbol]):
            rest = [symbol for symbol in symbols if symbol != mark]
            words = "".join(run).split(mark)
            found = _from_words([word for word in words if word], rest)
            if found is not None:
                return found
    if len(symbols) in (3, 4):
        return _from_pairs(run, symbols)
    return None


def _from_bits(run: Sequence[str], symbols: Sequence[str]) -> str | None:
    """The likeliest text among all readings: which symbol is zero, how many bits, which order.

    A symbol of the text around the payload may have joined it: then the first or last is none.
    """
    best, found = 0.0, None
    for zero in symbols:
        bits = "".join("0" if symbol == zero else "1" for symbol in run)
        for width, wish in ((8, 1.0), (7, 0.8), (16, 0.6)):
            extra = len(bits) % width
            if len(bits) < width or (extra > 1 and len(bits) < 4 * width):
                continue
            for skipped in {0, extra}:
                for text in _readings(bits[skipped:], width):
                    score = wish * _likelihood(text)
                    if score > best:
                        best, found = score, text
    return found


def _readings(bits: str, width: int) -> Iterator[str]:
    if width < 16:
        for data in _packed(bits, width):
            text = text_of(data)
            if text is not None:
                yield text
        return
    groups = [int(bits[at : at + 16], 2) for at in range(0, len(bits) - 15, 16)]
    if all(0x20 <= value < 0xD800 for value in groups):
        text = "".join(map(chr, groups))
        if _is_plain(text):
            yield text


def _likelihood(text: str) -> float:
    """Share of letters and spaces, less for letters of many scripts: chance gives such."""
    n_known = sum(char.isalnum() or char in " .,\n" for char in text)
    n_scripts = len({properties(char).script for char in text[:256]} - {0, 1})
    return n_known / len(text) / max(1, n_scripts - 1)


def _from_words(words: Sequence[str], symbols: Sequence[str]) -> str | None:
    if not words or any(not 4 <= len(word) <= 21 for word in words):
        return None
    for zero in symbols:
        codes = [int("".join("0" if s == zero else "1" for s in word), 2) for word in words]
        if all(0 < code < 0xD800 for code in codes):
            text = "".join(map(chr, codes))
            if _is_plain(text):
                return text
    return None


def _from_pairs(run: Sequence[str], symbols: Sequence[str]) -> str | None:
    four = [*symbols, *[""] * (4 - len(symbols))]
    for order in permutations(range(4)):
        value = {symbol: format(order[index], "02b") for index, symbol in enumerate(four)}
        bits = "".join(value[symbol] for symbol in run)
        if len(bits) < 8:
            return None
        data = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))
        text = text_of(data)
        if text is not None:
            return text
    return None


def from_hidden(run: str) -> tuple[str, str | None]:
    """Return the kind of a run without ink, and the payload where it can be decoded."""
    kinds = {CLASSES[properties(char).kind] for char in run}
    if kinds <= {"tag"} and len(run) > 1:
        return "tag-payload", from_tags(run) or None
    if kinds <= {"selector", "ideographic-selector"} and len(run) > 1:
        return "selector-payload", shown(from_selectors(run))
    if len(run) > 1:
        return "hidden-bits", from_symbols(run)
    return "invisible", None


_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)\Z")


def from_digits(run: str) -> tuple[str, str] | None:
    """Return the encoding and the text of a run of digits; None where it is no text."""
    run = run[:_MAX_DIGITS]
    match = _HEX.match(run)
    if match is not None:
        digits = match[1][: len(match[1]) // 2 * 2]
        text = text_of(bytes.fromhex(digits))
        if text is not None:
            return "hexadecimal", text
    if re.fullmatch(r"[A-Z2-7]+=*", run):
        whole = run.rstrip("=")
        whole = whole[: len(whole) // 8 * 8] if len(whole) % 8 in (1, 3, 6) else whole
        found = _decoded(b32decode, whole + "=" * (-len(whole) % 8))
        if found is not None:
            return "base32", found
    for skipped in range(4):
        digits = run[skipped:].rstrip("=").replace("-", "+").replace("_", "/")
        digits = digits[: len(digits) - (len(digits) % 4 == 1)]
        found = _decoded(b64decode, digits + "=" * (-len(digits) % 4))
        if found is not None:
            return "base64", found
    stripped = run.removeprefix("<~").removesuffix("~>").removesuffix("~")
    found = _decoded(a85decode, stripped)
    return None if found is None else ("base85", found)


def _decoded(decode: object, digits: str) -> str | None:
    try:
        data = decode(digits)  # type: ignore[operator]
    except (binascii.Error, ValueError):
        return None
    # The bytes of a character may be cut where digits in front of the run belong to other text.
    for cut in range(4):
        text = text_of(data[cut:])
        if text is not None and len(text) >= 4:
            return text
    return None


def from_escapes(run: str) -> tuple[str, str] | None:
    """Return the encoding and the text of a run of escapes."""
    run = run[:_MAX_DIGITS]
    if run.startswith("%"):
        text = text_of(unquote_to_bytes(run))
        return None if text is None else ("percent escapes", text)
    if run.startswith("="):
        text = text_of(binascii.a2b_qp(run))
        return None if text is None else ("quoted-printable", text)
    if run.startswith("&"):
        return "character references", html.unescape(run)
    if run.startswith("\\x"):
        data = re.sub(
            rb"\\x([0-9a-fA-F]{2})",
            lambda m: bytes([int(m[1], 16)]),
            run.encode("utf-8", "replace"),
        )
        text = text_of(data)
        return None if text is None else ("backslash escapes", text)
    made = re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))",
        lambda m: chr(min(int(m[1] or m[2], 16), 0x10FFFF)),
        run,
    )
    text = made.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return ("backslash escapes", text) if _is_plain(text) else None


def from_bits(run: str) -> str | None:
    """Return the text of zeros and ones, with or without spaces between bytes."""
    words = run.split()
    widths = {len(word) for word in words}
    if widths <= {7} or widths <= {8}:
        return text_of(bytes(int(word, 2) for word in words[:_MAX_DIGITS]))
    bits = "".join(words)[:_MAX_DIGITS]
    if len(bits) % 8:
        return None
    return text_of(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)))


_MORSE_SIGNS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- "
    ".-- -..- -.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)
_MORSE = dict(zip(_MORSE_SIGNS.split(" "), "abcdefghijklmnopqrstuvwxyz0123456789", strict=True)) | {
    ".-.-.-": ".",
    "--..--": ",",
    "..--..": "?",
    ".----.": "'",
    "-....-": "-",
    "-..-.": "/",
}


def from_morse(run: str) -> str | None:
    """Return the text of dots and dashes, with spaces between letters and ``/`` between words."""
    words = re.split(r"\s*/\s*|\s{3,}", run.strip())
    letters = [word.split() for word in words]
    signs = [sign for word in letters for sign in word]
    n_known = sum(sign in _MORSE for sign in signs)
    # Rules of tables and lists of dots are no Morse: nearly all signs must be letters.
    if len(signs) < 8 or n_known < 0.9 * len(signs):
        return None
    text = " ".join("".join(_MORSE.get(sign, "?") for sign in word) for word in letters).strip()
    return text if len(set(text)) >= 4 else None


_BRAILLE = dict(
    zip(
        "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵⠀⠂⠲⠦⠖⠤⠄",
        "abcdefghijklmnopqrstuvwxyz ,.?!-'",
        strict=True,
    )
)


def from_braille(run: str) -> str | None:
    """Return the text of braille cells, letter by letter."""
    cells = [char for char in run if char not in "⠠⠼⠰"]
    n_known = sum(cell in _BRAILLE or cell == " " for cell in cells)
    if not cells or n_known < 0.8 * len(cells):
        return None
    return "".join(_BRAILLE.get(cell, cell) for cell in cells)
