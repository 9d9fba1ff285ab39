"""Time chunkers on one text at exactly N tokens, and check what they return.

``python -m benches.chunking FILE`` runs in the environment of ``requirements/chunking.in`` on one
core. A chunker is exact if no chunk exceeds the budget; ours must also join to the text.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jeton
from benches.chunkers import CHUNKERS, installed

__all__ = ["main"]

_SLOW_BYTES = 400_000
"""Text that the others get: they take seconds for it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Time all chunkers that are installed; exit code 1 if one of ours is wrong."""
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
    wrong = False
    n_bytes = len(whole.encode())
    best = min(_timed(lambda: tokenizer.count(whole, num_threads=1), options.rounds))
    print(f"{'counting alone':26} {n_bytes / best / 1e6:9.2f} MB/s")
    for name, (module, divide) in CHUNKERS.items():
        if not installed(module):
            print(f"{name:26} not installed")
            continue
        text = whole[:_SLOW_BYTES] if module else whole
        n_bytes = len(text.encode())
        rounds = 1 if module else options.rounds
        best = min(_timed(lambda: divide(text, tokenizer, options.budget), rounds))  # noqa: B023
        spans = divide(text, tokenizer, options.budget) if not module else []
        spans = spans or divide(text, tokenizer, options.budget)
        counts = tokenizer.count_batch([text[start:end] for start, end in spans])
        n_above = int((counts > options.budget).sum())
        joins = "".join(text[start:end] for start, end in spans) == text
        wrong = wrong or (not module and (n_above > 0 or not joins))
        print(
            f"{name:26} {n_bytes / best / 1e6:9.2f} MB/s  {len(spans):7,} chunks  "
            f"{n_above:4,} above  {'joins' if joins else 'drops text'}"
        )
    return int(wrong)


def _timed(work: Callable[[], object], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    raise SystemExit(main())
