"""Time chunkers on one text at exactly N tokens, and check what they return.

``python -m benches.chunking FILE`` runs in the environment of ``requirements/chunking.in`` on one
core, by the processor's time: other work of the machine does not count. All get the same part of
the text, and all make the text of every chunk; ours are timed on the whole text as well. A chunker
is exact if no chunk exceeds the budget; ours must also join to the text. The last lines have our
speed over that of the fastest exact ones. Exit code 1: one of ours is wrong.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jeton
from benches.chunkers import CHUNKERS, OWN_COUNTERS, Chunker, installed

__all__ = ["main"]

_PART_BYTES = 400_000
"""Text that all get: the slowest take seconds for it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One chunker on one text.

    Attributes:
        name: The chunker.
        bytes_per_second: Speed of the best round.
        n_chunks: Chunks.
        n_above: Chunks that exceed the budget, encoded alone.
        joins: True if the chunks join to the text.
    """

    name: str
    bytes_per_second: float
    n_chunks: int
    n_above: int
    joins: bool

    def line(self) -> str:
        """The outcome as a line of a table."""
        return (
            f"{self.name:26} {self.bytes_per_second / 1e6:9.2f} MB/s  {self.n_chunks:7,} chunks  "
            f"{self.n_above:4,} above  {'joins' if self.joins else 'drops text'}"
        )


def measured(
    name: str, divide: Chunker, text: str, tokenizer: Any, budget: int, rounds: int
) -> Outcome:
    """Time a chunker and check its chunks."""
    best = min(_timed(lambda: divide(text, tokenizer, budget), rounds))
    spans = divide(text, tokenizer, budget)
    parts = [text[start:end] for start, end in spans]
    n_above = int((tokenizer.count_batch(parts) > budget).sum())
    n_bytes = len(text.encode())
    return Outcome(name, n_bytes / best, len(spans), n_above, "".join(parts) == text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time all chunkers that are installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tokenizer", default="cl100k_base")
    parser.add_argument("--budget", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tokenizer = jeton.load(options.tokenizer)
    whole = options.file.read_text(encoding="utf-8")
    part = whole.encode()[:_PART_BYTES].decode(errors="ignore")

    def timed(name: str, divide: Chunker, text: str, rounds: int) -> Outcome:
        found = measured(name, divide, text, tokenizer, options.budget, rounds)
        print(found.line(), flush=True)
        return found

    best = min(_timed(lambda: tokenizer.count(part, num_threads=1), options.rounds))
    print(f"{'counting alone':26} {len(part.encode()) / best / 1e6:9.2f} MB/s")
    ours, others = [], []
    for name, (module, divide) in CHUNKERS.items():
        if not installed(module):
            print(f"{name:26} not installed")
        elif module:
            others.append(timed(name, divide, part, 1))
        else:
            ours.append(timed(name, divide, part, options.rounds))
    own = []
    if options.tokenizer == "cl100k_base":
        print("with their own counters")
        for name, (modules, divide) in OWN_COUNTERS.items():
            if all(map(installed, modules)):
                own.append(timed(name, divide, part, 1))
    print(f"the whole text, {len(whole.encode()):,} bytes")
    for name, (module, divide) in CHUNKERS.items():
        if not module and name != "jeton, semantic":
            ours.append(timed(name, divide, whole, options.rounds))
    for counters, rivals in (("with our counter", others), ("with its own counter", own)):
        exact = [outcome for outcome in rivals if not outcome.n_above]
        if not exact:
            continue
        rival = max(exact, key=lambda outcome: outcome.bytes_per_second)
        mine = next(outcome for outcome in ours if outcome.name == "jeton, structure")
        ratio = mine.bytes_per_second / rival.bytes_per_second
        print(f"{mine.name} is {ratio:.1f} times as fast as {rival.name}, exact {counters}")
    return int(any(outcome.n_above or not outcome.joins for outcome in ours))


def _timed(work: Callable[[], object], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return times


if __name__ == "__main__":
    raise SystemExit(main())
