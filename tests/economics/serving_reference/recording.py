"""Memory of a run over time: means and peaks of equally wide stretches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Recorder"]

_Number = TypeVar("_Number", int, float)

_MAX_BINS = 4096


@dataclass(slots=True)
class Recorder:
    """Adds up bytes handed out and held, bin by bin.

    A run may last longer than its trace; beyond `_MAX_BINS` bins each two become one.

    Attributes:
        width: Seconds of a bin.
        allocated: Integral of the bytes handed out, byte seconds, by bin.
        peak: The most bytes handed out, by bin.
        held: Integral of the bytes that hold tokens and states of requests, by bin.
        seconds: Seconds covered, by bin; less than ``width`` only in the last.
    """

    width: float
    allocated: list[float] = field(default_factory=lambda: [0.0])
    peak: list[int] = field(default_factory=lambda: [0])
    held: list[float] = field(default_factory=lambda: [0.0])
    seconds: list[float] = field(default_factory=lambda: [0.0])
    _end: float = 0.0

    def __post_init__(self) -> None:
        self._end = self.width

    def add(
        self, start: float, seconds: float, allocated: int, taken: int, held: float, gained: float
    ) -> None:
        """A stretch in which both grew evenly by ``taken`` and ``gained``."""
        if start + seconds <= self._end:
            self.allocated[-1] += seconds * (allocated + taken / 2)
            self.held[-1] += seconds * (held + gained / 2)
            self.seconds[-1] += seconds
            if allocated + taken > self.peak[-1]:
                self.peak[-1] = allocated + taken
            return
        self._add_over_bins(start, seconds, allocated, taken, held, gained)

    def _add_over_bins(
        self, start: float, seconds: float, allocated: int, taken: int, held: float, gained: float
    ) -> None:
        at, end = start, start + seconds
        while True:
            upto = min(end, self._end)
            part = max(upto - at, 0.0)
            middle = ((at + upto) / 2 - start) / seconds if seconds else 0.0
            self.allocated[-1] += part * (allocated + taken * middle)
            self.held[-1] += part * (held + gained * middle)
            self.seconds[-1] += part
            reached = (upto - start) / seconds if seconds else 1.0
            self.peak[-1] = max(self.peak[-1], allocated + round(taken * reached))
            if end <= self._end:
                return
            at = upto
            self._next_bin()

    def _next_bin(self) -> None:
        if len(self.seconds) >= _MAX_BINS:
            # Each two bins become one; an even number of them.
            self.allocated = [a + b for a, b in _pairs(self.allocated)]
            self.held = [a + b for a, b in _pairs(self.held)]
            self.seconds = [a + b for a, b in _pairs(self.seconds)]
            self.peak = [max(a, b) for a, b in _pairs(self.peak)]
            self.width *= 2
            self._end = self.width * len(self.seconds)
        self._end += self.width
        self.allocated.append(0.0)
        self.held.append(0.0)
        self.seconds.append(0.0)
        self.peak.append(0)


def _pairs(values: list[_Number]) -> list[tuple[_Number, _Number]]:
    return list(zip(values[::2], values[1::2], strict=True))
