"""The oracle of a replay: the least bill that knowing every answer beforehand allows.

It sends each request where it is cheapest, answer and caches known. Moving costs caches, so a
conversation that stays at one endpoint may yet be cheaper: it then takes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton.planning.routing.players import N_BLOCKS

_MAX_CONVERSATIONS: Final = 20_000

_Served = tuple[float, float, float | None]
"""Dollars, seconds and score of a request at an endpoint."""


class _Sums:
    """Sums of one way through a conversation."""

    __slots__ = ("n_misses", "places", "quality", "scored", "seconds", "timed", "usd")

    def __init__(self) -> None:
        self.usd = self.seconds = self.quality = 0.0
        self.timed = self.scored = self.n_misses = 0
        self.places: dict[int, int] = {}

    def add(self, place: int, served: _Served) -> None:
        """Add a request."""
        usd, seconds, quality = served
        self.usd += usd
        if seconds == seconds:
            self.seconds += seconds
            self.timed += 1
        if quality is not None:
            self.quality += quality
            self.scored += 1
        self.places[place] = self.places.get(place, 0) + 1


class _Open:
    __slots__ = ("block", "moving", "n_misses", "staying")

    def __init__(self, block: int, n_places: int) -> None:
        self.block = block
        self.n_misses = 0
        self.moving = _Sums()
        self.staying: list[_Sums | None] = [_Sums() for _ in range(n_places)]


class Oracle:
    """Sums of the oracle. Conversations that were silent for the longest are closed.

    Args:
        n_places: Number of endpoints.
    """

    def __init__(self, n_places: int) -> None:
        self.name = "oracle"
        self.by_block: NDArray[np.float64] = np.zeros(N_BLOCKS)
        self.by_place: NDArray[np.int64] = np.zeros(n_places, dtype=np.int64)
        self.seconds = self.quality = 0.0
        self.timed = self.scored = 0
        self.n_refused = 0
        self.n_missed = 0
        self._n_places = n_places
        self._open: dict[int, _Open] = {}

    def take(
        self,
        talk: int,
        block: int,
        best: tuple[int, float, float, float | None],
        elsewhere: Sequence[_Served | None],
        *,
        misses: bool,
    ) -> None:
        """Take a request.

        Args:
            talk: The conversation; 0: none.
            block: The block that it is drawn in.
            best: Place of the best endpoint, dollars, seconds and score there.
            elsewhere: Dollars, seconds and score at each endpoint for a conversation that never
                left it; None where it is not taken, or misses the policy that another one meets.
            misses: True if no endpoint meets the policy.
        """
        found = self._open.pop(talk, None) if talk else None
        if found is None:
            found = _Open(block, self._n_places)
        found.moving.add(best[0], best[1:])
        found.n_misses += misses
        for place, served in enumerate(elsewhere):
            sums = found.staying[place]
            if sums is None:
                continue
            if served is None:
                found.staying[place] = None
            else:
                sums.add(place, served)
        if not talk:
            self._close(found)
            return
        self._open[talk] = found
        if len(self._open) > _MAX_CONVERSATIONS:
            self._close(self._open.pop(next(iter(self._open))))

    def finish(self) -> None:
        """Close all conversations."""
        for found in self._open.values():
            self._close(found)
        self._open.clear()

    def _close(self, found: _Open) -> None:
        best = found.moving
        for sums in found.staying:
            if sums is not None and sums.usd < best.usd:
                best = sums
        self.by_block[found.block] += best.usd
        self.seconds += best.seconds
        self.quality += best.quality
        self.timed += best.timed
        self.scored += best.scored
        self.n_missed += found.n_misses
        for place, n in best.places.items():
            self.by_place[place] += n
