"""The normalization rules that SentencePiece knows by name.

``nfkc``, ``nmt_nfkc`` and, with case folded, ``nfkc_cf``, ``nmt_nfkc_cf``: made from Unicode's data
instead of copied. NFKC of every character, and the sequences of a base and marks that compose.
``nmt_nfkc``, the default of sentencepiece, drops control characters besides and makes other white
space a space. Case is folded one character to one (Unicode's *simple* case folding): the sharp s
stays. For single characters the rules are those of sentencepiece 0.2.3 (a test compares all of
them), and so are sequences, with two exceptions: it also composes Korean syllables of compatibility
and half-width jamo, which would make the rules ten times as large, and twenty signs of scripts that
Unicode 16 added. A model carries its rules, so whoever loads it normalizes as it was trained.

The rules do not depend on the version of Python: what Unicode 15 to 17 added is listed here, and
what later versions add is not taken.
"""

from __future__ import annotations

import base64
import unicodedata
from collections import defaultdict
from functools import cache
from itertools import product
from typing import Final

from jeton._core import compile_charsmap

RULE_NAMES: Final = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")
"""Names whose rules are made here; ``identity`` has none."""

_LAST_WITH_NFKC: Final = 0x2FA1D
"""Beyond the compatibility ideographs no character of Unicode 17 has a decomposition."""

_NEW_DIGITS_AND_CAPITALS: Final = (0x1CCD6, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
"""Outlined letters and digits (Unicode 16), and what they stand for."""

_NEW_CYRILLIC: Final = (
    0x1E030,
    "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438\u043a\u043b\u043c\u043e\u043f"
    "\u0440\u0441\u0442\u0443\u0444\u0445\u0446\u0447\u0448\u044b\u044d\u044e\ua689\u04d9"
    "\u0456\u0458\u04e9\u04af\u04cf\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438"
    "\u043a\u043b\u043e\u043f\u0441\u0443\u0444\u0445\u0446\u0447\u0448\u044a\u044b\u0491"
    "\u0456\u0455\u045f\u04ab\ua651\u04b1",
)
"""Cyrillic modifier letters (Unicode 15)."""

_NEW: Final = {
    0xA7F1: "S",  # Unicode 17
    **{
        first + n: text
        for first, row in (_NEW_DIGITS_AND_CAPITALS, _NEW_CYRILLIC)
        for n, text in enumerate(row)
    },
}

_LATER: Final = (
    (0xA7F1, 0xA7F1),
    (0x105C9, 0x105E4),
    (0x11380, 0x113FF),
    (0x16100, 0x1613F),
    (0x16D40, 0x16D7F),
    (0x1CC00, 0x1CEBF),
    (0x1E030, 0x1E08F),
)
"""Code points that no version before Unicode 15 has and some later one decomposes or composes."""

_LAST_WITH_CASE: Final = 0x1E921
"""Beyond the Adlam capitals no character of Unicode 17 has a small form."""

_NEW_CASE: Final = {
    **dict(zip((0x1C89, 0xA7CB, 0xA7CC), "\u1c8a\u0264\ua7cd", strict=True)),
    **{capital: chr(capital + 1) for capital in (0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA)},
    0xA7DC: "\u019b",
    **{capital: chr(capital + 0x20) for capital in range(0x10D50, 0x10D66)},
    **{capital: chr(capital + 0x1B) for capital in range(0x16EA0, 0x16EB9)},
}
"""Capitals of Unicode 16 and 17 (Garay, Beria Erfe, Latin), and their small forms."""

_DROPPED: Final = (*range(0x1, 0x9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F)
_SPACES: Final = (
    *(0x9, 0xA, 0xC, 0xD, 0x61C, 0x1680, 0x200B, 0x200C, 0x200E, 0x200F, 0x2028, 0x2029),
    *(0x2581, 0xFEFF, 0xFFFD),
)
_FULLWIDTH_TILDE: Final = "\uff5e"
"""Stays as it is: Japanese text has it as a dash."""


def named_charsmap(name: str) -> str:
    """The compiled rules of a name, base64; empty for ``identity``."""
    return "" if name == "identity" else _compiled(name)


@cache
def _compiled(name: str) -> str:
    return base64.b64encode(compile_charsmap(named_rules(name))).decode()


def named_rules(name: str) -> list[tuple[str, str]]:
    """Rules of a normalization by name, sorted."""
    rules = dict(_nfkc_rules())
    if name.startswith("nmt_"):
        del rules[_FULLWIDTH_TILDE]
        rules.update((chr(point), "") for point in _DROPPED)
        rules.update((chr(point), " ") for point in _SPACES)
    if name.endswith("_cf"):
        folds = _folds()
        rules = {key: text.translate(folds) for key, text in rules.items()}
        for point, small in folds.items():
            rules.setdefault(chr(point), small)
    return sorted(rules.items())


@cache
def _nfkc_rules() -> dict[str, str]:
    """NFKC of single characters, and of the sequences that compose to one."""
    known = [
        chr(point)
        for point in range(1, _LAST_WITH_NFKC + 1)
        if not 0xD800 <= point < 0xE000 and not any(a <= point <= b for a, b in _LATER)
    ]
    rules: dict[str, str] = {chr(point): text for point, text in _NEW.items()}
    written: defaultdict[str, list[str]] = defaultdict(list)
    for point, text in _NEW.items():
        written[text].append(chr(point))
    for char in known:
        normal = unicodedata.normalize("NFKC", char)
        if normal != char:
            rules[char] = normal
        apart = unicodedata.normalize("NFKD", char)
        if len(apart) == 1:
            written[apart].append(char)
    for char in known:
        parts = unicodedata.normalize("NFD", char)
        normal = unicodedata.normalize("NFKC", char)
        if len(parts) < 2 or len(normal) > 1 or parts != unicodedata.normalize("NFKD", char):
            continue
        if 0xAC00 <= ord(char) < 0xD7A4:
            forms: list[tuple[str, ...]] = [(part,) for part in parts]
        else:
            forms = [tuple(written.get(part, [part])) for part in parts]
        for sequence in product(*forms):
            text = "".join(sequence)
            if text != normal:
                rules.setdefault(text, normal)
    return rules


@cache
def _folds() -> dict[int, str]:
    """Characters that simple case folding changes, and what they become."""
    folds = dict(_NEW_CASE)
    for point in range(1, _LAST_WITH_CASE + 1):
        char = chr(point)
        # Where full folding gives several characters, the simple one is the small form (if one).
        folded = next((text for text in (char.casefold(), char.lower()) if len(text) == 1), char)
        if folded != char:
            folds.setdefault(point, folded)
    return folds
