"""Time warm encoding into arrays: three vocabularies, four kinds of text in 2 to 3 KB each."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts, vocabularies
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]


def _cases(settings: Settings) -> Iterator[Case]:
    for files in files_of(*vocabularies.DEFAULT_NAMES):
        for kind in texts.KINDS:
            yield Case(
                files, texts.sample(kind, max_bytes=settings.warm_bytes), ["warm"], group="kinds"
            )


PROGRAM = Program("warm", compared(_cases))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
