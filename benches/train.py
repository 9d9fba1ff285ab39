"""Time training byte-level BPE on documents in memory, each run in a process of its own.

The reference is ``tokenizers``: the same split and the same tie rule give the same tokens in the
same order. Trainers that break ties otherwise are right when nearly all of their tokens are the
reference's, and their row says how many are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from benches import record, train_texts, vocabularies
from benches.harness import Row, rank
from benches.isolated import peak_memory_bytes, run_task, start_peak_memory
from benches.machine import header
from benches.peers.trainers import MODULES, REFERENCE, TRAINERS
from benches.texts import Sample
from benches.train_rounds import CAVEATS as ROUNDS
from benches.train_rounds import RUNS, Trained, take_turns

__all__ = ["agreement", "keep", "main", "taking_part", "train_once"]

KIND = "train-bpe"
TIMEOUT_S = 300.0
VOCAB_SIZES = (32_000, 128_000)
QUICK_VOCAB_SIZES = (2_000,)
LEAST_COMMON_SHARE = 0.99
"""Ties decide well under 1% of the tokens; a trainer that shares fewer solves another problem."""
LEFT_OUT = {"bpeasy": "12 s for 100 MB of English, 32,000 tokens (2026-11-21): far behind"}
"""Library -> why it does not take part in full runs."""
TOO_LARGE = {"gigatoken": "80 s for 100 MB of English, 128,000 tokens (2026-11-21): far behind"}
"""Library -> why it does not take part where there are more tokens than the first size."""
CAVEATS = (
    *ROUNDS,
    "all split as GPT-2 does and learn from every pair, without special tokens",
    "English: the corpora english, legal and medical; mixed: multilingual, code, chat and "
    "po_parallel; their documents shuffled, as many as make 100 MB",
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


def _row(trained: Trained, reference: list[str] | None, n_bytes: int) -> Row:
    wrong, note = None, None
    tokens = trained.result.get("tokens")
    if tokens is not None and reference is not None:
        wrong, note = agreement(tokens, reference)
    notes = "; ".join(words for words in (trained.held, note) if words)
    seconds = tuple(trained.seconds)
    return Row(trained.name, seconds, wrong, trained.failed, n_bytes, note=notes or None)


def _measure(sample: Sample, names: Collection[str], *, vocab_size: int, runs: int) -> list[Row]:
    path = vocabularies.ROOT / "build" / "bench" / f"train-{sample.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sample.documents), encoding="utf-8")

    def once(name: str) -> dict[str, Any]:
        arguments = {"name": name, "documents_file": str(path), "vocab_size": vocab_size}
        return run_task("benches.train:train_once", arguments, timeout_s=TIMEOUT_S)

    found = take_turns(list(names), once, runs=runs, single=[REFERENCE])
    reference = found[REFERENCE].result.get("tokens") if REFERENCE in found else None
    return rank([_row(trained, reference, sample.n_bytes) for trained in found.values()])


def taking_part(
    asked: Collection[str] | None, vocab_size: int
) -> tuple[list[str], dict[str, str | None]]:
    """Trainers of this size, and the reasons of the others; all that are asked for take part."""
    absent: dict[str, str | None] = {}
    if vocab_size >= VOCAB_SIZES[0]:
        absent |= LEFT_OUT
    if vocab_size > VOCAB_SIZES[0]:
        absent |= TOO_LARGE
    if asked:
        kept = {"jeton", REFERENCE, *asked}
        absent = {name: absent.get(name, "not asked for") for name in TRAINERS if name not in kept}
    return [name for name in TRAINERS if name not in absent], absent


def keep(cases: list[dict[str, Any]]) -> Path:
    """Record cases; those of today that were not done again stay."""
    head = header(
        kind=KIND,
        command=f"python -m benches.run --only {KIND}",
        distributions=[record.DISTRIBUTIONS[name] for name in TRAINERS],
        caveats=CAVEATS,
    )
    before = record.newest(KIND, cpu=head["machine"]["cpu"])
    if before is not None and before["date"] == head["date"]:
        cases = [*before["cases"], *cases]
    # The later of two that say the same; the order is that of the sizes within each text.
    latest = {
        (case["targets"][0], len(case["vocabulary"]), case["vocabulary"]): case for case in cases
    }
    ordered = [latest[key] for key in sorted(latest)]
    return record.write({**head, "cases": ordered})


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="little text, a small vocabulary")
    parser.add_argument("--record", action="store_true", help="keep the result of each case")
    parser.add_argument("--library", action="append", help="may be repeated; jeton always runs")
    parser.add_argument("--text", action="append", choices=train_texts.TEXTS, help="one of them")
    parser.add_argument("--vocab-size", action="append", type=int, help="may be repeated")
    options = parser.parse_args(arguments)
    max_bytes = train_texts.QUICK_BYTES if options.quick else train_texts.FULL_BYTES
    sizes = options.vocab_size or (QUICK_VOCAB_SIZES if options.quick else VOCAB_SIZES)
    for text in options.text or train_texts.TEXTS:
        sample = train_texts.text(text, max_bytes=max_bytes)
        for vocab_size in sizes:
            names, absent = taking_part(options.library, vocab_size)
            runs = 1 if options.quick else RUNS
            found = record.case(
                "train byte-level BPE",
                f"{vocab_size:,} tokens",
                sample.name,
                _measure(sample, names, vocab_size=vocab_size, runs=runs),
                targets=[f"train-{text}"],
                n_texts=len(sample.documents),
                absent=absent,
                figure="s",
            )
            print(record.table(found), flush=True)
            if options.record:
                print(f"recorded: {keep([found]).name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
