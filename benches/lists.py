"""Time encoding into Python lists: one by one and in a batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benches import texts
from benches.comparing import Comparison
from benches.contenders import one_core
from benches.program import Program, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

CASES = (("cl100k_base", "english"), ("o200k_base", "english"), ("cl100k_base", "code"))
TARGETS = ("lists-fastokens", "lists-gigatoken", "lists")


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        for vocabulary, kind in CASES:
            files = files_of(vocabulary)
            if files is None:
                continue
            sample = texts.sample(kind, max_bytes=settings.warm_bytes)
            for operation in ("one by one, into lists", "batch, into lists"):
                yield comparison.warm(
                    operation,
                    files,
                    sample,
                    targets=TARGETS,
                    cpus=one_core(),
                    title=f"{operation}, warm, 1 thread",
                )


PROGRAM = Program("lists", _measure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
