"""How much is done, what each library has done so far, and the rounds in which they take turns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from benches.contenders import Failed, Missing
from benches.peers import ENCODERS

__all__ = ["Run", "Settings", "hopeless", "rounds_in_turn"]

DISTANT = 3.0
"""A library this many times slower than the fastest of the others is far behind."""
REMOTE = 10.0
"""One this many times slower is run once: another round would not change its place."""


HOPELESS = 20.0
"""One this many times slower in the first of several cases that are alike is left out of the
others: it would take most of the time, for rows whose place is known."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is done.

    Attributes:
        quick: little text, few rounds; nothing is recorded.
        rounds: of each case, for all that are not far behind.
        fresh_rounds: of each case whose rounds are processes of their own: one tells less.
        first_pass_rounds: of the first passes over text of many kinds and languages: where cores
            are shared with other machines, ratios of medians of nine differed by a tenth to a
            fifth between two runs of one wheel.
        distant_rounds: for those that are far behind; one in fresh processes.
        warm_bytes: text of a warm case.
        fresh_bytes: text of a first pass.
        libraries: those that take part.
    """

    quick: bool = False
    rounds: int = 11
    fresh_rounds: int = 9
    first_pass_rounds: int = 15
    distant_rounds: int = 3
    warm_bytes: int = 4_000_000
    fresh_bytes: int = 12_000_000
    libraries: tuple[str, ...] = tuple(ENCODERS)

    def changed(self, *, rounds: int | None, warm_bytes: int | None) -> Settings:
        """Return the settings with other rounds or another amount of warm text."""
        return replace(
            self,
            rounds=rounds or self.rounds,
            fresh_rounds=rounds or self.fresh_rounds,
            first_pass_rounds=rounds or self.first_pass_rounds,
            warm_bytes=warm_bytes or self.warm_bytes,
        )

    @classmethod
    def small(cls, libraries: Sequence[str] = tuple(ENCODERS)) -> Settings:
        """Settings of ``--quick``."""
        return cls(
            quick=True,
            rounds=3,
            fresh_rounds=1,
            first_pass_rounds=1,
            distant_rounds=1,
            warm_bytes=1_000_000,
            fresh_bytes=2_000_000,
            libraries=tuple(libraries),
        )


@dataclass(slots=True)
class Run:
    """Rounds of one library in one case so far.

    Attributes:
        name: as the table says it.
        seconds: of the rounds.
        wrong: how its results differ, or None.
        failed: why it fell out, or None.
        missing: why it never took part, or None.
        note: what a reader must know.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    wrong: str | None = None
    failed: str | None = None
    missing: str | None = None
    note: str | None = None

    def guarded(self, step: Callable[[], None]) -> bool:
        """Do a step; what goes wrong is noted, and the others go on."""
        try:
            step()
        except Missing as reason:
            self.missing = str(reason)
        except Failed as reason:
            self.failed = str(reason)
        return self.takes_part

    @property
    def takes_part(self) -> bool:
        """True if nothing has gone wrong."""
        return self.failed is None and self.missing is None


def _distances(runs: Sequence[Run]) -> dict[str, float]:
    """How many times slower each is than the fastest of the others that is right.

    Not than ours: were it far ahead, the best of the others would be measured less often.
    """
    medians = {run.name: median(run.seconds) for run in runs if run.takes_part and run.seconds}
    right = [run.name for run in runs if run.name in medians and not run.wrong]
    peers = [medians[name] for name in right if not _is_ours(name)]
    least = min(peers, default=0.0)
    return {name: seconds / least if least else 0.0 for name, seconds in medians.items()}


def _is_ours(name: str) -> bool:
    return name.startswith("jeton")


def hopeless(runs: Sequence[Run], *, but: Collection[str] = ()) -> dict[str, float]:
    """Libraries whose place in cases like this is known -> how many times slower they are."""
    return {
        name: times
        for name, times in _distances(runs).items()
        if times > HOPELESS and not _is_ours(name) and name not in but
    }


def rounds_in_turn(
    runs: Sequence[Run],
    once: Callable[[Run], None],
    *,
    rounds: int,
    distant_rounds: int,
    named: Collection[str] = (),
    named_rounds: int = 0,
) -> None:
    """Call ``once`` for every run in each round, the order turned; distant ones stop early.

    Ours goes on to the end; those that are ``named`` go on for so many rounds, however slow.
    """
    for turn in range(rounds):
        active = [run for run in runs if run.takes_part]
        if turn:
            most = DISTANT if turn >= distant_rounds else REMOTE
            distances = _distances(active)
            active = [
                run
                for run in active
                if _is_ours(run.name)
                or (run.name in named and turn < named_rounds)
                or distances.get(run.name, 0.0) <= most
            ]
        cut = turn % len(active) if active else 0
        for run in [*active[cut:], *active[:cut]]:

            def step(run: Run = run) -> None:
                once(run)

            run.guarded(step)
