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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from jeton._reference.learning import SymbolCorpus, learn

Pair = tuple[bytes, bytes]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MergeStep(Generic[T]):
    """One merge while a pretoken is encoded.

    Attributes:
        candidates: Rank and place (of the left part) of every pair that could be joined, in the
            order in which they would be; the first was.
        tokens: The tokens after it.
    """

    candidates: tuple[tuple[int, int], ...]
    tokens: tuple[T, ...]


def merge_steps(
    tokens: Sequence[T], *, join: Callable[[T, T], tuple[int, T] | None]
) -> Iterator[MergeStep[T]]:
    """Join neighbours again and again: the lowest rank first, the leftmost of equal ranks.

    Args:
        tokens: The tokens to begin with.
        join: The rank of a pair and the token that it makes; None: it is never joined.

    Example:
        >>> ranks = {"bc": 0, "ab": 1}
        >>> join = lambda left, right: (
        ...     (ranks[left + right], left + right) if left + right in ranks else None
        ... )
        >>> list(merge_steps("abc", join=join))
        [MergeStep(candidates=((0, 1), (1, 0)), tokens=('a', 'bc'))]
    """
    now = list(tokens)
    while True:
        found = {place: join(*pair) for place, pair in enumerate(pairwise(now))}
        candidates = sorted((made[0], place) for place, made in found.items() if made is not None)
        if not candidates:
            return
        place = candidates[0][1]
        made = found[place]
        assert made is not None
        now[place : place + 2] = [made[1]]
        yield MergeStep(tuple(candidates), tuple(now))


def _last(tokens: Sequence[T], steps: Iterator[MergeStep[T]]) -> list[T]:
    """The tokens after the last step."""
    left = list(tokens)
    for step in steps:
        left = list(step.tokens)
    return left


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

    def join(left: bytes, right: bytes) -> tuple[int, bytes] | None:
        rank = ranks.get(left + right)
        return None if rank is None else (rank, left + right)

    first = [bytes([byte]) for byte in pretoken]
    tokens = _last(first, merge_steps(first, join=join))
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

    def join(left: bytes, right: bytes) -> tuple[int, bytes] | None:
        place = order.get((left, right))
        return None if place is None else (place, left + right)

    first = [bytes([byte]) for byte in pretoken]
    return _last(first, merge_steps(first, join=join))


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
    words = SymbolCorpus.of(((bytes([byte]) for byte in word), n) for word, n in pretokens.items())
    ids = {bytes([byte]): place for place, byte in enumerate(alphabet())}
    steps = learn(words, ids=ids, make=bytes.__add__, n_merges=n_merges, min_count=min_frequency)
    return [step.pair for step in steps]


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
