"""Drawing texts without chance: those with the smallest keys are kept.

A key is made from a digest of the text, so that the draw is even over the distinct texts, is the
same for any order of the inputs and any number of shards, and never holds one text twice.
"""

from __future__ import annotations

import heapq
from copy import copy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Self

KEY_BITS = 64
"""Two of a billion texts share a key with a chance of 3% (n^2 / 2^65); then one stands for both."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One drawn text.

    Attributes:
        key: Its key, below 2 ** `KEY_BITS`.
        data: The text as UTF-8.
        source: The first of its inputs, by name.
        domain: The first of its domains, by name; empty where it has none.
        companion: Its companion (an answer) as UTF-8; the key is that of both.
        n_copies: How often it was offered.
        model: The first of the models that it was sent to, by name; empty where none is named.
        blocks: Kind, first byte and end of each block of a request, one after another.
        rows: Numbers of the requests in the log that the unit stands for; empty for documents.
    """

    key: int
    data: bytes
    source: str
    domain: str
    companion: bytes = b""
    n_copies: int = 1
    model: str = ""
    blocks: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Bytes of the text and its companion."""
        return len(self.data) + len(self.companion)

    def moved(self, n_rows: int) -> Unit:
        """Return the unit with the numbers of its requests shifted."""
        return replace(self, rows=tuple(row + n_rows for row in self.rows))

    def with_copies_of(self, other: Unit) -> Unit:
        """Both as one, whatever the order in which they came."""
        first = min(self, other, key=lambda unit: (unit.source, unit.domain, unit.model))
        return replace(first, n_copies=self.n_copies + other.n_copies)


class Drawer:
    """Keeps the units with the smallest keys within limits; at least one."""

    def __init__(self, *, max_units: int, max_bytes: int | None = None) -> None:
        self._max_units = max_units
        self._max_bytes = max_bytes
        self._units: dict[int, Unit] = {}
        # Beside the units, so that a text sent a million times costs a million appends.
        self._rows: dict[int, list[int]] = {}
        self._largest: list[int] = []
        self.n_bytes = 0
        self.threshold = 1 << KEY_BITS
        """Units with this key and above are not wanted any more."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units drawn, by key."""
        return tuple(
            replace(self._units[key], rows=tuple(sorted(self._rows[key])))
            for key in sorted(self._units)
        )

    @property
    def is_everything(self) -> bool:
        """True if nothing was left out."""
        return self.threshold == 1 << KEY_BITS

    def offer(self, unit: Unit) -> None:
        """Keep a unit if it is wanted. Its copies count even where others have to go."""
        if unit.key >= self.threshold:
            return
        known = self._units.get(unit.key)
        if known is not None:
            self._rows[unit.key].extend(unit.rows)
            self._units[unit.key] = known.with_copies_of(unit)
            return
        self._units[unit.key] = unit
        self._rows[unit.key] = list(unit.rows)
        heapq.heappush(self._largest, -unit.key)
        self.n_bytes += unit.n_bytes
        while len(self._units) > 1 and self._is_too_much():
            self.threshold = -heapq.heappop(self._largest)
            self.n_bytes -= self._units.pop(self.threshold).n_bytes
            del self._rows[self.threshold]

    def merge(self, other: Self) -> Drawer:
        """Return the drawer that would have seen everything that both were offered."""
        merged = Drawer(max_units=self._max_units, max_bytes=self._max_bytes)
        merged.threshold = min(self.threshold, other.threshold)
        for unit in (*self.units, *other.units):
            merged.offer(unit)
        return merged

    def moved(self, n_rows: int) -> Drawer:
        """Return the drawer with the numbers of its requests shifted."""
        moved = copy(self)
        moved._rows = {key: [row + n_rows for row in rows] for key, rows in self._rows.items()}
        return moved

    def _is_too_much(self) -> bool:
        return len(self._units) > self._max_units or (
            self._max_bytes is not None and self.n_bytes > self._max_bytes
        )


def key_of_block(digest: bytes, index: int) -> int:
    """The key of a part of a long document; that of the first part is the document's own."""
    first = digest if index == 0 else blake2b(digest + index.to_bytes(8, "big")).digest()
    return int.from_bytes(first[: KEY_BITS // 8], "big")
