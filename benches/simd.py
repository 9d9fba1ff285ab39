"""Time each SIMD path that the core can choose on this machine, beside the best peers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benches import texts, vocabularies
from benches.cases import Case
from benches.comparing import Comparison
from benches.program import Program, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main", "paths"]

VARIABLE = "JETON_SIMD"
NEEDED = {"portable": (), "avx2": ("avx2",), "avx512": ("avx512vbmi", "avx512bw")}
"""Path -> the flags of the processor that it needs, as Linux names them."""
PEERS = ("gigatoken", "fastokens", "toktok")
KINDS = {
    "cl100k_base": ("english", "code", "logs"),
    "o200k_base": ("english",),
    "llama3": ("english",),
}
LANGUAGES = {"cl100k_base": ("Chinese",), "o200k_base": ("Chinese", "Russian"), "llama3": ()}
CAVEATS = (
    f"each path is a process of its own with {VARIABLE} set; the peers choose their own paths",
)


def paths(flags: set[str]) -> list[str]:
    """The paths that a processor with these flags can take."""
    return [path for path, needed in NEEDED.items() if set(needed) <= flags]


def _flags() -> set[str]:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.is_file():
        return set()
    for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


def _variants() -> Mapping[str, tuple[str, Mapping[str, str]]]:
    return {f"jeton, {path}": ("jeton", {VARIABLE: path}) for path in paths(_flags())}


def _cases(settings: Settings, libraries: Sequence[str]) -> Iterator[Case]:
    for files in files_of(*vocabularies.DEFAULT_NAMES):
        samples = [
            *(texts.sample(kind, max_bytes=settings.warm_bytes) for kind in KINDS[files.name]),
            *texts.language_samples(LANGUAGES[files.name], max_bytes=settings.warm_bytes),
        ]
        for sample in samples:
            yield Case(files, sample, [], libraries=libraries)


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    variants = _variants()
    with Comparison(settings, variants=variants) as comparison:
        for case in _cases(settings, [*variants, *PEERS]):
            yield comparison.measure(case)


PROGRAM = Program("simd", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
