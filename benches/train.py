"""Time training byte-level BPE on documents in memory, each run in a process of its own.

The reference is ``tokenizers``: the same split and the same tie rule give the same tokens in the
same order. Trainers that break ties otherwise are right when nearly all of their tokens are the
reference's, and their row says how many are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benches import record, texts, vocabularies
from benches.harness import Row, rank
from benches.isolated import peak_memory_bytes, run_task, start_peak_memory
from benches.machine import header
from benches.peers.trainers import MODULES, REFERENCE, TRAINERS
from benches.rounds import DISTANT

__all__ = ["agreement", "main", "train_once"]

TIMEOUT_S = 300.0
RUNS = 3
SAMPLE_BYTES = 20_000_000
VOCAB_SIZE = 32_000
LEAST_COMMON_SHARE = 0.99
"""Ties decide well under 1% of the tokens; a trainer that shares fewer solves another problem."""
CAVEATS = (
    "every run is a fresh process; the clock runs from documents in memory, the library imported, "
    "to the learned tokens",
    "all split as GPT-2 does and learn from every pair, without special tokens",
    "medians of three runs; one of those over three times slower than the fastest of the others",
    "memory is the peak of the process less what it held before training started; Linux only",
)


def agreement(found: list[str], reference: list[str]) -> tuple[str | None, str | None]:
    """Compare tokens in order; return (what is wrong, what to note), one of them or neither."""
    if found == reference:
        return None, None
    common = len(set(found) & set(reference))
    words = f"{common} of {len(reference)} tokens are the reference's"
    if len(found) == len(reference) and common >= LEAST_COMMON_SHARE * len(reference):
        return None, f"other tie rule: {words}"
    return words, None


def train_once(name: str, documents_file: str, vocab_size: int) -> dict[str, Any]:
    """In a fresh process: train once. Seconds, memory, the tokens in hexadecimal."""
    documents = json.loads(Path(documents_file).read_text(encoding="utf-8"))
    import_module(MODULES[name])
    before = start_peak_memory()
    start = perf_counter()
    tokens = TRAINERS[name](documents, vocab_size)
    seconds = perf_counter() - start
    peak = peak_memory_bytes()
    return {
        "seconds": seconds,
        "added_memory_bytes": None if before is None or peak is None else peak - before,
        "tokens": [token.hex() for token in tokens],
    }


def _is_far_behind(name: str, times: Mapping[str, Sequence[float]]) -> bool:
    """Whether another run would not change its place."""
    done = [median(seconds) for other, seconds in times.items() if seconds and other != "jeton"]
    slow = bool(times[name]) and median(times[name]) > DISTANT * min(done, default=0.0)
    return slow and name != "jeton"


def _measure(sample: texts.Sample, names: list[str], *, vocab_size: int, runs: int) -> list[Row]:
    path = vocabularies.ROOT / "build" / "bench" / f"train-{sample.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sample.documents), encoding="utf-8")
    times: dict[str, list[float]] = {name: [] for name in names}
    tokens: dict[str, list[str]] = {}
    memory: dict[str, int] = {}
    failed: dict[str, str] = {}
    for turn in range(runs):
        for name in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            if name in failed or _is_far_behind(name, times):
                continue
            arguments = {"name": name, "documents_file": str(path), "vocab_size": vocab_size}
            result = run_task("benches.train:train_once", arguments, timeout_s=TIMEOUT_S)
            if "failed" in result:
                failed[name] = result["failed"]
                continue
            times[name].append(result["seconds"])
            tokens[name] = result["tokens"]
            if result["added_memory_bytes"] is not None:
                memory[name] = max(memory.get(name, 0), result["added_memory_bytes"])
    rows = []
    for name in names:
        wrong, note = None, None
        if name in tokens and REFERENCE in tokens:
            wrong, note = agreement(tokens[name], tokens[REFERENCE])
        if name in memory:
            held = f"{memory[name] / 1e6:.0f} MB above the input"
            note = f"{held}; {note}" if note else held
        seconds = () if name in failed else tuple(times[name])
        rows.append(Row(name, seconds, wrong, failed.get(name), sample.n_bytes, note=note))
    return rank(rows)


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="little text, a small vocabulary")
    parser.add_argument("--record", action="store_true", help="keep the result")
    parser.add_argument("--library", action="append", help="may be repeated; jeton always runs")
    options = parser.parse_args(arguments)
    names = list(TRAINERS)
    if options.library:
        kept = {"jeton", REFERENCE, *options.library}
        names = [name for name in names if name in kept]
    vocab_size = 2_000 if options.quick else VOCAB_SIZE
    max_bytes = 400_000 if options.quick else SAMPLE_BYTES
    cases = []
    for sample in texts.samples(max_bytes=max_bytes)[:3]:
        rows = _measure(sample, names, vocab_size=vocab_size, runs=1 if options.quick else RUNS)
        cases.append(record.case("train byte-level BPE", f"{vocab_size} tokens", sample.name, rows))
        print(record.table(cases[-1]), flush=True)
    if options.record:
        head = header(
            kind="train",
            command="make bench",
            distributions=[record.DISTRIBUTIONS[name] for name in names],
            caveats=CAVEATS,
        )
        print(f"recorded: {record.write({**head, 'cases': cases}).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
