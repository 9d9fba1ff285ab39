"""Make characters visible that would otherwise hide, move or erase text.

Reports show other people's text: terms, file names, tokenizer names, samples. In them a control
character can forge terminal output, a direction control can reorder a line, and an invisible
character can make two names look alike.
"""

from __future__ import annotations

import unicodedata

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_DOTTED_CIRCLE = "\u25cc"
_PICTURES = 0x2400
"""U+2400 to U+241F are the Unicode pictures of U+0000 to U+001F (The Unicode Standard, block
Control Pictures); U+2421 is that of DEL."""


def is_hidden(char: str) -> bool:
    """True if a character shows nothing of its own, or is not a character at all."""
    return unicodedata.category(char) in _HIDDEN_CATEGORIES


def visible_char(char: str) -> str:
    """Return a picture of a hidden character; any other character as it is."""
    if not is_hidden(char):
        return char
    code = ord(char)
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == 0x7F:
        return "\u2421"
    return f"\u27e8U+{code:04X}\u27e9"


def visible(text: str) -> str:
    """Return one line of text in which every hidden character has a picture.

    A combining mark at the start gets a dotted circle to stand on; else it would be drawn over
    whatever comes before it on the page.
    """
    shown = "".join(visible_char(char) for char in text)
    if shown and unicodedata.category(shown[0]).startswith("M"):
        return _DOTTED_CIRCLE + shown
    return shown
