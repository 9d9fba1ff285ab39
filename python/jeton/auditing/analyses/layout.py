"""Cost of a text's layout: separators, line ends, indentation, leftovers of extraction.

Each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from jeton.auditing.analyses.rewriting import substitute

MIN_SEPARATOR_CHARS = 8
"""Equal signs in a row from which they only separate: Markdown needs three, code fences too."""

SEPARATOR_CHARS = 3
"""Characters of a separator that the rewrite leaves."""

MIN_SPACED_SHARE = 0.5
"""Share of commas and full stops with a space before them from which a text was cut into words by
a program: in ordinary text it is nearly none."""

MIN_PUNCTUATION = 4

MIN_UPPER_WORDS = 6
"""Words of capitals in a row that are a passage, not a heading or a name."""

_SEPARATOR = re.compile(r"([-=_*#~.·•…─━═+^<>|/\\])\1{7,}+")
_SPACED_DOTS = re.compile(r"(?:[.·•_-] ){7,}+")
_PUNCTUATION = re.compile(r"(?<=\S)( ?)[,.](?=\s|\Z)")
_SPACE_BEFORE = re.compile(r"(?<=[\w)\]\"']) (?=[,.;:!?%)\]](?:\s|\Z))|(?<=[(\[]) (?=\w)")
_SPLIT_CONTRACTION = re.compile(
    r"(?<=[A-Za-z]) (?=(?:n't|n\u2019t|'s|'re|'ve|'ll|'d|'m|\u2019s|\u2019re|\u2019ve)\b)"
)
_QUOTES = re.compile(r"`` | ''(?!')")
# The sign is found before it is asked what stands in front of it, which is far faster.
_HYPHENATED = re.compile(r"[-\u00ad¬](?<=[a-zà-ÿа-я][-\u00ad¬])[ \t]*\r?\n[ \t]*(?=[a-zà-ÿа-я])")
_CRLF = re.compile(r"\r\n?")
_INDENTATION = re.compile(r"^( +|\t+)(?=\S)", re.MULTILINE)
# In any passage of capitals; far faster than the search for a whole one.
_TWO_UPPER = re.compile(r"[A-Z]{2}[^A-Za-z\n]{1,3}[A-Z]{2}")
_UPPER = re.compile(r"\b[A-Z]{2,}+(?![a-z])(?:[^A-Za-z\n]{1,3}+[A-Z]{2,}+(?![a-z])){5,}+")


def with_short_separators(text: str) -> tuple[str, int]:
    """Three signs in place of long lines of the same sign."""
    new, n_bytes = substitute(_SEPARATOR, lambda match: match.group(1) * SEPARATOR_CHARS, text)
    if ". . . ." in new or "_ _ _ _" in new or "- - - -" in new or "· · · ·" in new:
        new, more = substitute(
            _SPACED_DOTS, lambda match: match.group()[: 2 * SEPARATOR_CHARS], new
        )
        n_bytes += more
    return new, n_bytes


def with_plain_line_ends(text: str) -> tuple[str, int]:
    r"""``\n`` in place of ``\r\n``."""
    if "\r" not in text:
        return text, 0
    new, n_bytes = substitute(_CRLF, lambda match: "\n", text)
    # A line end may be one token with the blank lines and indentation around it.
    return new, 3 * n_bytes


def with_narrow_indentation(text: str) -> tuple[str, int]:
    """One space for each level of indentation, where all lines keep to one width of 2 to 8.

    Texts that align by single spaces stay as they are: there the width is meaning.
    """
    if "\n  " not in text:
        return text, 0
    widths = Counter(len(match.group(1)) for match in _INDENTATION.finditer(text))
    step = math.gcd(*widths) if widths else 0
    if step < 2 or "\n\t" in text:
        return text, 0
    step = min(step, 8)
    new, n_bytes = substitute(_INDENTATION, lambda match: " " * (len(match.group(1)) // step), text)
    return new, n_bytes


def has_spaced_punctuation(text: str) -> bool:
    """True if most commas and full stops stand by themselves, as programs write cut text."""
    # Counting substrings first: ordinary text is passed over at the speed of memory.
    n_spaced = text.count(" ,") + text.count(" .")
    if not n_spaced or n_spaced < MIN_SPACED_SHARE * (text.count(", ") + text.count(". ")):
        return False
    found = [match.group(1) for match in _PUNCTUATION.finditer(text)]
    return len(found) >= MIN_PUNCTUATION and sum(map(bool, found)) >= MIN_SPACED_SHARE * len(found)


def with_usual_spacing(text: str) -> tuple[str, int]:
    """No space before punctuation and inside contractions, where a program put them."""
    if not has_spaced_punctuation(text):
        return text, 0
    new, first = substitute(_SPACE_BEFORE, lambda match: "", text)
    new, second = substitute(_SPLIT_CONTRACTION, lambda match: "", new)
    new, third = substitute(_QUOTES, lambda match: '"', new)
    # The sign after a space that goes was a token of its own.
    return new, 4 * (first + second + third)


def with_joined_lines(text: str) -> tuple[str, int]:
    """Words that a line break tore apart, in one piece."""
    if not any(mark in text for mark in ("-\n", "-\r", "- ", "\u00ad", "¬")):
        return text, 0
    new, n_bytes = substitute(_HYPHENATED, lambda match: "", text)
    # The two parts of a word become one: all of it is at stake, which is seldom over 24 bytes.
    return new, 12 * n_bytes


def with_lower_case(text: str) -> tuple[str, int]:
    """Passages in capitals as ordinary sentences."""
    if not _TWO_UPPER.search(text):
        return text, 0
    return substitute(_UPPER, lambda match: match.group().capitalize(), text)
