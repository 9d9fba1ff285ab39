"""Time seven languages in their own scripts, without ASCII padding: warm and first pass."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from math import ceil

from benches import texts
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings
from benches.script_text import LANGUAGES

__all__ = ["PROGRAM", "main"]

CAVEATS = (
    "what is left of the corpora of each language without ASCII is 0.06 MB (Thai) to 2.9 MB, "
    "so that first passes here are short",
    "warm: a round goes over the text until it has been 4 MB; in one pass over 0.06 MB most of the "
    "time would go into what the other libraries have displaced from the processor's caches",
)


def _cases(settings: Settings) -> Iterator[Case]:
    for files in files_of("cl100k_base", "o200k_base"):
        for sample in texts.language_samples(LANGUAGES, max_bytes=settings.warm_bytes):
            repeats = ceil(settings.warm_bytes / sample.n_bytes)
            yield Case(
                files, sample, ["language-warm"], options={"repeats": repeats}, group="languages"
            )
        for sample in texts.language_samples(LANGUAGES, max_bytes=settings.fresh_bytes):
            yield Case(
                files,
                sample,
                ["language-first"],
                fresh=True,
                rounds=settings.first_pass_rounds,
                group="languages",
            )


PROGRAM = Program("languages", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
