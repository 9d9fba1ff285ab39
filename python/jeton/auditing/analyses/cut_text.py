"""Text that a program tore apart, wrote twice, or spelled in letters that only look alike.

Torn: a sign between all letters, spaces around all punctuation. Alike: compatibility forms (NFKC),
strokes and heaps of marks on letters, and letters of another alphabet among those of a word.
Each function is a `rewriting.Rewrite`.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np

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


MAX_WORDS = 40
"""Words of the longest stretch; longer ones are passages (`repetition`)."""

MIN_SHARE = 0.2
"""Part of the words that come again at once. In ordinary text it is far below."""

MIN_DOUBLED = 4

_WORD = re.compile(r"\S+")


def without_doubled_words(text: str) -> tuple[str, int]:
    """Keep the first of equal stretches in a row (a `rewriting.Rewrite`)."""
    found = [(match.group(), match.start()) for match in _WORD.finditer(text)]
    n = len(found)
    if n < 2 * MIN_DOUBLED:
        return text, 0
    numbers: dict[str, int] = {}
    words = np.array([numbers.setdefault(word, len(numbers)) for word, _ in found])
    # At most this many words can be copies: the rest stand there for the first time.
    if n - len(numbers) < max(MIN_DOUBLED, MIN_SHARE * n):
        return text, 0
    is_again = np.zeros(n, dtype=np.bool_)
    for period in range(1, min(MAX_WORDS, n // 2) + 1):
        is_equal = words[period:] == words[:-period]
        # A copy of a stretch has as many words as the stretch.
        if np.count_nonzero(is_equal) < period:
            continue
        edges = np.zeros(n + 2, dtype=np.int8)
        edges[period + 1 : n + 1] = is_equal
        changes = np.flatnonzero(np.diff(edges))
        for start, end in zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True):
            is_again[start : start + (end - start) // period * period] = True
    n_again = int(is_again.sum())
    if n_again < max(MIN_DOUBLED, MIN_SHARE * n):
        return text, 0
    starts = [*(start for _, start in found), len(text)]
    kept = [text[: starts[0]]]
    kept += [text[starts[i] : starts[i + 1]] for i in np.flatnonzero(~is_again).tolist()]
    new = "".join(kept)
    return new, MAX_UTF8_BYTES * (len(text) - len(new))


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
_MIXED_WORD = re.compile(rf"\b[A-Za-z{_OTHERS}]+\b")


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

    return _MIXED_WORD.sub(plain, text)


def _exclusive(text: str) -> tuple[int, int]:
    """Letters that only the Latin alphabet has, and that only the others have."""
    n_latin = sum(ord(c) not in _TO_CYRILLIC for c in _OF_LATIN.findall(text))
    n_others = sum(ord(c) not in _TO_LATIN for c in _OF_OTHERS.findall(text))
    return n_latin, n_others
