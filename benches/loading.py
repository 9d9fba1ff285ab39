"""Time loading a vocabulary and encoding a first sentence, each in a fresh process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benches import texts, vocabularies
from benches.comparing import Comparison
from benches.program import Program, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

SENTENCE = "The quick brown fox jumps over the lazy dog: 12,345 times."
CAVEATS = (
    "loading is timed with the library imported, to the ids of one sentence; the file is in the "
    "page cache",
    "compiled: a form that the library carries or has written before; libraries that carry their "
    "vocabularies and read no file are only there",
)


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    sample = texts.Sample.of("one sentence", [SENTENCE])
    with Comparison(settings) as comparison:
        for files in files_of(*vocabularies.DEFAULT_NAMES):
            for compiled in (False, True):
                yield comparison.loading(files, sample, compiled=compiled)


PROGRAM = Program("loading", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
