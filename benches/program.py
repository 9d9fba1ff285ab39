"""The frame of every program here: options, a table for each case, one record at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benches import record, vocabularies
from benches.cases import Case
from benches.comparing import Comparison
from benches.machine import CAVEATS, header
from benches.peers import ENCODERS
from benches.peers.base import VocabularyFiles
from benches.rounds import Settings

__all__ = ["Program", "compared", "files_of", "run"]


@dataclass(frozen=True, slots=True)
class Program:
    """One part of the benchmarks.

    Attributes:
        kind: under which it is recorded, and its name for ``--only``.
        measure: yields cases as ``record.case`` makes them.
        caveats: what stands above its tables besides what holds for all.
    """

    kind: str
    measure: Callable[[Settings], Iterator[dict[str, Any]]]
    caveats: tuple[str, ...] = ()


def files_of(*names: str) -> Iterator[VocabularyFiles]:
    """The files of vocabularies; those that are not here are left out, which is said."""
    for name in names:
        files = vocabularies.prepare(name, target=vocabularies.BUILD)
        if files is None:
            print(f"{name}: no file here; left out", file=sys.stderr)
        else:
            yield files


def compared(
    cases: Callable[[Settings], Iterator[Case]],
) -> Callable[[Settings], Iterator[dict[str, Any]]]:
    """Measure a list of cases, those of one vocabulary best one after another."""

    def measure(settings: Settings) -> Iterator[dict[str, Any]]:
        with Comparison(settings) as comparison:
            for case in cases(settings):
                yield comparison.measure(case)

    return measure


def run(program: Program, description: str | None, arguments: Sequence[str] | None) -> int:
    """Measure, print, and with ``--record`` keep; return the exit code."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0] or None)
    parser.add_argument("--quick", action="store_true", help="little text, few rounds")
    parser.add_argument("--record", action="store_true", help="keep the result")
    parser.add_argument("--library", action="append", help="may be repeated; jeton always runs")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--megabytes", type=int, default=None, help="of text, in warm cases")
    options = parser.parse_args(arguments)
    if options.quick and options.record:
        parser.error("a quick run is not recorded")
    names = tuple(ENCODERS)
    if options.library:
        names = tuple(name for name in names if name == "jeton" or name in options.library)
    settings = Settings.small(names) if options.quick else Settings(libraries=names)
    if options.rounds or options.megabytes:
        settings = settings.changed(
            rounds=options.rounds,
            warm_bytes=options.megabytes and options.megabytes * 1_000_000,
        )
    cases = []
    for case in program.measure(settings):
        cases.append(case)
        print(record.table(case), flush=True)
    if not cases:
        print(
            "error: nothing to compare on\nhint: set JETON_VOCAB_DIR to a folder with "
            "cl100k_base.tiktoken",
            file=sys.stderr,
        )
        return 2
    if options.record:
        distributions = [record.DISTRIBUTIONS[name] for name in names]
        head = header(
            kind=program.kind,
            command=f"python -m benches.run --only {program.kind}",
            distributions=distributions,
            caveats=(*CAVEATS, *program.caveats),
        )
        print(f"recorded: {record.write({**head, 'cases': cases}).name}", flush=True)
    return 0
