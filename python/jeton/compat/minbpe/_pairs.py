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
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping

Pair = tuple[int, int]

_NONE = -1


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
    # Distinct pretokens one behind the other, as a doubly linked list of ids. A place that was
    # merged into the one before it has no id; a weight says how often its pretoken occurs.
    ids: list[int] = []
    weights: list[int] = []
    following: list[int] = []
    preceding: list[int] = []
    for pretoken, count in Counter(pretokens).items():
        places_of = range(len(ids), len(ids) + len(pretoken))
        ids += pretoken
        weights += [count] * len(pretoken)
        following += [*places_of[1:], _NONE][: len(pretoken)]
        preceding += [_NONE, *places_of[:-1]][: len(pretoken)]
    counts: Counter[Pair] = Counter()
    # Where a pair was seen, in order; places where it is gone are passed over.
    places: defaultdict[Pair, deque[int]] = defaultdict(deque)

    def pair_at(place: int) -> Pair | None:
        if place == _NONE or ids[place] == _NONE or following[place] == _NONE:
            return None
        return ids[place], ids[following[place]]

    def add(place: int) -> Pair | None:
        pair = pair_at(place)
        if pair is not None:
            counts[pair] += weights[place]
            places[pair].append(place)
        return pair

    for place in range(len(ids)):
        add(place)
    heap = [(-counts[pair], seen[0], pair) for pair, seen in places.items()]
    heapq.heapify(heap)
    merges: dict[Pair, int] = {}
    while heap and len(merges) < n_merges:
        entry = heapq.heappop(heap)
        pair = entry[2]
        if not counts[pair]:
            continue
        while pair_at(places[pair][0]) != pair:
            places[pair].popleft()
        now = (-counts[pair], places[pair][0], pair)
        if now != entry:
            heapq.heappush(heap, now)
            continue
        new = merges[pair] = 256 + len(merges)
        if on_merge is not None:
            on_merge(len(merges), pair, new, counts[pair])
        made: dict[Pair, None] = {}
        for place in places.pop(pair):
            if pair_at(place) != pair:
                continue
            after = following[place]
            for neighbour in (preceding[place], after):
                gone = pair_at(neighbour)
                if gone is not None:
                    counts[gone] -= weights[place]
            ids[place], ids[after] = new, _NONE
            following[place] = following[after]
            if following[place] != _NONE:
                preceding[following[place]] = place
            for neighbour in (preceding[place], place):
                came = add(neighbour)
                if came is not None:
                    made[came] = None
        counts[pair] = 0
        for other in made:
            if counts[other]:
                heapq.heappush(heap, (-counts[other], places[other][0], other))
    return merges


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
