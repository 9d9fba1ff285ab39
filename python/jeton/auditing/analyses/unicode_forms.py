"""Text in a dearer Unicode form than it needs.

Decomposed accents, invisible and look-alike characters. Each function is a `rewriting.Rewrite`.
Their losses: the composed form loses nothing that Unicode calls different. Invisible characters
that shape scripts (joiners, direction marks) and emoji (variation selectors) stay. Compatibility
characters lose their look.
"""

from __future__ import annotations

import re
import unicodedata

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES, substitute
from jeton.guard import mojibake
from jeton.guard.cleaning import without_waste

# Letters and digits of full width (not the punctuation, which Chinese and Japanese use), letters
# and digits of mathematical alphabets and in circles, ligatures, and spaces that are not U+0020.
_COMPATIBILITY = re.compile(
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u2460-\u2473\u24b6-\u24e9"
    "\ufb00-\ufb06\u00a0\u2000-\u200a\u202f\u205f\u3000]+"
)
_IDEOGRAPHIC_SPACE = "\u3000"


def composed(text: str) -> tuple[str, int]:
    """NFC: accents in one character with their letter, where Unicode has such a character."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, 0
    new = unicodedata.normalize("NFC", text)
    return new, MAX_UTF8_BYTES * 2 * max(1, abs(len(text) - len(new)))


def without_invisible_characters(text: str) -> tuple[str, int]:
    """Drop characters that nobody sees and that shape nothing."""
    new, n_dropped = without_waste(text)
    return new, MAX_UTF8_BYTES * n_dropped


def without_mojibake(text: str) -> tuple[str, int]:
    """UTF-8 that was read as a code page, read as UTF-8."""
    new, n_chars = mojibake.without_mojibake(text)
    return new, MAX_UTF8_BYTES * n_chars


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
