"""Queue of waiting requests: as they come, or the shortest predicted first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeAlias, TypeVar

__all__ = ["RequestQueue", "ShortestFirst"]

_K = TypeVar("_K")


class ShortestFirst(Generic[_K]):
    """Requests by a key that is taken when they come; the interface is that of a deque.

    A request that is put back at the head goes before all others. Time: O(log n) each.
    """

    __slots__ = ("_front", "_heap", "_key", "_number")

    def __init__(self, key: Callable[[_K], float]) -> None:
        self._front: deque[_K] = deque()
        # Equal keys go in the order of arrival; requests themselves are never compared.
        self._heap: list[tuple[float, int, _K]] = []
        self._key = key
        self._number = count()

    def __len__(self) -> int:
        return len(self._front) + len(self._heap)

    def __getitem__(self, place: int) -> _K:
        """The head, which is all that can be asked for."""
        if place:
            raise IndexError(place)
        return self._front[0] if self._front else self._heap[0][2]

    def append(self, request: _K) -> None:
        """Put a request into its place."""
        heappush(self._heap, (self._key(request), next(self._number), request))

    def appendleft(self, request: _K) -> None:
        """Put a request before all others."""
        self._front.appendleft(request)

    def popleft(self) -> _K:
        """Take the head."""
        return self._front.popleft() if self._front else heappop(self._heap)[2]

    def remove(self, request: _K) -> None:
        """Take a request out wherever it is: O(n)."""
        if request in self._front:
            self._front.remove(request)
            return
        place = next(n for n, row in enumerate(self._heap) if row[2] == request)
        rows = [row for n, row in enumerate(self._heap) if n != place]
        self._heap = sorted(rows, key=lambda row: row[:2])


RequestQueue: TypeAlias = deque[_K] | ShortestFirst[_K]
