"""Time encoding into Python lists: one by one and in a batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts
from benches.cases import LISTS, Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

CASES = (("cl100k_base", "english"), ("o200k_base", "english"), ("cl100k_base", "code"))
TARGETS = ("lists-fastokens", "lists-gigatoken", "lists")


def _cases(settings: Settings) -> Iterator[Case]:
    for vocabulary, kind in CASES:
        for files in files_of(vocabulary):
            sample = texts.sample(kind, max_bytes=settings.warm_bytes)
            for operation in (LISTS, "batch, into lists"):
                title = f"{operation}, warm, 1 thread"
                yield Case(files, sample, TARGETS, operation, title=title, group="lists")


PROGRAM = Program("lists", compared(_cases))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
