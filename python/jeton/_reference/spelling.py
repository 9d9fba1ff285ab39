"""Words as symbols of characters: the first step of every trainer and encoder on characters.

A vocabulary can mark where in a word a symbol stands: ``##`` in front of what continues a word
(WordPiece), ``</w>`` behind what ends one (the first BPE). ``spell`` writes the marks, ``joined``
takes the one in the middle away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping


def spell(word: str, *, prefix: str = "", suffix: str = "") -> list[str]:
    """The symbols of a word.

    Example:
        >>> spell("low", prefix="##"), spell("low", suffix="</w>")
        (['l', '##o', '##w'], ['l', 'o', 'w</w>'])
    """
    symbols = [
        character if place == 0 else prefix + character for place, character in enumerate(word)
    ]
    if symbols:
        symbols[-1] += suffix
    return symbols


def joined(left: str, right: str, *, prefix: str = "") -> str:
    """The symbol that two make.

    Example:
        >>> joined("l", "##o", prefix="##")
        'lo'
    """
    return left + right[len(prefix) :]


def spelled_words(
    words: Mapping[str, int], *, known: Collection[str], prefix: str = "", suffix: str = ""
) -> list[tuple[list[str], int]]:
    """Words as symbols; a character outside the alphabet cuts its word in two.

    Example:
        >>> spelled_words({"naïve": 2}, known="naive", prefix="##")
        [(['n', '##a'], 2), (['##v', '##e'], 2)]
    """
    cut: list[tuple[list[str], int]] = []
    for word, count in words.items():
        part: list[str] = []
        for character, symbol in zip(word, spell(word, prefix=prefix, suffix=suffix), strict=True):
            if character in known:
                part.append(symbol)
            elif part:
                cut.append((part, count))
                part = []
        if part:
            cut.append((part, count))
    return cut


def first_ids(
    words: Collection[str],
    *,
    alphabet: Collection[str],
    special_tokens: Collection[str] = (),
    prefix: str = "",
    suffix: str = "",
) -> dict[str, int]:
    """Ids before the first merge, which decide ties.

    Special tokens come first, then bare characters by code point. Marked characters follow as they
    occur: within words, then at the end of words of one character, then at the end of longer ones;
    each group by code point.

    Example:
        >>> first_ids(["bac"], alphabet="abc", special_tokens=["[UNK]"], prefix="##")
        {'[UNK]': 0, 'a': 1, 'b': 2, 'c': 3, '##a': 4, '##c': 5}
    """
    seen = {
        ((place > 0) + 2 * (place + 1 == len(word)), character)
        for word in words
        for place, character in enumerate(word)
        if character in alphabet
    }
    marked = [(prefix if p & 1 else "") + c + (suffix if p & 2 else "") for p, c in sorted(seen)]
    texts = [*special_tokens, *sorted(alphabet), *marked]
    return {text: place for place, text in enumerate(dict.fromkeys(texts))}
