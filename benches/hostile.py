"""Time text that has no friendly boundary, at growing sizes: is anything worse than n log n?

Every run is a process of its own with a time limit, since some libraries hang or crash here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from benches import texts
from benches.cases import Case
from benches.comparing import Comparison
from benches.peers.base import VocabularyFiles
from benches.program import Program, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "growth", "main"]

SIZES_MB = (4, 16)
TIMEOUT_S = 10.0
LARGE_ROUNDS = 3
LONGEST_S = 0.1
"""A library that takes longer for 1 MB is not asked for more: the fastest take milliseconds."""
VOCABULARY = "cl100k_base"
CAVEATS = (
    "every run is a fresh process that loads the vocabulary (not timed) and encodes the text once",
    f"a run that takes more than {TIMEOUT_S:g} s is stopped; libraries that take more than "
    f"{LONGEST_S:g} s for 1 MB are not asked for 4 and 16 MB",
    "right means: the same ids as the reference's on the same text; where the reference itself "
    "fails, as jeton's",
)


def _median(case: dict[str, Any], name: str) -> float | None:
    for row in case["rows"]:
        if row["name"] == name:
            value: float | None = row["median_value"]
            return value
    return None


def growth(small: dict[str, Any], large: dict[str, Any]) -> float | None:
    """How many times longer our large text takes; None when one of them did not run."""
    before, after = _median(small, "jeton"), _median(large, "jeton")
    return after / before if before and after else None


def _case(
    files: VocabularyFiles,
    kind: str,
    size_mb: int,
    *,
    targets: Sequence[str] = (),
    libraries: Sequence[str] | None = None,
) -> Case:
    return Case(
        files,
        texts.Sample.of(kind, [texts.hostile_text(kind, size_mb * 1_000_000)]),
        targets,
        fresh=True,
        libraries=libraries,
        title=f"{size_mb} MB, one call",
        figure="ms",
        fallback="jeton",
        rounds=None if size_mb == 1 else LARGE_ROUNDS,
        timeout_s=TIMEOUT_S,
    )


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        for files, kind in product(files_of(VOCABULARY), texts.HOSTILE):
            first = comparison.measure(_case(files, kind, 1, targets=["hostile"]))
            yield first
            quick = [
                row["name"]
                for row in first["rows"]
                if row["median_value"] is not None and row["median_value"] < LONGEST_S
            ]
            for size_mb in SIZES_MB[:1] if settings.quick else SIZES_MB:
                case = _case(files, kind, size_mb, libraries=["jeton", *quick])
                found = comparison.measure(case)
                if size_mb == SIZES_MB[-1]:
                    found |= {"targets": ["hostile-growth"], "growth": growth(first, found)}
                yield found


PROGRAM = Program("hostile", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
