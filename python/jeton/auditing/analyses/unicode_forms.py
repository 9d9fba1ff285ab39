"""The same text in a dearer Unicode form.

Decomposed accents, invisible and look-alike characters, and text that was decoded with the wrong
encoding. Each function is a `rewriting.Rewrite`. What they lose: the composed form loses nothing
that Unicode calls different; invisible characters that shape scripts (joiners, direction marks) and
emoji (variation selectors) stay; compatibility characters lose their look.
"""

from __future__ import annotations

import re
import unicodedata
from functools import partial

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES, substitute

__all__ = [
    "composed",
    "without_compatibility_characters",
    "without_invisible_characters",
    "without_mojibake",
]

# Soft hyphen, zero-width space, word joiner, invisible operators, byte-order mark, Mongolian vowel
# separator, tag characters outside of flags. ZWJ, ZWNJ and direction marks mean something.
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u2060-\u2064\ufeff\u180e]+|(?<!\U0001f3f4)[\U000e0000-\U000e007f]+"
)

# Letters and digits of full width (not the punctuation, which Chinese and Japanese use), letters
# and digits of mathematical alphabets and in circles, ligatures, and spaces that are not U+0020.
_COMPATIBILITY = re.compile(
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u2460-\u2473\u24b6-\u24e9"
    "\ufb00-\ufb06\u00a0\u2000-\u200a\u202f\u205f\u3000]+"
)
_IDEOGRAPHIC_SPACE = "\u3000"

_CODE_PAGES: tuple[tuple[str, int], ...] = (("cp1252", 1), ("cp1251", 2), ("mac_roman", 2))
"""Code pages that UTF-8 is read as by mistake, and characters in a row from which that is sure.

Letters of Windows-1251 and Mac Roman follow each other so in good text now and then.
"""

_MAX_READINGS = 3
"""Text that was read wrongly, written and read wrongly again."""


def _bytes_of(code_page: str) -> dict[str, int]:
    """The high bytes by the characters that a code page makes of them, controls of Latin-1 too."""
    found = {}
    for byte in range(0x80, 0x100):
        if code_page == "cp1252":
            # Latin-1 and Windows-1252 differ in these, and readers mix the two.
            found[chr(byte)] = byte
        character = bytes([byte]).decode(code_page, errors="ignore")
        if character:
            found[character] = byte
    return found


def _pattern_of(characters: dict[str, int], least: int) -> re.Pattern[str]:
    """Runs of characters whose bytes may be UTF-8."""

    def those(first: int, last: int) -> str:
        return re.escape("".join(c for c, byte in characters.items() if first <= byte <= last))

    follows = those(0x80, 0xBF)
    pairs = f"[{those(0xC2, 0xDF)}][{follows}]"
    triples = f"[{those(0xE0, 0xEF)}][{follows}]{{2}}"
    quads = f"[{those(0xF0, 0xF4)}][{follows}]{{3}}"
    return re.compile(f"(?:{pairs}|{triples}|{quads}){{{least},}}")


_MOJIBAKE = tuple(
    (_pattern_of(_bytes_of(page), least), _bytes_of(page)) for page, least in _CODE_PAGES
)


def composed(text: str) -> tuple[str, int]:
    """NFC: accents in one character with their letter, where Unicode has such a character."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, 0
    new = unicodedata.normalize("NFC", text)
    return new, MAX_UTF8_BYTES * 2 * max(1, abs(len(text) - len(new)))


def without_invisible_characters(text: str) -> tuple[str, int]:
    """Drop characters that nobody sees and that shape nothing."""
    if text.isascii():
        return text, 0
    return substitute(_INVISIBLE, lambda match: "", text)


def without_compatibility_characters(text: str) -> tuple[str, int]:
    """Ordinary letters, digits and spaces in place of those that only look different."""
    if text.isascii():
        return text, 0

    def plain(match: re.Match[str]) -> str | None:
        found = match.group()
        # Between ideographs the wide space is the ordinary one.
        if found.strip(_IDEOGRAPHIC_SPACE) == "":
            return None
        return unicodedata.normalize("NFKC", found)

    return substitute(_COMPATIBILITY, plain, text)


def without_mojibake(text: str) -> tuple[str, int]:
    """UTF-8 that was read as another code page ("Ã©" for "é"), read again as what it was.

    Windows-1252 and Latin-1, mixed or not, Windows-1251 and Mac Roman; read wrongly once or more.
    A run is mended only if its bytes are valid UTF-8 for other characters; that a text holds such a
    run by intention is rare, because the characters hardly ever follow each other in any language.
    """
    if text.isascii():
        return text, 0
    total = 0
    for _ in range(_MAX_READINGS):
        n_before = total
        for pattern, characters in _MOJIBAKE:
            text, n_bytes = substitute(pattern, partial(_mended, characters), text)
            total += n_bytes
        if total == n_before:
            break
    return text, total


def _mended(characters: dict[str, int], match: re.Match[str]) -> str | None:
    data = bytes(characters[character] for character in match.group())
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
