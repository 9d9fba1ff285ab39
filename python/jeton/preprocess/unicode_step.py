"""Unicode: canonical composition, exotic spaces, invisible characters; and typographic quotes."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from jeton.preprocess.regions import looks_like_code, text_lines
from jeton.preprocess.steps import BaseStep, LossClass

__all__ = ["QuotesStep", "UnicodeStep"]

# U+1680 is seen, and U+3000 is twice as wide and indents paragraphs: both stay.
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f]")
_LINE_ENDS = re.compile("[\u0085\u2028\u2029]")

# Word joiner, soft hyphen, byte order mark. Marks of direction, variation selectors and tags
# (flags) are content.
_INVISIBLE = re.compile("[\u00ad\u2060\ufeff]+")

# They join letters of Arabic and Indic scripts and emoji, and part words of Thai and Khmer: only
# beside nothing but Latin, Greek, Cyrillic and the like are they without effect.
_JOINERS = re.compile("[\u200b-\u200d]+")

_LAST_PLAIN = 0x058F
"""Last code point of Latin, Greek, Cyrillic and Armenian; joiners mean nothing between these."""

_JOINER_SCRIPTS_END = 0x1FFF


def _joins_nothing(char: str) -> bool:
    if not char:
        return True
    if char.isspace():
        return True
    code = ord(char)
    if code <= _LAST_PLAIN:
        # Digits and # * are the base of keycap emoji; (c) and (r) are emoji themselves.
        return code not in (0xA9, 0xAE)
    # Latin and Greek extended, general punctuation; not the symbols that emoji are made of.
    is_extended = 0x1E00 <= code <= _JOINER_SCRIPTS_END
    return is_extended or 0x2010 <= code <= 0x2027


def _without_joiners(text: str) -> str:
    if _JOINERS.search(text) is None:
        return text
    pieces: list[str] = []
    at = 0
    for match in _JOINERS.finditer(text):
        before = text[match.start() - 1 : match.start()] if match.start() else ""
        after = text[match.end() : match.end() + 1]
        pieces.append(text[at : match.start()])
        if not (_joins_nothing(before) and _joins_nothing(after)):
            pieces.append(match[0])
        at = match.end()
    pieces.append(text[at:])
    return "".join(pieces)


class UnicodeStep(BaseStep):
    """Writes what looks alike in one way: NFC, one kind of space, no invisible characters.

    Joiners between emoji or in scripts that need them stay, as do marks of direction. Fences,
    preformatted HTML and documents that look like code keep their bytes.
    """

    __slots__ = ()

    name: Final = "unicode"
    loss_class: LossClass = "whitespace"

    def apply(self, text: str) -> str:
        """Return the text in canonical spelling."""
        if text.isascii():
            return text
        if looks_like_code(text):
            self.note("left alone: looks like code")
            return text
        pieces: list[str] = []
        run: list[str] = []
        for line in text_lines(text):
            if line.is_fenced:
                pieces.append(_canonical("".join(run)))
                run = []
                pieces.append(line.text + line.end)
            else:
                run.append(line.text + line.end)
        pieces.append(_canonical("".join(run)))
        return "".join(pieces)


def _canonical(text: str) -> str:
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", text)
    text = _LINE_ENDS.sub("\n", _SPACES.sub(" ", text))
    # Removed first: a mark composes with the letter that then stands before it.
    return unicodedata.normalize("NFC", _without_joiners(text))


_QUOTES: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        "\u2026": "...",
    }
)


class QuotesStep(BaseStep):
    """Writes typographic quotes and ellipses in ASCII; fences and code keep theirs."""

    __slots__ = ()

    name: Final = "quotes"
    loss_class: LossClass = "content"

    def apply(self, text: str) -> str:
        """Return the text with plain quotes."""
        if text.isascii():
            return text
        if looks_like_code(text):
            self.note("left alone: looks like code")
            return text
        return "".join(
            (line.text if line.is_fenced else line.text.translate(_QUOTES)) + line.end
            for line in text_lines(text)
        )
