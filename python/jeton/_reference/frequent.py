"""Vocabularies without merges: the most frequent words, or the most frequent characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def words(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Words by falling count; equal counts go by their UTF-8.

    Example:
        >>> words({"long": 3, "b": 5, "a": 5})
        [('a', 5), ('b', 5), ('long', 3)]
    """
    return sorted(counts.items(), key=lambda item: (-item[1], item[0].encode()))


def characters(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Characters of words by falling count; equal counts go by code point.

    Example:
        >>> characters({"aba": 2, "c": 1})
        [('a', 4), ('b', 2), ('c', 1)]
    """
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            found[character] += count
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def covering(ranked: list[tuple[str, int]], share: float) -> list[tuple[str, int]]:
    """The first characters that cover a share of the text, compared in single precision.

    SentencePiece takes a character while those before it cover less than the share.

    Example:
        >>> covering([("a", 98), ("b", 1), ("c", 1)], 0.98)
        [('a', 98)]
    """
    from jeton._reference.unigram import single

    total, so_far, chosen = sum(count for _, count in ranked), 0, []
    for character, count in ranked:
        if single(so_far / max(total, 1)) >= single(share):
            break
        chosen.append((character, count))
        so_far += count
    return chosen
