"""Count instructions under callgrind: four fixed workloads, since counts repeat on noisy machines.

Passes are subtracted from one another: loading alone, with one pass, with two. What the second adds
is warm encoding, what the first adds is the first pass.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benches import record, texts, vocabularies
from benches.comparing import Comparison
from benches.decoding import segments
from benches.harness import Row
from benches.program import Program, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "build_workload", "main", "passes_of", "read_count"]

SAMPLE_BYTES = 1_000_000
"""Callgrind is fifty times slower: seconds for each run."""
TIMEOUT_S = 600.0
CAVEATS = (
    "instructions of the core alone, called from Rust, one thread; valgrind knows AVX2 but not "
    "AVX-512, so that this is the AVX2 path",
    "the number of ids is compared with the reference's",
    "the same text gives nearly the same count every time: hash seeds change it by under 1%",
)


def read_count(words: str) -> int | None:
    """The total that callgrind prints at its end."""
    found = re.search(r"Collected\s*:\s*(\d+)", words)
    return None if found is None else int(found.group(1))


def passes_of(counts: Sequence[int]) -> tuple[int, int]:
    """First and warm pass, from the totals of no, one and two passes."""
    nothing, one, two = counts
    return one - nothing, two - one


def build_workload() -> Path:
    """Build the program that is counted or timed, as the wheel is built; return where it is."""
    subprocess.run(
        [
            "cargo",
            "build",
            "--release",
            "--locked",
            "--quiet",
            "-p",
            "jeton-core",
            "--example",
            "workload",
        ],
        cwd=record.ROOT,
        check=True,
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR") or record.ROOT / "target")
    return target / "release" / "examples" / "workload"


def _count(
    program: Path, ranks: Path, pattern: str, documents: Path, passes: int
) -> tuple[int, int]:
    """Instructions, and the ids that a pass gave."""
    finished = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            *(str(program), str(ranks), pattern, str(documents), str(passes)),
        ],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    count = read_count(finished.stderr)
    if count is None:
        raise RuntimeError(f"callgrind printed no total: {finished.stderr[-200:]}")
    return count, int(finished.stdout.split()[0])


def _workloads() -> Iterator[texts.Sample]:
    english = texts.sample("english", max_bytes=SAMPLE_BYTES)
    yield english
    yield texts.sample("code", max_bytes=SAMPLE_BYTES)
    chinese = texts.language_sample("Chinese", max_bytes=SAMPLE_BYTES)
    if chinese is not None:
        yield chinese
    tiny = segments(texts.sample("medical", max_bytes=SAMPLE_BYTES))
    yield texts.Sample.of("tiny texts", [text for text in tiny.documents for _ in range(20)])


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    program = build_workload()
    with Comparison(settings) as comparison:
        for files, sample in product(files_of("cl100k_base", "o200k_base"), _workloads()):
            if files.rank_file is None:
                continue
            path = vocabularies.BUILD / "texts" / f"workload-{sample.name}.txt".replace(" ", "-")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\0".join(sample.documents), encoding="utf-8")
            found = [
                _count(program, files.rank_file, files.name, path, passes) for passes in range(3)
            ]
            counts = [count for count, _ in found]
            with np.load(comparison.reference(files, sample)) as reference:
                expected = len(reference["ids"])
            ids = [n_ids for _, n_ids in found[1:]]
            wrong = None if ids == [expected] * 2 else f"{ids} ids, expected {expected}"
            rows = [
                Row(
                    f"jeton, {name}",
                    (float(count),),
                    wrong,
                    None,
                    sample.n_bytes,
                    note=f"{count / sample.n_bytes:.2f} a byte",
                )
                for name, count in zip(("first pass", "warm pass"), passes_of(counts), strict=True)
            ]
            yield record.case(
                "instructions",
                files.name,
                sample.name,
                rows,
                n_texts=len(sample.documents),
                figure="instructions",
            )


PROGRAM = Program("instructions", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Count; return the exit code: 0 too where there is nothing to count with, which is said."""
    missing = [name for name in ("valgrind", "cargo") if shutil.which(name) is None]
    if missing:
        print(f"instructions: {' and '.join(missing)} not found; not counted", file=sys.stderr)
        return 0
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
