"""Rates of the steps on a cluster, for one core: the table of docs/guides/cluster.md.

    python -m scripts.cluster_rates TEXT.jsonl [--tokenizer T]

Each step runs here as its task or the driver would run it, with one thread. Rates are megabytes of
text by second of the processor, so that other programs on the machine disturb little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jeton
from jeton.cluster import counting, tokenizing
from jeton.cluster.counting import count_units, merge_counts

__all__ = ["main"]


class _Session:
    """Tasks in this process; keeps the job of the run and the time of each kind of task."""

    n_slots = 1

    def __init__(self, shared: Any) -> None:
        self.shared = shared
        self.seconds: dict[str, float] = {}
        self.results_of: dict[int, Any] = {}

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, function: Any, calls: Any, workers: Any) -> Iterator[tuple[int, Any]]:
        for number, call in enumerate(calls):
            yield number, self.result(self.begin(function, *call))

    def begin(self, function: Any, *arguments: Any) -> Any:
        """Do the work at once; its result is its own reference."""
        start = time.process_time()
        result = function(self.shared, *arguments)
        spent = time.process_time() - start
        self.seconds[function.__name__] = self.seconds.get(function.__name__, 0.0) + spent
        self.results_of[id(result)] = result
        return id(result)

    def wait(self, references: Any, *, seconds: float | None = None) -> list[Any]:
        return list(references)

    def result(self, reference: Any) -> Any:
        return self.results_of.pop(reference)


def opened_by(sessions: list[_Session]) -> Any:
    """A stand-in for ``RaySession`` whose tasks run here."""

    class Opened:
        @classmethod
        def open(cls, tasks: Any, shared: Any, **_: Any) -> _Session:
            sessions.append(_Session(shared))
            return sessions[-1]

    return Opened


def tokenizing_rates(text: Path, tokenizer: str, folder: Path) -> dict[str, float]:
    """Seconds of the tasks, and of the driver that plans shards."""
    sessions: list[_Session] = []
    setattr(tokenizing, "RaySession", opened_by(sessions))  # noqa: B010
    start = time.process_time()
    made = jeton.tokenize_dataset(
        text,
        tokenizer=tokenizer,
        output=folder / "out",
        append_eos=True,
        shard_tokens=1 << 22,
        on=tokenizing.pieces_on_ray,
    )
    total = time.process_time() - start
    seconds = sessions[0].seconds
    return {**seconds, "driver": total - sum(seconds.values()), "tokens": made.n_tokens}


def counted(text: Path, folder: Path) -> dict[str, float]:
    """Seconds of the tasks that count, and of those that add up."""
    sessions: list[_Session] = []
    setattr(counting, "RaySession", opened_by(sessions))  # noqa: B010
    counting.count_pretokens_on_ray(text, folder=folder / "counts")
    session = sessions[0]
    session.seconds["n_units"] = len(session.shared.units)
    paths = [str(folder / f"{number}.counts") for number in range(len(session.shared.units))]
    for number, path in enumerate(paths):
        count_units(session.shared, number, number + 1, path, 1)
    start = time.process_time()
    merge_counts(session.shared, paths, str(folder / "sum.counts"))
    session.seconds["merge"] = time.process_time() - start
    return session.seconds


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("text", type=Path, help="a file of records that is not compressed")
    parser.add_argument("--tokenizer", default="cl100k_base")
    options = parser.parse_args()
    megabytes = options.text.stat().st_size / 1e6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = tokenizing_rates(options.text, options.tokenizer, folder)
        sums = counted(options.text, folder)
    print("| step | MB of text per second of one core |\n| --- | ---: |")
    for step, seconds in (
        ("tokenize a unit into a part", found["write_part"]),
        ("driver: plan shards by lengths", found["driver"]),
        ("write a shard from its parts", found["write_shard"]),
        ("count the pretokens of a unit", sums["count_units"]),
        ("add up files of counts", sums["merge"]),
    ):
        print(f"| {step} | {megabytes / seconds:.0f} |")
    print(f"\n{megabytes * 1e6 / found['tokens']:.2f} bytes for each token")


if __name__ == "__main__":
    main()
