"""Measure resident memory: beside the vocabulary, and while text that never repeats goes on and on.

``--gigabytes 20`` encodes twenty gigabytes with each library that is fast enough.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benches import record, texts
from benches.comparing import Comparison
from benches.contenders import Contender
from benches.harness import Row, rank
from benches.peers.base import VocabularyFiles
from benches.program import Program, files_of, run
from benches.rounds import Run, Settings, rounds_in_turn

__all__ = ["PROGRAM", "flatness", "main"]

GIGABYTES = 0.5
"""Text of the endless case, many times what caches hold: half a minute for each library."""
N_STEPS = 20
ENDLESS = ("jeton", "gigatoken", "fastokens", "toktok")
"""The peers that encode a gigabyte of text without a repetition within minutes."""
ENDLESS_TIMEOUT_S = 7_200.0
PAGE_BYTES = 4_096
SENTENCE = "The quick brown fox jumps over the lazy dog."
CAVEATS = (
    "resident bytes of a process of its own, after garbage has been collected and freed memory "
    "given back; memory beside the vocabulary: all that loading and encoding 12 MB (results "
    "dropped) have added, less the size of the vocabulary's file; what a first pass adds: what "
    "came after loading and one sentence, which is next to nothing where a library keeps no cache",
    "never-repeating text: random words of lower case letters, six long in the mean; growth is "
    "the most resident memory of the second half over that at half time",
)


def flatness(resident: Sequence[int]) -> float | None:
    """The most of the second half over what was there at half time; 1 is flat."""
    if len(resident) < 2:
        return None
    half = len(resident) // 2
    return max(resident[half - 1 :]) / resident[half - 1]


def _beside(
    settings: Settings, comparison: Comparison, files: VocabularyFiles, sample: texts.Sample
) -> Iterator[dict[str, Any]]:
    runs = [Run(name) for name in settings.libraries]
    totals: dict[str, list[float]] = {run.name: [] for run in runs}
    path = files.rank_file or files.hf_json
    vocabulary_bytes = 0 if path is None else path.stat().st_size
    request = comparison.request("short texts, into arrays", files, sample)

    def once(run: Run) -> None:
        with Contender(run.name) as contender:
            empty = contender.ask("memory")["resident_bytes"]
            contender.ask("texts", documents=request["documents"])
            documents = contender.ask("memory")["resident_bytes"] - empty
            contender.ask("load", files=files.to_dict(), text=SENTENCE)
            loaded = contender.ask("memory")["resident_bytes"] - empty - documents
            contender.ask("prepare", **request)
            before = contender.ask("memory")["resident_bytes"]
            if not totals[run.name]:
                run.note = f"{loaded / 1e6:.1f} MB after loading, the vocabulary with it"
            contender.ask("run")
            after = contender.ask("memory")["resident_bytes"]
            if not run.seconds:
                run.wrong = contender.ask("check")["wrong"]
            run.seconds.append(max(after - before, PAGE_BYTES))
            totals[run.name].append(max(loaded + after - before - vocabulary_bytes, PAGE_BYTES))

    rounds_in_turn(runs, once, rounds=settings.distant_rounds, distant_rounds=1)
    notes = {run.name: run.note for run in runs}
    for one in runs:
        one.note = None
    yield comparison.case(
        "memory that a first pass adds", files, sample, runs, targets=["memory-added"], figure="MB"
    )
    for one in runs:
        one.seconds, one.note = totals[one.name], notes[one.name]
    yield comparison.case(
        "memory beside the vocabulary: tables and caches after a first pass",
        files,
        sample,
        runs,
        targets=["memory"],
        figure="MB",
    )


def _endless(settings: Settings, files: VocabularyFiles, gigabytes: float) -> dict[str, Any]:
    n_step = max(1, round(gigabytes * 1e9 / N_STEPS))
    rows = []
    growth = None
    for name in ENDLESS:
        if name not in settings.libraries:
            continue
        resident: list[int] = []
        run = Run(name)

        def encode(run: Run = run, resident: list[int] = resident) -> None:
            with Contender(run.name) as contender:
                contender.ask("load", files=files.to_dict())
                seconds = 0.0
                answer: dict[str, Any] = {}
                for step in range(N_STEPS):
                    found = contender.ask(
                        "endless", seed=step, n_bytes=n_step, timeout_s=ENDLESS_TIMEOUT_S
                    )
                    seconds += found["seconds"]
                    answer = contender.ask("memory")
                    resident.append(answer["resident_bytes"])
                run.note = f"{gigabytes:g} GB in {seconds:.0f} s"
                if answer.get("cache"):
                    used, limit = answer["cache"]
                    run.note += f"; caches {used / 1e6:.0f} MB of at most {limit / 1e6:.0f} MB"

        run.guarded(encode)
        if resident and name == "jeton":
            growth = flatness(resident)
        note = run.note
        if resident and run.takes_part:
            note = f"{note}; at half time {resident[N_STEPS // 2 - 1] / 1e6:.0f} MB"
        if run.missing is None:
            values = (float(resident[-1]),) if run.takes_part and resident else ()
            rows.append(Row(name, values, None, run.failed, 0, note=note))
    return {
        **record.case(
            f"resident after {gigabytes:g} GB that never repeat",
            files.name,
            "random words",
            rank(rows),
            targets=["memory-flat"],
            figure="MB",
        ),
        "growth": growth,
    }


def _measure(settings: Settings, *, gigabytes: float) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        for files in files_of("cl100k_base", "o200k_base"):
            sample = texts.sample("english", max_bytes=settings.fresh_bytes)
            yield from _beside(settings, comparison, files, sample)
        for files in files_of("cl100k_base"):
            yield _endless(settings, files, gigabytes / 20 if settings.quick else gigabytes)


PROGRAM = Program("memory", partial(_measure, gigabytes=GIGABYTES), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--gigabytes", type=float, default=GIGABYTES)
    options, rest = parser.parse_known_args(arguments)
    measure = partial(_measure, gigabytes=options.gigabytes)
    return run(Program("memory", measure, CAVEATS), __doc__, rest)


if __name__ == "__main__":
    sys.exit(main())
