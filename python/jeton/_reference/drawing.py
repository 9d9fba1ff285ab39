"""Subword regularization: one text, many segmentations, drawn by a seed.

``SplitMix64`` is the generator behind every draw. ``merge_with_dropout`` leaves merges out, each
with another chance later, as ``tokenizers`` does; ``merge_for_good`` leaves them out for good, as
``sentencepiece`` does.

Sources: Provilkov, Emelianenko and Voita, "BPE-Dropout" (ACL 2020); Steele, Lea and Flood, "Fast
splittable pseudorandom number generators" (OOPSLA 2014).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15


class SplitMix64:
    """A seeded stream of random numbers.

    Example:
        >>> SplitMix64(1234567).next()
        6457827717110365317
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    @classmethod
    def stream(cls, seed: int, index: int) -> SplitMix64:
        """Stream number ``index`` of a seed: that of document ``index`` of a batch."""
        return cls(cls(seed + index * _GAMMA).next())

    def next(self) -> int:
        """The next 64 bits."""
        self._state = (self._state + _GAMMA) & _MASK
        mixed = ((self._state ^ (self._state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def unit(self) -> float:
        """A number from 0 to 1, 1 excluded."""
        return (self.next() >> 11) / (1 << 53)

    def choose(self, weights: Sequence[float]) -> int:
        """A place, with probability in proportion to its weight; weights are not negative."""
        left = self.unit() * sum(weights)
        last = 0
        for place, weight in enumerate(weights):
            if weight > 0:
                last = place
                if left < weight:
                    break
                left -= weight
        return last


@dataclass(frozen=True, slots=True)
class DropoutStep(Generic[T]):
    """One draw.

    Attributes:
        rank: Rank of the merge whose turn it was.
        place: Place of its left part.
        dropped: True if the merge was left out.
        tokens: The tokens after it.
    """

    rank: int
    place: int
    dropped: bool
    tokens: tuple[T, ...]


def merge_with_dropout(
    tokens: Sequence[T],
    *,
    join: Callable[[T, T], tuple[int, T] | None],
    dropout: float,
    random: SplitMix64,
) -> Iterator[DropoutStep[T]]:
    """Merge as BPE does, but set each candidate aside with a probability.

    As soon as a candidate is not set aside, all that were come back, even where that candidate is
    out of date. The pretoken is done when all candidates are set aside.

    Example:
        >>> join = lambda left, right: (0, left + right)
        >>> [
        ...     step.dropped
        ...     for step in merge_with_dropout("ab", join=join, dropout=1.0, random=SplitMix64(1))
        ... ]
        [True]
    """
    yield from _merge(tokens, join=join, dropout=dropout, random=random, for_good=False)


def merge_for_good(
    tokens: Sequence[T],
    *,
    join: Callable[[T, T], tuple[int, T] | None],
    dropout: float,
    random: SplitMix64,
) -> Iterator[DropoutStep[T]]:
    """Merge as BPE does, but forget each candidate with a probability when its turn comes.

    Example:
        >>> join = lambda left, right: (0, left + right)
        >>> [
        ...     step.tokens
        ...     for step in merge_for_good("abc", join=join, dropout=0.0, random=SplitMix64(1))
        ... ]
        [('ab', 'c'), ('abc',)]
    """
    yield from _merge(tokens, join=join, dropout=dropout, random=random, for_good=True)


def _merge(
    tokens: Sequence[T],
    *,
    join: Callable[[T, T], tuple[int, T] | None],
    dropout: float,
    random: SplitMix64,
    for_good: bool,
) -> Iterator[DropoutStep[T]]:
    # Symbols keep the place at which they began; a swallowed one is None.
    now: list[T | None] = list(tokens)

    def after(place: int) -> int | None:
        return next((i for i in range(place + 1, len(now)) if now[i] is not None), None)

    def before(place: int) -> int | None:
        return next((i for i in range(place - 1, -1, -1) if now[i] is not None), None)

    def made_at(place: int) -> tuple[int, T] | None:
        left, following = now[place], after(place)
        if left is None or following is None:
            return None
        right = now[following]
        assert right is not None
        return join(left, right)

    heap = [(made[0], place) for place in range(len(now)) if (made := made_at(place)) is not None]
    heapq.heapify(heap)
    aside: list[tuple[int, int]] = []
    while heap:
        rank, place = heapq.heappop(heap)
        if for_good:
            made = made_at(place)
            if made is None or made[0] != rank:
                continue  # out of date: no draw
        dropped = random.unit() < dropout
        if dropped:
            if not for_good:
                aside.append((rank, place))
        else:
            for candidate in aside:
                heapq.heappush(heap, candidate)
            aside = []
            made = made_at(place)
            if made is None or made[0] != rank:
                continue
            following = after(place)
            assert following is not None
            now[place], now[following] = made[1], None
            for start in (before(place), place):
                if start is not None and (found := made_at(start)) is not None:
                    heapq.heappush(heap, (found[0], start))
        yield DropoutStep(rank, place, dropped, tuple(t for t in now if t is not None))
