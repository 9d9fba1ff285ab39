"""Time warm encoding into arrays: three vocabularies, four kinds of text in 2 to 3 KB each."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benches import texts, vocabularies
from benches.comparing import Comparison
from benches.contenders import one_core
from benches.program import Program, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        for vocabulary in vocabularies.DEFAULT_NAMES:
            files = files_of(vocabulary)
            if files is None:
                continue
            for kind in texts.KINDS:
                sample = texts.sample(kind, max_bytes=settings.warm_bytes)
                yield comparison.warm(
                    "one by one, into arrays",
                    files,
                    sample,
                    targets=["warm"],
                    cpus=one_core(),
                    title="one by one, into arrays, warm",
                )


PROGRAM = Program("warm", _measure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
