"""Places of a text at which the guard looks, by the core's scanner."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from jeton._core import TextScanner
from jeton.guard.characters import folds, scripts, table
from jeton.guard.wordlist import PHRASES, bare_markers


class Code(IntEnum):
    """Reasons of candidates, as the core numbers them (``crates/jeton-scan/src/codes.rs``)."""

    HIDDEN = 0
    CONTROL = 1
    MARKS = 2
    MIXED_WORD = 3
    COMPATIBLE = 4
    MARKER = 5
    UNKNOWN_MARKER = 6
    ENCODED = 7
    ESCAPED = 8
    BITS = 9
    MORSE = 10
    BRAILLE = 11
    DOMAIN = 12
    MOJIBAKE = 13
    PRIVATE = 14
    NONCHARACTER = 15
    UNASSIGNED = 16
    LINE_END = 17
    PHRASE = 18


_CODES: Final = tuple(Code)


class TextPlace(NamedTuple):
    """Range of a text, half-open, in code points, with the reason to look there."""

    start: int
    end: int
    code: Code


MIXED_SCRIPTS: Final = (
    "Latin",
    "Greek",
    "Cyrillic",
    "Armenian",
    "Cherokee",
    "Coptic",
    "Lisu",
    "Deseret",
)
"""Scripts whose letters pass for one another; a word of two of them is a candidate. Others stand
beside Latin letters every day (``iPhone`` in a Chinese sentence)."""


def script_bit(script: int) -> int:
    """Return the bit of a script in ``MIXED_SCRIPTS``, by its number; 0 for all others."""
    name = scripts()[script]
    return 1 << MIXED_SCRIPTS.index(name) if name in MIXED_SCRIPTS else 0


@lru_cache(maxsize=1)
def _scanner_table() -> tuple[list[tuple[int, int, int, int, int, int]], list[tuple[str, int]]]:
    found = table()
    rows = [(*row, script_bit(row[1])) for row in found["rows"]]
    flat, start = found["ranges"], 0
    ranges = []
    for step, number in zip(flat[0::2], flat[1::2], strict=True):
        start += step
        ranges.append((start, *rows[number]))
    return ranges, [(char, ord(plain)) for char, plain in folds().items()]


@lru_cache(maxsize=32)
def _scanner(markers: frozenset[str]) -> TextScanner:
    ranges, plain = _scanner_table()
    return TextScanner(ranges, plain, sorted(markers), [*PHRASES, *bare_markers(markers)])


def places(text: str, markers: Iterable[str]) -> list[TextPlace]:
    """Return the places of a text at which the guard has to look, in order.

    Args:
        text: A text without halves of surrogate pairs.
        markers: Texts of special tokens.

    Cost: linear in the length of the text; a scanner is made once for each set of markers.
    """
    scanner = _scanner(markers if isinstance(markers, frozenset) else frozenset(markers))
    return [TextPlace(start, end, _CODES[code]) for start, end, code in scanner.candidates(text)]
