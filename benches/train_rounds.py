"""Trainers take turns, each run in a process of its own; what one took and what it gave is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benches.rounds import DISTANT, REMOTE

__all__ = ["CAVEATS", "RUNS", "Trained", "take_turns"]

RUNS = 3
REMOTE_RUNS = 2
CAVEATS = (
    "every run is a fresh process on both cores; the clock runs, the library imported, from texts "
    "in memory (BPE on bytes) or a file (the others) to what was learned",
    f"medians of {RUNS} alternated runs; one run of what checks the others, and of those over "
    f"{DISTANT:g} times slower than the fastest of the other peers; {REMOTE_RUNS} of a single peer "
    f"over {REMOTE:g} times slower than ours",
    "memory is the peak of the process less what it held before training began (texts that are in "
    "memory, libraries); Linux only",
)


@dataclass(slots=True)
class Trained:
    """Outcome of one trainer's runs.

    Attributes:
        name: the library.
        seconds: of each run.
        memory: bytes added at the peak, of each run where that is known.
        result: what the last run returned.
        failed: why it fell out, or None.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    failed: str | None = None

    @property
    def held(self) -> str:
        """Its memory, for a reader."""
        return f"{median(self.memory) / 1e6:.0f} MB above the input" if self.memory else ""


def take_turns(
    names: Sequence[str],
    once: Callable[[str], Mapping[str, Any]],
    *,
    runs: int = RUNS,
    single: Collection[str] = (),
) -> dict[str, Trained]:
    """Run all of them in turn, the order turned by one each time.

    Args:
        names: the libraries; ours is ``jeton``.
        once: trains, and returns "seconds", "added_memory_bytes" and more, or "failed".
        runs: of those that are not far behind.
        single: those that run once however fast they are.
    """
    found = {name: Trained(name) for name in names}
    for turn in range(runs):
        cut = turn % len(names)
        for name in [*names[cut:], *names[:cut]]:
            trained = found[name]
            if trained.failed or (turn and (name in single or _is_done(name, found))):
                continue
            result = dict(once(name))
            if "failed" in result:
                trained.failed = str(result["failed"])
                trained.seconds = []
                continue
            trained.seconds.append(result.pop("seconds"))
            memory = result.pop("added_memory_bytes", None)
            if memory is not None:
                trained.memory.append(memory)
            trained.result = result
    return found


def _is_done(name: str, found: Mapping[str, Trained]) -> bool:
    """True if another run would not change its place."""
    if name == "jeton" or not found[name].seconds:
        return False
    mine = median(found[name].seconds)
    others = [
        median(other.seconds)
        for other in found.values()
        if other.seconds and other.name not in (name, "jeton")
    ]
    if others:
        return mine > DISTANT * min(others)
    ours = found["jeton"].seconds if "jeton" in found else []
    is_remote = bool(ours) and mine > REMOTE * median(ours)
    return is_remote and len(found[name].seconds) >= REMOTE_RUNS
