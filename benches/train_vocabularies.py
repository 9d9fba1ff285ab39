"""Time training the vocabularies that no fast peer learns: superwords, trimmed, fewest tokens.

Each run is a process of its own; the texts are in memory when the clock starts.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from benches import record, train_texts, vocabularies
from benches.harness import Row
from benches.isolated import peak_memory_bytes, run_task, start_peak_memory
from benches.machine import header
from benches.train_rounds import CAVEATS as ROUNDS
from benches.train_rounds import RUNS, Trained, take_turns

__all__ = ["main", "train_once"]

TIMEOUT_S = 300.0
VOCAB_SIZE = 128_000
QUICK_VOCAB_SIZE = 2_000
THREADS = 2
ALGORITHMS = {
    "superbpe": "train superword BPE",
    "trimmed-bpe": "train BPE without intermediate tokens",
    "min-token-unigram": "train the vocabulary of fewest tokens",
}
TARGETS = {"superbpe": ["train-superwords"]}
CAVEATS = (
    *ROUNDS,
    "the corpora english, legal and medical, their documents shuffled, as many as make 100 MB",
    "superwords: no library installed here learns them; the published 28 s (100 MB, "
    "supergigatoken; the reference implementation 223 s) are of another machine",
)


def train_once(algorithm: str, documents_file: str, vocab_size: int) -> dict[str, Any]:
    """In a fresh process: train once. Seconds, memory, how many tokens there are."""
    import jeton

    documents = json.loads(Path(documents_file).read_text(encoding="utf-8"))
    before = start_peak_memory()
    start = perf_counter()
    tokenizer = jeton.train(
        iter(documents), algorithm=algorithm, vocab_size=vocab_size, num_threads=THREADS
    )
    seconds = perf_counter() - start
    peak = peak_memory_bytes()
    return {
        "seconds": seconds,
        "added_memory_bytes": None if before is None or peak is None else peak - before,
        "vocab_size": tokenizer.vocab_size,
    }


def _row(trained: Trained, vocab_size: int, n_bytes: int) -> Row:
    found = trained.result.get("vocab_size")
    wrong = None if found in (None, vocab_size) else f"{found} tokens"
    seconds = tuple(trained.seconds)
    return Row("jeton", seconds, wrong, trained.failed, n_bytes, note=trained.held or None)


def main(arguments: list[str] | None = None) -> int:
    """Run them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="little text, a small vocabulary")
    parser.add_argument("--record", action="store_true", help="keep the result")
    options = parser.parse_args(arguments)
    vocab_size = QUICK_VOCAB_SIZE if options.quick else VOCAB_SIZE
    max_bytes = train_texts.QUICK_BYTES if options.quick else train_texts.FULL_BYTES
    sample = train_texts.text("english", max_bytes=max_bytes)
    path = vocabularies.ROOT / "build" / "bench" / f"train-{sample.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sample.documents), encoding="utf-8")
    cases = []
    for algorithm, title in ALGORITHMS.items():

        def once(name: str, algorithm: str = algorithm) -> dict[str, Any]:
            task = {"algorithm": algorithm, "documents_file": str(path), "vocab_size": vocab_size}
            return run_task("benches.train_vocabularies:train_once", task, timeout_s=TIMEOUT_S)

        found = take_turns(["jeton"], once, runs=1 if options.quick else RUNS)
        case = record.case(
            title,
            f"{vocab_size:,} tokens",
            sample.name,
            [_row(found["jeton"], vocab_size, sample.n_bytes)],
            targets=TARGETS.get(algorithm, ()),
            n_texts=len(sample.documents),
            figure="s",
        )
        cases.append(case)
        print(record.table(case), flush=True)
    if options.record:
        head = header(
            kind="train-vocabularies",
            command="python -m benches.run --only train-vocabularies",
            distributions=["jeton"],
            caveats=CAVEATS,
        )
        print(f"recorded: {record.write({**head, 'cases': cases}).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
