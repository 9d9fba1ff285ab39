"""Text that a program cut apart: a sign between all letters, spaces around all punctuation.

Each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import re
import unicodedata

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

MIN_LETTERS, MIN_LETTERS_OF_SIGNS = 6, 12
"""Characters in a row that white space, or a sign, sets apart: initials, lists of letters and small
matrices have fewer."""

MIN_LETTER_SHARE = 0.5
"""Share of letters among them; rows of digits and signs are tables."""

MIN_SPACED_SHARE = 0.8
"""Share of the signs that have a space on both sides. In ordinary text only dashes have."""

MIN_SIGNS = 4

_SPACES = ("   ", "  ", " ", "\u00a0", "\t", "\n", "\u2009", "\u200a", "\u202f", "\u3000")
_BETWEEN = (*_SPACES, "-", ".", "_", "|", "\u00b7", "/", ", ", ",", "*", "+")
"""Separators that programs put between letters, longer ones before their parts."""


def _patterns_of(between: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The beginning of a stretch, which hardly any other text has, and the stretch.

    Between each two characters stands the sign; what was white space has it on both sides.
    """
    sign = re.escape(between)
    least = MIN_LETTERS if between.isspace() else MIN_LETTERS_OF_SIGNS
    letter = rf"[^\s{sign}](?:{sign})(?:[\s{sign}](?:{sign})){{0,8}}"
    return (
        re.compile(rf"{sign}(?:[^\s{sign}](?:{sign})){{4}}"),
        # Possessive: linear on text that only begins like it.
        re.compile(rf"(?<!\S)(?:{letter}){{{least - 1},}}+(?:.(?!\S))?", re.DOTALL),
    )


_STRETCHES = {between: _patterns_of(between) for between in _BETWEEN}
_SPACED_SIGN = re.compile(r" ([^\w\s]|_) ")
_SIGN = re.compile(r"[^\w\s]|_")


def without_letter_spacing(text: str) -> tuple[str, int]:
    """Words in one piece where something stands between all of their letters."""
    n_bytes = 0
    for between, (start, stretch) in _STRETCHES.items():
        # Counting is far faster than any search.
        if text.count(between) < MIN_LETTERS - 1 or not start.search(text):
            continue

        def joined(match: re.Match[str], n_between: int = len(between)) -> str:
            nonlocal n_bytes
            found = match.group()
            letters = found[:: 1 + n_between]
            written = [character for character in letters if not character.isspace()]
            n_letters = sum(c.isalpha() or unicodedata.category(c)[0] == "M" for c in written)
            if n_letters < MIN_LETTERS or n_letters < MIN_LETTER_SHARE * len(written):
                return found
            n_bytes += MAX_UTF8_BYTES * len(found)
            # The last sign is that of the text behind, where there is more.
            is_cut = not len(found) % (1 + n_between) and match.end() < len(match.string)
            return letters + found[-n_between:] if is_cut else letters

        text = stretch.sub(joined, text)
    return text, n_bytes


def without_punctuation_spacing(text: str) -> tuple[str, int]:
    """Signs without the space that a program put on either side of each."""
    n_spaced = len(_SPACED_SIGN.findall(text)) if " ." in text or " ," in text else 0
    if n_spaced < MIN_SIGNS or n_spaced < MIN_SPACED_SHARE * len(_SIGN.findall(text)):
        return text, 0
    return _SPACED_SIGN.sub(r"\1", text), 4 * MAX_UTF8_BYTES * n_spaced
