"""The same text in a dearer Unicode form.

Decomposed accents, invisible and look-alike characters, and text that was decoded with the wrong
encoding. Each function is a `rewriting.Rewrite`. What they lose: the composed form loses nothing
that Unicode calls different; invisible characters that shape scripts (joiners, direction marks) and
emoji (variation selectors) stay; compatibility characters lose their look.
"""

from __future__ import annotations

import re
import unicodedata

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

# What bytes 0x80 to 0xFF become in Windows-1252; the five bytes that it leaves open stay controls.
_CP1252_HIGH = "".join(
    bytes([byte]).decode("cp1252", errors="ignore") or chr(byte) for byte in range(0x80, 0x100)
)
_CP1252_BYTE = {character: byte for byte, character in enumerate(_CP1252_HIGH, start=0x80)}
_LEAD = re.escape(_CP1252_HIGH[0x42:0x75])
_HIGH = re.escape(_CP1252_HIGH)
_MOJIBAKE = re.compile(f"(?:[{_LEAD}][{re.escape(_CP1252_HIGH[:0x40])}]{{1,3}})+")


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
    """UTF-8 that was read as Windows-1252 ("Ã©" for "é"), read again as what it was.

    A run is mended only if its bytes are valid UTF-8 for other characters; that a text holds such a
    run by intention is rare, because the characters hardly ever follow each other in any language.
    """
    if text.isascii():
        return text, 0

    def mend(match: re.Match[str]) -> str | None:
        data = bytes(_CP1252_BYTE[character] for character in match.group())
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    return substitute(_MOJIBAKE, mend, text)
