"""Plain letters in place of those that only look different (a `rewriting.Rewrite`).

Compatibility forms (NFKC), strokes and heaps of marks on letters, and letters of another alphabet
among those of a word.
"""

from __future__ import annotations

import re
import unicodedata

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

MIN_MIXED_WORDS = 3
"""Words of letters from two alphabets; one or two are names of products."""

MIN_ALPHABET_RATIO = 4
"""Letters that only one of two alphabets has, over those that only the other has."""

# White space has a step of its own: a no-break space is a space there.
_NOT_PLAIN = re.compile(r"[^\s\x00-\x7f]+")

# Strokes and frames over a letter, which no language writes with; and several marks on one letter
# after composition, which hardly any does.
_STROKES = re.compile("[\u0334-\u0338\u0488\u0489\u20d0-\u20f0]+|[\u0300-\u036f]{2,}")

# Code points of the blocks Cyrillic and Greek that fonts draw like Latin letters.
_CYRILLIC = dict(
    zip(
        "aceopxyijsABCEHIJKMOPSTXYa",
        "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0410\u0412\u0421"
        "\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425\u04ae\u03b1",
        strict=True,
    )
)
_GREEK = dict(
    zip(
        "oixvuyABEZHIKMNOPTYX",
        "\u03bf\u03b9\u03c7\u03bd\u03c5\u03b3\u0391\u0392\u0395\u0396"
        "\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
        strict=True,
    )
)
_TO_LATIN = str.maketrans({alike: c for page in (_CYRILLIC, _GREEK) for c, alike in page.items()})
_TO_CYRILLIC = str.maketrans(_CYRILLIC)

_OTHERS = "\u0370-\u03ff\u0400-\u04ff"
_MIXED = re.compile(f"[A-Za-z][{_OTHERS}]|[{_OTHERS}][A-Za-z]")
_OF_LATIN = re.compile("[A-Za-z]")
_OF_OTHERS = re.compile(f"[{_OTHERS}]")
_WORD = re.compile(rf"\b[A-Za-z{_OTHERS}]+\b")


def with_plain_letters(text: str) -> tuple[str, int]:
    """The text in the letters that it would be typed in."""
    if text.isascii():
        return text, 0
    new = text
    if not unicodedata.is_normalized("NFKC", new):
        new = _NOT_PLAIN.sub(lambda match: unicodedata.normalize("NFKC", match.group()), new)
    new = _STROKES.sub("", new)
    if len(_MIXED.findall(new)) >= MIN_MIXED_WORDS:
        new = _in_one_alphabet(new)
    return (new, MAX_UTF8_BYTES * len(text)) if new != text else (text, 0)


def _in_one_alphabet(text: str) -> str:
    """Words in the alphabet that their other letters are of, else that of the text's."""
    n_latin, n_others = _exclusive(text)
    of_text: dict[int, str] | None = None
    if n_latin >= MIN_ALPHABET_RATIO * n_others:
        of_text = _TO_LATIN
    elif n_others >= MIN_ALPHABET_RATIO * n_latin:
        of_text = _TO_CYRILLIC

    def plain(match: re.Match[str]) -> str:
        word = match.group()
        n_latin, n_others = _exclusive(word)
        # A word of Latin letters alone is a name or an abbreviation.
        if word.isascii() or (n_latin and n_others):
            return word
        if n_latin:
            return word.translate(_TO_LATIN)
        if n_others:
            return word.translate(_TO_CYRILLIC) if _OF_LATIN.search(word) else word
        return word.translate(of_text) if of_text is not None else word

    return _WORD.sub(plain, text)


def _exclusive(text: str) -> tuple[int, int]:
    """Letters that only the Latin alphabet has, and that only the others have."""
    n_latin = sum(ord(c) not in _TO_CYRILLIC for c in _OF_LATIN.findall(text))
    n_others = sum(ord(c) not in _TO_LATIN for c in _OF_OTHERS.findall(text))
    return n_latin, n_others
