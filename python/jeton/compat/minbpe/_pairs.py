"""Byte pair encoding on ids: training with minbpe's rule for ties, and encoding by pairs.

Ties: of the pairs that are most frequent, the one whose first occurrence in the text, as it is by
then, comes first is merged. So does ``max`` over a dictionary that is filled from left to right.

A pair comes up only when the later of its two ids is made, and from then on its occurrences only
become fewer. So its place in the order only gets worse, and a heap whose top is checked when it is
taken finds the best one. Cost: O(n log n) for n bytes of distinct pretokens, whatever the number of
merges.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping

Pair = tuple[int, int]

_NONE = -1


class _Text:
    """Distinct pretokens one behind the other, as a doubly linked list of ids.

    Attributes:
        ids: The id at each place; a place that was merged into the one before it has none.
        following: The next place of the same pretoken.
        preceding: The place before, of the same pretoken.
        weights: How often the pretoken occurs that a place belongs to.
    """

    def __init__(self, pretokens: Iterable[bytes]) -> None:
        counts: dict[bytes, int] = {}
        for pretoken in pretokens:
            counts[pretoken] = counts.get(pretoken, 0) + 1
        self.ids: list[int] = []
        self.weights: list[int] = []
        self.following: list[int] = []
        self.preceding: list[int] = []
        for pretoken, count in counts.items():
            start, end = len(self.ids), len(self.ids) + len(pretoken)
            self.ids.extend(pretoken)
            self.weights.extend([count] * len(pretoken))
            self.following.extend(range(start + 1, end + 1))
            self.preceding.extend(range(start - 1, end - 1))
            if pretoken:
                self.following[-1] = self.preceding[start] = _NONE

    def pair_at(self, place: int) -> Pair | None:
        after = self.following[place]
        if after == _NONE or self.ids[place] == _NONE:
            return None
        return self.ids[place], self.ids[after]


class _Occurrences:
    """Where a pair was seen, in order; what is gone is passed over."""

    __slots__ = ("count", "first", "places")

    def __init__(self) -> None:
        self.count = 0
        self.first = 0
        self.places: list[int] = []

    def first_place(self, pair: Pair, text: _Text) -> int:
        while text.pair_at(self.places[self.first]) != pair:
            self.first += 1
        return self.places[self.first]


def train_pairs(
    pretokens: Iterable[bytes],
    n_merges: int,
    *,
    on_merge: Callable[[int, Pair, int, int], None] | None = None,
) -> dict[Pair, int]:
    """Merges in order: pairs and the ids, from 256 on, that they become.

    Args:
        pretokens: The text, cut; merges do not cross cuts.
        n_merges: How many merges to make; fewer are made where no pair is left.
        on_merge: Called with the number of the merge, the pair, its id and how often it occurred.
    """
    text = _Text(pretokens)
    seen: dict[Pair, _Occurrences] = {}

    def add(place: int, pair: Pair) -> None:
        occurrences = seen.get(pair)
        if occurrences is None:
            occurrences = seen[pair] = _Occurrences()
        occurrences.count += text.weights[place]
        occurrences.places.append(place)

    for place in range(len(text.ids)):
        pair = text.pair_at(place)
        if pair is not None:
            add(place, pair)
    heap = [(-o.count, o.places[0], pair) for pair, o in seen.items()]
    heapq.heapify(heap)
    merges: dict[Pair, int] = {}
    while heap and len(merges) < n_merges:
        count, place, pair = heapq.heappop(heap)
        occurrences = seen[pair]
        if occurrences.count == 0:
            continue
        now = (-occurrences.count, occurrences.first_place(pair, text), pair)
        if now != (count, place, pair):
            heapq.heappush(heap, now)
            continue
        new = 256 + len(merges)
        merges[pair] = new
        if on_merge is not None:
            on_merge(len(merges), pair, new, occurrences.count)
        made = _merge(text, seen, pair, new, add)
        for other in made:
            found = seen[other]
            if found.count:
                heapq.heappush(heap, (-found.count, found.places[0], other))
    return merges


def _merge(
    text: _Text,
    seen: dict[Pair, _Occurrences],
    pair: Pair,
    new: int,
    add: Callable[[int, Pair], None],
) -> dict[Pair, None]:
    """Replace a pair everywhere, from left to right. Returns the pairs that came up."""
    made: dict[Pair, None] = {}
    for place in seen[pair].places:
        if text.pair_at(place) != pair:
            continue
        weight = text.weights[place]
        after = text.following[place]
        before, behind = text.preceding[place], text.following[after]
        for neighbour in (before, after):
            gone = text.pair_at(neighbour) if neighbour != _NONE else None
            if gone is not None:
                seen[gone].count -= weight
        text.ids[place], text.ids[after] = new, _NONE
        text.following[place] = behind
        if behind != _NONE:
            text.preceding[behind] = place
        for neighbour in (before, place):
            came = text.pair_at(neighbour) if neighbour != _NONE else None
            if came is not None:
                add(neighbour, came)
                made[came] = None
    seen[pair].count = 0
    return made


def encode_pairs(data: Iterable[int], merges: Mapping[Pair, int]) -> list[int]:
    """Merge pairs of ids: that of the lowest id first, and of several the leftmost.

    For vocabularies that the core cannot hold, in which two ids stand for the same bytes.
    """
    ids = list(data)
    following = [*range(1, len(ids)), _NONE]
    preceding = [*range(-1, len(ids) - 1)]
    heap = [
        (merges[pair], place, pair)
        for place in range(len(ids) - 1)
        if (pair := (ids[place], ids[place + 1])) in merges
    ]
    heapq.heapify(heap)
    while heap:
        new, place, pair = heapq.heappop(heap)
        after = following[place]
        if ids[place] != pair[0] or after == _NONE or ids[after] != pair[1]:
            continue
        ids[place], ids[after] = new, _NONE
        behind = following[place] = following[after]
        if behind != _NONE:
            preceding[behind] = place
        for left in (preceding[place], place):
            right = following[left] if left != _NONE else _NONE
            if right != _NONE and (ids[left], ids[right]) in merges:
                heapq.heappush(heap, (merges[ids[left], ids[right]], left, (ids[left], ids[right])))
    return [token_id for token_id in ids if token_id != _NONE]
