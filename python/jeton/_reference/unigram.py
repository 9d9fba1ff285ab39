"""The Unigram language model: every piece has a probability, and the likeliest way to cut wins.

A text is a lattice: every piece that begins at a place is an arc to the place where it ends. The
score of a way through the lattice is the sum of its pieces' log probabilities. ``best_path`` finds
the best way (Viterbi), ``best_paths`` the n best, ``draw`` one by its probability.

A character without a piece is an arc of its own that costs 10 more than the least likely piece.

Two libraries add differently, and both are followed: ``sentencepiece`` in 32 bits (``single``),
``tokenizers`` in 64.

Cost: O(n * longest piece) for the lattice and the best path; ``all_paths`` is exponential.

Source: Kudo, "Subword Regularization" (ACL 2018), arXiv:1804.10959.
"""

from __future__ import annotations

import heapq
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jeton._reference.drawing import SplitMix64

UNKNOWN_PENALTY = 10.0
_SPENT = 100_000.0
"""Beyond this sum ``sentencepiece`` takes the sum so far as the new zero."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A piece at a place: places are characters; ``id`` -1: no piece."""

    start: int
    end: int
    id: int
    score: float


@dataclass(frozen=True, slots=True)
class Best:
    """The best way to a place: its score and its last arc; none at the beginning."""

    score: float
    arc: Arc | None


def single(number: float) -> float:
    """A number rounded to 32 bits."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def lattice(
    text: str,
    pieces: Mapping[str, tuple[int, float]],
    *,
    unknown_score: float,
    longest: int | None = None,
) -> list[Arc]:
    """All arcs of a text, by where they begin, shorter ones first.

    ``longest``: characters of the longest piece, where that is known.

    Example:
        >>> for arc in lattice("ab?", {"a": (1, -1.0), "ab": (2, -1.5)}, unknown_score=-11.5):
        ...     print(arc.start, arc.end, arc.id, arc.score)
        0 1 1 -1.0
        0 2 2 -1.5
        1 2 -1 -11.5
        2 3 -1 -11.5
    """
    longest = max(map(len, pieces), default=1) if longest is None else longest
    arcs: list[Arc] = []
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + longest) + 1):
            found = pieces.get(text[start:end])
            if found is not None:
                arcs.append(Arc(start, end, *found))
            elif end == start + 1:
                arcs.append(Arc(start, end, -1, unknown_score))
    # Shorter first: an unknown character is looked at after the longer pieces that begin with it.
    return sorted(arcs, key=lambda arc: (arc.start, arc.id < 0, arc.end))


def best_path(
    arcs: Sequence[Arc], n: int, *, in_single: bool = False
) -> tuple[list[Arc], list[Best | None]]:
    """The best way through a lattice of ``n`` characters, and the best way to every place.

    Ties go to the way whose last arc begins first.

    Example:
        Two pieces of -1 each lose against one of -1.5:

        >>> arcs = [Arc(0, 1, 1, -1.0), Arc(0, 2, 2, -1.5), Arc(1, 2, 3, -1.0)]
        >>> path, best = best_path(arcs, 2)
        >>> [arc.id for arc in path], best[2].score
        ([2], -1.5)
    """
    add = (lambda a, b: single(a + b)) if in_single else (lambda a, b: a + b)
    best: list[Best | None] = [Best(0.0, None), *[None] * n]
    for place, arc in enumerate(arcs):
        before = best[arc.start]
        assert before is not None, "arcs come by where they begin, and every character has one"
        begins = place == 0 or arcs[place - 1].start != arc.start
        if in_single and begins and abs(before.score) > _SPENT:
            for later in range(arc.start + 1, n + 1):
                if (way := best[later]) is not None:
                    best[later] = Best(add(way.score, -before.score), way.arc)
            before = best[arc.start] = Best(0.0, before.arc)
        score = add(arc.score, before.score)
        known = best[arc.end]
        if known is None or score > known.score:
            best[arc.end] = Best(score, arc)
    path: list[Arc] = []
    end = n
    while end > 0:
        way = best[end]
        assert way is not None
        assert way.arc is not None
        path.append(way.arc)
        end = way.arc.start
    return path[::-1], best


def best_paths(arcs: Sequence[Arc], n: int, *, n_best: int) -> list[tuple[float, list[Arc]]]:
    """The best ways with their scores, best first: a search from the end of the text.

    The rest of an unfinished way is estimated by the best score of the beginning. That is
    exact, so ways come out in order.

    Example:
        >>> arcs = [Arc(0, 1, 1, -1.0), Arc(0, 2, 2, -1.5), Arc(1, 2, 3, -1.0)]
        >>> [(score, [arc.id for arc in path]) for score, path in best_paths(arcs, 2, n_best=5)]
        [(-1.5, [2]), (-2.0, [1, 3])]
    """
    _, best = best_path(arcs, n)
    ending: dict[int, list[Arc]] = {}
    for arc in arcs:
        ending.setdefault(arc.end, []).append(arc)
    whole = best[n]
    assert whole is not None
    count = 0
    waiting: list[tuple[float, int, int, float, tuple[Arc, ...]]] = [(-whole.score, 0, n, 0.0, ())]
    found: list[tuple[float, list[Arc]]] = []
    while waiting and len(found) < n_best:
        _, _, place, score, path = heapq.heappop(waiting)
        if place == 0:
            found.append((score, list(path)))
            continue
        for arc in ending.get(place, []):
            before = best[arc.start]
            assert before is not None
            count += 1
            more = score + arc.score
            heapq.heappush(waiting, (-(more + before.score), count, arc.start, more, (arc, *path)))
    return found


def _log_add(a: float, b: float) -> float:
    """The logarithm of the sum of what both are logarithms of."""
    low, high = min(a, b), max(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def forward(arcs: Sequence[Arc], n: int, *, alpha: float = 1.0) -> list[float]:
    """Log weight of all ways to go on from each place; ``alpha`` sharpens the distribution.

    Example:
        >>> arcs = [Arc(0, 1, 1, -1.0), Arc(0, 2, 2, -1.5), Arc(1, 2, 3, -1.0)]
        >>> [round(rest, 3) for rest in forward(arcs, 2)]
        [-1.026, -1.0, 0.0]
    """
    rest = [-math.inf] * n + [0.0]
    starting: dict[int, list[Arc]] = {}
    for arc in arcs:
        starting.setdefault(arc.start, []).append(arc)
    for start in range(n - 1, -1, -1):
        for arc in starting.get(start, []):
            rest[start] = _log_add(rest[start], alpha * arc.score + rest[arc.end])
    return rest


def draw(
    arcs: Sequence[Arc], n: int, *, random: SplitMix64, alpha: float = 1.0
) -> list[tuple[Arc, float]]:
    """A way through the lattice, drawn by its probability; with each arc the chance that it had.

    Example:
        >>> arcs = [Arc(0, 1, 1, -1.0), Arc(0, 2, 2, -1.5), Arc(1, 2, 3, -1.0)]
        >>> [(arc.id, round(chance, 2)) for arc, chance in draw(arcs, 2, random=SplitMix64(1))]
        [(2, 0.62)]
    """
    rest = forward(arcs, n, alpha=alpha)
    path: list[tuple[Arc, float]] = []
    start = 0
    while start < n:
        choices = [arc for arc in arcs if arc.start == start]
        weights = [math.exp(alpha * arc.score + rest[arc.end] - rest[start]) for arc in choices]
        place = random.choose(weights)
        path.append((choices[place], weights[place]))
        start = choices[place].end
    return path
