"""Players of a replay: each sends every request somewhere, and has its own bill and caches."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

N_BLOCKS: Final = 4096
"""Blocks that conversations are drawn in for intervals: whole conversations, by their hash."""

_MAX_CONVERSATIONS: Final = 20_000
_BINS: Final = 400
_LEAST_S: Final = 1e-4
_PER_OCTAVE: Final = 16


class SecondsHistogram:
    """Times by logarithmic bins of 4%, so that memory stays as it is however long a log is."""

    def __init__(self) -> None:
        self._bins = np.zeros(_BINS, dtype=np.int64)
        self.total = 0.0
        self.n = 0

    def add(self, seconds: float) -> None:
        """Take a time; NaN is not known and is left out."""
        if seconds != seconds:
            return
        place = int(math.log2(max(seconds, _LEAST_S) / _LEAST_S) * _PER_OCTAVE)
        self._bins[min(place, _BINS - 1)] += 1
        self.total += seconds
        self.n += 1

    @property
    def mean(self) -> float | None:
        """Mean; None without a time."""
        return self.total / self.n if self.n else None

    def quantile(self, share: float) -> float | None:
        """Middle of the bin that a quantile falls in; None without a time."""
        if not self.n:
            return None
        place = int(np.searchsorted(np.cumsum(self._bins), math.ceil(share * self.n)))
        return float(_LEAST_S * 2 ** ((place + 0.5) / _PER_OCTAVE))


class _Talk:
    __slots__ = ("first_share", "last", "prompts")

    def __init__(self, first_share: float) -> None:
        self.last = -1
        self.first_share = first_share
        self.prompts: dict[int, tuple[int, float]] = {}


class CacheTruth:
    """The prompt tokens that an endpoint's cache holds, given where a conversation went before.

    A log tells what was read while a conversation stayed where it was. One that comes back finds
    what it left; one that is new finds what even the first request of the conversation found.
    """

    def __init__(self) -> None:
        self._talks: dict[int, _Talk] = {}

    def read(
        self, talk: int, place: int, logged: int, n_tokens: int, age: tuple[float, float]
    ) -> int:
        """Return the tokens read from a cache.

        Args:
            talk: The conversation; 0: none, which reads what was logged.
            place: The endpoint.
            logged: Tokens that a conversation that stays reads there.
            n_tokens: Tokens of the prompt there.
            age: Now, and the time after which a cache forgets.
        """
        if not logged or not talk:
            return logged
        known = self._talks.get(talk)
        if known is None or known.last == place:
            return logged
        least = min(logged, int(known.first_share * n_tokens))
        before = known.prompts.get(place)
        if before is None or age[0] - before[1] > age[1]:
            return least
        return min(logged, max(before[0], least))

    def sent(self, talk: int, place: int, n_tokens: int, share: float, now_s: float) -> None:
        """Note where a request went."""
        if not talk:
            return
        known = self._talks.pop(talk, None)
        if known is None:
            known = _Talk(share)
            if len(self._talks) >= _MAX_CONVERSATIONS:
                del self._talks[next(iter(self._talks))]
        self._talks[talk] = known
        known.last = place
        known.prompts[place] = (n_tokens, now_s)


class Play:
    """Sums of one player.

    Args:
        name: Its name.
        n_places: Number of endpoints.
    """

    def __init__(self, name: str, n_places: int) -> None:
        self.name = name
        self.by_block: NDArray[np.float64] = np.zeros(N_BLOCKS)
        self.seconds = SecondsHistogram()
        self.quality_sum = 0.0
        self.n_quality = 0
        self.n_refused = 0
        self.n_failed = 0
        self.n_too_long = 0
        self.n_missed = 0
        self.n_fallbacks = 0
        self.n_moves = 0
        self.by_place: NDArray[np.int64] = np.zeros(n_places, dtype=np.int64)

    def take(
        self,
        place: int,
        block: int,
        usd: float,
        seconds: float,
        quality: float | None,
        *,
        fits: bool,
        meets: bool,
    ) -> None:
        """Take a request that was sent to an endpoint."""
        self.by_block[block] += usd
        self.by_place[place] += 1
        self.seconds.add(seconds)
        if quality is not None:
            self.quality_sum += quality
            self.n_quality += 1
        self.n_too_long += not fits
        self.n_missed += not meets

    @property
    def n_requests(self) -> int:
        """Requests that were sent."""
        return int(self.by_place.sum())
