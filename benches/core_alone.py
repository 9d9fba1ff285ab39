"""Time the core alone, called from Rust without Python in between: first and warm passes.

Single steps are measured with this, two builds in turn (docs/log/engine-2026-11.md).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benches import record, texts, vocabularies
from benches.harness import Row
from benches.instructions import build_workload
from benches.program import Program, files_of, run
from benches.rounds import Settings
from benches.script_text import LANGUAGES

__all__ = ["PROGRAM", "main", "read_passes"]

WARM_PASSES = 5
TIMEOUT_S = 600.0
CAVEATS = (
    "one thread, ids into memory that is used again; a process for each text; the first pass of a "
    "process also makes what is made when it is first needed",
)


def read_passes(words: str) -> tuple[str, tuple[float, ...]]:
    """The hash of the ids and the seconds of each pass, from what the program prints."""
    _, digest, *seconds = words.split()
    return digest, tuple(float(value) for value in seconds)


def _samples(max_bytes: int) -> Iterator[texts.Sample]:
    for kind in texts.KINDS:
        yield texts.sample(kind, max_bytes=max_bytes)
    for language in LANGUAGES:
        found = texts.language_sample(language, max_bytes=max_bytes)
        if found is not None:
            yield found


def _write(sample: texts.Sample) -> Path:
    path = vocabularies.BUILD / "texts" / f"core-{sample.name}.txt".replace(" ", "-")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\0".join(document.replace("\0", "") for document in sample.documents), encoding="utf-8"
    )
    return path


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    program = build_workload()
    for files in files_of("cl100k_base", "o200k_base"):
        if files.rank_file is None:
            continue
        for sample in _samples(settings.warm_bytes):
            finished = subprocess.run(
                [program, files.rank_file, files.name, _write(sample), str(1 + WARM_PASSES)],
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=True,
            )
            digest, (first, *warm) = read_passes(finished.stdout)
            passes = {"jeton, first pass": (first,), "jeton, warm pass": tuple(warm)}
            yield record.case(
                "the core alone",
                files.name,
                sample.name,
                [
                    Row(name, seconds, None, None, sample.n_bytes, note=f"ids {digest}")
                    for name, seconds in passes.items()
                ],
                n_texts=len(sample.documents),
            )


PROGRAM = Program("core-alone", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time it; return the exit code: 0, and said, where there is nothing to build it with."""
    if shutil.which("cargo") is None:
        print("core-alone: cargo not found; not timed", file=sys.stderr)
        return 0
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
