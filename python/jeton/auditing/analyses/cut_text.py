"""Text that a program cut apart: a sign between all letters, spaces around all punctuation.

Each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import re

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

__all__ = ["without_letter_spacing", "without_punctuation_spacing"]

MIN_LETTERS = 12
"""Characters that stand apart in a row: initials, lists of letters, small matrices have fewer."""

MIN_LETTER_SHARE = 0.5
"""Share of letters among them; rows of digits and signs are tables."""

MIN_SPACED_SHARE = 0.8
"""Share of the signs that have a space on both sides. In ordinary text only dashes have."""

MIN_SIGNS = 4

_BETWEEN = (" ", "-", ".", "_", "|", "\u00b7", "\u00a0", "\t", "\n", "/", ",", "\u2009", "\u200a")
"""What programs put between letters."""


def _stretch_of(between: str) -> re.Pattern[str]:
    """Characters with the sign between each two; what was white space has it on both sides."""
    sign = re.escape(between)
    # Possessive: linear on text that only begins like it.
    return re.compile(
        rf"(?<!\S)(?:[^\s{sign}]{sign}(?:[\s{sign}]{sign}){{0,8}}){{{MIN_LETTERS},}}+\S?+"
    )


def _start_of(between: str) -> re.Pattern[str]:
    """Four single characters in a row: every stretch has them, hardly any other text does."""
    sign = re.escape(between)
    return re.compile(rf"{sign}(?:[^\s{sign}]{sign}){{4}}")


_STRETCHES = {between: (_start_of(between), _stretch_of(between)) for between in _BETWEEN}
_SPACED_SIGN = re.compile(r" ([^\w\s]|_) ")
_SIGN = re.compile(r"[^\w\s]|_")


def without_letter_spacing(text: str) -> tuple[str, int]:
    """Words in one piece where something stands between all of their letters."""
    n_bytes = 0
    for between, (start, stretch) in _STRETCHES.items():
        # Counting is far faster than any search.
        if text.count(between) < MIN_LETTERS or not start.search(text):
            continue

        def joined(match: re.Match[str]) -> str:
            nonlocal n_bytes
            found = match.group()
            letters = found[::2]
            if sum(map(str.isalpha, letters)) < MIN_LETTER_SHARE * len(letters.replace(" ", "")):
                return found
            n_bytes += MAX_UTF8_BYTES * len(found)
            return letters

        text = stretch.sub(joined, text)
    return text, n_bytes


def without_punctuation_spacing(text: str) -> tuple[str, int]:
    """Signs without the space that a program put on either side of each."""
    n_spaced = len(_SPACED_SIGN.findall(text)) if " ." in text or " ," in text else 0
    if n_spaced < MIN_SIGNS or n_spaced < MIN_SPACED_SHARE * len(_SIGN.findall(text)):
        return text, 0
    return _SPACED_SIGN.sub(r"\1", text), 4 * MAX_UTF8_BYTES * n_spaced
