"""How everything here is timed: check first, then alternate in rounds, then medians and ratios.

1. Each entry runs once, untimed: that warms it up, and its result is checked against the
   reference. A result that is wrong is reported as such and stays out of the ratios.
2. All entries run once in each round, the order turned by one each time, so that a machine whose
   speed drifts is as unkind to one as to another. The garbage collector rests while the clock runs.
3. The figure of an entry is the median over the rounds; its spread is the fastest and slowest.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

__all__ = ["DEFAULT_ROUNDS", "Entry", "Row", "alternate", "compare", "rank"]

DEFAULT_ROUNDS = 5
"""Odd, so that the median is a measured value; five keep a full run below an hour on two cores."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One contender in one case.

    Attributes:
        name: the library.
        run: what is timed; its result goes to ``check``.
        check: says what is wrong with a result, in words, or None when nothing is.
    """

    name: str
    run: Callable[[], Any]
    check: Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one contender in one case.

    Attributes:
        name: the library.
        values: what was measured, one for each round: seconds, or what the case says (bytes,
            instructions); less is better. Empty when it could not run.
        wrong: how its results differ from the reference's, or None when they are equal.
        failed: why it could not run, or None.
        n_bytes: UTF-8 bytes of the text that it worked through each round.
        ratio_to_best_peer: its speed over that of the fastest *other* contender whose results are
            right; None when there is none.
        note: what a reader must know about this row.
    """

    name: str
    values: tuple[float, ...]
    wrong: str | None
    failed: str | None
    n_bytes: int
    ratio_to_best_peer: float | None = None
    note: str | None = None

    @property
    def median_value(self) -> float | None:
        """The median over the rounds."""
        return median(self.values) if self.values else None

    @property
    def exact(self) -> bool:
        """True if it ran and its results are the reference's."""
        return bool(self.values) and self.wrong is None

    @property
    def megabytes_per_second(self) -> float | None:
        """10^6 bytes of UTF-8 a second, at the median; only where seconds are measured."""
        seconds = self.median_value
        return self.n_bytes / seconds / 1e6 if seconds else None

    def to_dict(self) -> dict[str, Any]:
        """The row as it is recorded."""
        return {
            **asdict(self),
            "median_value": self.median_value,
            "megabytes_per_second": self.megabytes_per_second,
        }


def alternate(
    entries: Sequence[Entry], *, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Run every entry once a round, the order turned by one each round; return the times."""
    times: dict[str, list[float]] = {entry.name: [] for entry in entries}
    collecting = gc.isenabled()
    try:
        for turn in range(rounds):
            cut = turn % len(entries) if entries else 0
            for entry in [*entries[cut:], *entries[:cut]]:
                gc.collect()
                gc.disable()
                start = clock()
                result = entry.run()
                times[entry.name].append(clock() - start)
                del result
    finally:
        if collecting:
            gc.enable()
    return times


def compare(
    entries: Sequence[Entry],
    *,
    n_bytes: int,
    rounds: int = DEFAULT_ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Row]:
    """Check, time and rank the entries of one case; fastest first, the wrong ones after the right.

    A contender that raises is reported, not fatal: a benchmark must survive its subjects.
    """
    wrong: dict[str, str | None] = {}
    failed: dict[str, str] = {}
    runnable = []
    for entry in entries:
        try:
            wrong[entry.name] = entry.check(entry.run())
            runnable.append(entry)
        except Exception as error:
            failed[entry.name] = f"{type(error).__name__}: {error}".splitlines()[0]
    times = alternate(runnable, rounds=rounds, clock=clock)
    rows = [
        Row(
            name=entry.name,
            values=tuple(times.get(entry.name, ())),
            wrong=wrong.get(entry.name),
            failed=failed.get(entry.name),
            n_bytes=n_bytes,
        )
        for entry in entries
    ]
    return rank(rows)


def rank(rows: Sequence[Row]) -> list[Row]:
    """Add the ratios and sort: right ones by time, then wrong ones by time, then the failed."""
    ranked = []
    for row in rows:
        others = [other.median_value for other in rows if other.exact and other.name != row.name]
        mine = row.median_value
        best = min((value for value in others if value is not None), default=None)
        ratio = best / mine if row.exact and mine and best is not None else None
        ranked.append(replace(row, ratio_to_best_peer=ratio))
    return sorted(ranked, key=lambda row: (not row.exact, not row.values, row.median_value or 0.0))
