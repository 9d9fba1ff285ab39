"""Byte-pair encoding, by its definition.

A pretoken starts as single bytes. Encoding joins two neighbours again and again, always the pair
that was learnt first, until no neighbours can be joined. Training finds out which pairs those
are: it joins the most frequent pair everywhere, notes it, and counts again.

Cost: ``encode_by_rank`` and ``encode_by_merges`` are O(n^2) in the bytes of the pretoken,
``train`` is O(merges * corpus). The core gives the same answers in about O(n log n) and with counts
that are kept up to date instead of counted again.

Source: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units"
(ACL 2016), section 3.2; applied to bytes as in Radford et al., "Language Models are Unsupervised
Multitask Learners" (2019), section 2.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

__all__ = ["encode_by_merges", "encode_by_rank", "train"]

Pair = tuple[bytes, bytes]


def encode_by_rank(pretoken: bytes, *, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Split a pretoken into tokens where only the rank of each token is known.

    Two neighbours may be joined when what they make is itself a token; the lowest rank goes
    first, the leftmost where it occurs several times. A pretoken that is a token as a whole is
    left whole, whatever the merges would make of it: this is where rank files and merge lists
    may differ.

    Args:
        pretoken: The bytes to split.
        ranks: The rank of every token; all single bytes that occur must be in it.

    Returns:
        The tokens, which joined are the pretoken.

    Raises:
        KeyError: A single byte has no rank.

    Example:
        "low" is rank 4, so it is joined from "lo" and "w"; nothing joins it with "er":

        >>> ranks = {b"l": 0, b"o": 1, b"w": 2, b"e": 3, b"r": 4, b"lo": 5, b"er": 6, b"low": 7}
        >>> encode_by_rank(b"lower", ranks=ranks)
        [b'low', b'er']

        The lowest rank goes first, wherever it stands. Here "bc" keeps "ab" from being made:

        >>> encode_by_rank(b"abc", ranks={b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4})
        [b'a', b'bc']

        "abc" can be made from no two tokens, yet it is one:

        >>> encode_by_rank(b"abc", ranks={b"a": 0, b"b": 1, b"c": 2, b"abc": 3})
        [b'abc']
    """
    if pretoken in ranks:
        return [pretoken]
    tokens = [bytes([byte]) for byte in pretoken]
    while True:
        best: tuple[int, int] | None = None
        for place in range(len(tokens) - 1):
            rank = ranks.get(tokens[place] + tokens[place + 1])
            if rank is not None and (best is None or (rank, place) < best):
                best = (rank, place)
        if best is None:
            break
        place = best[1]
        tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]
    for token in tokens:
        ranks[token]
    return tokens


def encode_by_merges(pretoken: bytes, *, merges: Sequence[Pair]) -> list[bytes]:
    """Split a pretoken into tokens by a list of merges, first learnt first.

    Unlike ``encode_by_rank`` it matters from which two parts a token is made: only pairs of the
    list are joined, one at a time: the pair that stands first in the list, the leftmost where it
    occurs several times.

    Args:
        pretoken: The bytes to split.
        merges: Pairs in the order in which training found them.

    Returns:
        The tokens, which joined are the pretoken.

    Example:
        >>> merges = [(b"l", b"o"), (b"e", b"r"), (b"lo", b"w")]
        >>> encode_by_merges(b"lower", merges=merges)
        [b'low', b'er']

        For example, the first two of three equal bytes meet:

        >>> encode_by_merges(b"aaa", merges=[(b"a", b"a")])
        [b'aa', b'a']

        Which of two overlapping pairs is joined is decided by the list, not by their places:

        >>> encode_by_merges(b"abc", merges=[(b"b", b"c"), (b"a", b"b")])
        [b'a', b'bc']

        A merge can enable one that stands before it in the list, which then goes first:

        >>> encode_by_merges(b"abcd", merges=[(b"ab", b"c"), (b"a", b"b"), (b"c", b"d")])
        [b'abc', b'd']
    """
    order = {pair: place for place, pair in reversed(list(enumerate(merges)))}
    tokens = [bytes([byte]) for byte in pretoken]
    while True:
        known = [
            (order[pair], place) for place, pair in enumerate(pairwise(tokens)) if pair in order
        ]
        if not known:
            return tokens
        _, place = min(known)
        tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]


def train(pretokens: Mapping[bytes, int], *, n_merges: int, min_frequency: int = 1) -> list[Pair]:
    """Learn merges: the most frequent pair of neighbours, again and again.

    If pairs are equally frequent, Hugging Face's trainer takes the one with the lowest ids: the
    lower id of the first part, then of the second. Single bytes are numbered in the order of
    GPT-2's alphabet (see ``alphabet``), merged tokens in the order in which they were made.

    Args:
        pretokens: How often each pretoken occurs.
        n_merges: Stop after this many merges ...
        min_frequency: ... or when no pair is at least this frequent.

    Returns:
        The merges, in the order in which they were learnt.

    Example:
        "we" occurs eight times, "lo" seven times. After that several pairs occur six times, and
        of these ("e", "we") has the part with the lowest id:

        >>> train({b"low": 5, b"lower": 2, b"newest": 6}, n_merges=4)
        [(b'w', b'e'), (b'l', b'o'), (b'e', b'we'), (b'n', b'ewe')]

        The space comes after the letters in GPT-2's alphabet, "!" before them:

        >>> train({b" a": 1, b"!a": 1}, n_merges=2)
        [(b'!', b'a'), (b' ', b'a')]
        >>> train({b"ab": 1}, n_merges=5, min_frequency=2)
        []
    """
    ids = {bytes([byte]): place for place, byte in enumerate(alphabet())}
    words = [([bytes([byte]) for byte in word], count) for word, count in pretokens.items()]
    merges: list[Pair] = []
    while len(merges) < n_merges:
        frequency: Counter[Pair] = Counter()
        for tokens, count in words:
            for pair in pairwise(tokens):
                frequency[pair] += count
        if not frequency:
            break
        best = min(frequency, key=lambda pair: (-frequency[pair], ids[pair[0]], ids[pair[1]]))
        if frequency[best] < min_frequency:
            break
        merges.append(best)
        # Two different pairs can make the same token, which then keeps its first id.
        ids.setdefault(best[0] + best[1], len(ids))
        words = [(_join(tokens, pair=best), count) for tokens, count in words]
    return merges


def alphabet() -> list[int]:
    """All 256 bytes in the order in which byte-level vocabularies number them.

    GPT-2 writes each byte as one visible character: a byte that is a visible character of
    Latin-1 stands for itself, every other one gets the next character from U+0100 on. The order is
    that of those characters, so visible bytes come first.

    Example:
        >>> bytes(alphabet()[:4])
        b'!"#$'
        >>> alphabet()[188], alphabet().index(ord(" "))
        (0, 220)
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return visible + [byte for byte in range(256) if byte not in visible]


def _join(tokens: Sequence[bytes], *, pair: Pair) -> list[bytes]:
    """Join every occurrence of a pair, from left to right; occurrences do not overlap.

    Example:
        >>> _join([b"a", b"b", b"a", b"b"], pair=(b"a", b"b"))
        [b'ab', b'ab']
    """
    joined: list[bytes] = []
    place = 0
    while place < len(tokens):
        if tuple(tokens[place : place + 2]) == pair:
            joined.append(pair[0] + pair[1])
            place += 2
        else:
            joined.append(tokens[place])
            place += 1
    return joined
