"""Occurrences in a text that tokens follow: bytes by script class, words, runs.

All of them are counts of bytes of one class, or of one class after another, so that they add up
over pieces of a text and cost a look into a table of 256 entries for each byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CLASSES: Final[tuple[tuple[str, tuple[tuple[int, int], ...]], ...]] = (
    ("small letters", ((0x61, 0x7A),)),
    ("capitals", ((0x41, 0x5A),)),
    ("digits", ((0x30, 0x39),)),
    ("spaces", ((0x20, 0x20),)),
    ("line ends", ((0x0A, 0x0D),)),
    ("tabs and controls", ((0x00, 0x09), (0x0E, 0x1F), (0x7F, 0x7F))),
    ("punctuation", ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))),
    ("Latin beyond ASCII", ((0xC2, 0xCA),)),
    ("Greek and marks", ((0xCB, 0xCF),)),
    ("Cyrillic", ((0xD0, 0xD3),)),
    ("Armenian and Hebrew", ((0xD4, 0xD7),)),
    ("Arabic", ((0xD8, 0xDF),)),
    ("Indic and Thai", ((0xE0, 0xE0),)),
    ("Georgian to Vietnamese", ((0xE1, 0xE1),)),
    ("symbols", ((0xE2, 0xE2),)),
    ("Kana and CJK signs", ((0xE3, 0xE3),)),
    ("Han", ((0xE4, 0xE9),)),
    ("Hangul", ((0xEA, 0xED),)),
    ("full width and private", ((0xEE, 0xEF),)),
    ("beyond the first plane", ((0xF0, 0xFF),)),
    ("rest of a character", ((0x80, 0xC1),)),
)
"""Classes of bytes; a character of several bytes belongs to the class of its first."""

_RUNS: Final = (
    *("words up to 4", "words up to 8", "words up to 12", "longer words"),
    *("capitals in words", "spaces in runs", "punctuation in runs", "numbers"),
)
_WORD_EDGES: Final = (4, 8, 12)
_SIGNS: Final = tuple(chr(code) for code in (*range(0x21, 0x7F),) if not chr(code).isdigit())
_SIGN_BYTES: Final = np.array([ord(sign) for sign in _SIGNS])
_N: Final = len(_CLASSES)
_REST: Final = _N - 1
_SMALL, _CAPITAL, _DIGIT, _SPACE, _PUNCTUATION, _LATIN = 0, 1, 2, 3, 6, 7

FEATURES: Final = (*(name for name, _ in _CLASSES[:_REST]), *_RUNS, *_SIGNS)
"""Names of the counts, in order; single signs tell languages apart."""

N_CLASSES: Final = _REST + len(_RUNS)
"""Features before the single signs."""

KINDS: Final = (
    "Latin prose",
    "Latin with much punctuation",
    *(name for name, _ in _CLASSES[_LATIN + 1 : _REST]),
)
"""Kinds of text that intervals are told apart by: the script of most characters."""

_MUCH_PUNCTUATION: Final = 0.08
"""Share of a text's bytes from which it is rather code, tables or data. A judgement."""


def _table() -> NDArray[np.uint8]:
    table = np.zeros(256, dtype=np.uint8)
    for number, (_, ranges) in enumerate(_CLASSES):
        for first, last in ranges:
            table[first : last + 1] = number
    return table


_TABLE: Final = _table()
_IS_LETTER: Final = np.isin(np.arange(_N), [_SMALL, _CAPITAL, *range(_LATIN, _REST + 1)])


def features_of(data: bytes) -> NDArray[np.float64]:
    """Return the counts of a text, float64 (n_features,)."""
    if not data:
        return np.zeros(len(FEATURES))
    raw = np.frombuffer(data, dtype=np.uint8)
    classes = _TABLE[raw]
    counts = np.bincount(classes, minlength=_N)
    signs = np.bincount(raw, minlength=128)[_SIGN_BYTES]
    before, after = classes[:-1], classes[1:]
    is_letter = _IS_LETTER[classes]
    edges = np.flatnonzero(np.diff(is_letter, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    words = np.bincount(np.searchsorted(_WORD_EDGES, lengths), minlength=len(_WORD_EDGES) + 1)
    runs = (
        int(((after == _CAPITAL) & is_letter[:-1]).sum()),
        int(((after == _SPACE) & (before == _SPACE)).sum()),
        int(((after == _PUNCTUATION) & (before == _PUNCTUATION)).sum()),
        int(((after == _DIGIT) & (before != _DIGIT)).sum()) + int(classes[0] == _DIGIT),
    )
    return np.concatenate([counts[:_REST], words, runs, signs]).astype(np.float64)


def kind_of(features: NDArray[np.float64]) -> str:
    """Return the kind of a text with these counts."""
    scripts = features[_LATIN + 1 : _REST]
    latin = features[_SMALL] + features[_CAPITAL] + features[_LATIN]
    if scripts.sum() > latin:
        return KINDS[2 + int(scripts.argmax())]
    n_bytes = features[:_REST].sum()
    much = features[_PUNCTUATION] > _MUCH_PUNCTUATION * n_bytes
    return KINDS[1] if much else KINDS[0]
