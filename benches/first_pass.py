"""Time first passes: up to 12 MB of fresh text, documents of 2 to 3 KB, in a fresh process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts, vocabularies
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

CAVEATS = ("logs are 7 MB: there are no more of them",)


def _cases(settings: Settings) -> Iterator[Case]:
    for files in files_of(*vocabularies.DEFAULT_NAMES):
        for kind in texts.KINDS:
            easiest = (files.name, kind) == ("cl100k_base", "english")
            yield Case(
                files,
                texts.sample(kind, max_bytes=settings.fresh_bytes),
                ["first-cl100k-english" if easiest else "first"],
                fresh=True,
                rounds=settings.first_pass_rounds,
                group="kinds",
            )


PROGRAM = Program("first-pass", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
