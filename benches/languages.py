"""Time seven languages in their own scripts, without ASCII padding: warm and first pass."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benches import texts
from benches.comparing import Comparison
from benches.contenders import one_core
from benches.program import Program, files_of, run
from benches.rounds import Settings
from benches.script_text import LANGUAGES

__all__ = ["PROGRAM", "main"]

VOCABULARIES = ("cl100k_base", "o200k_base")
OPERATION = "one by one, into arrays"
CAVEATS = (
    "what is left of the corpora of each language without ASCII is 0.06 MB (Thai) to 2.9 MB, "
    "so that first passes here are short",
)


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        for vocabulary in VOCABULARIES:
            files = files_of(vocabulary)
            if files is None:
                continue
            for language in LANGUAGES:
                sample = texts.language_sample(language, max_bytes=settings.warm_bytes)
                if sample is None:
                    continue
                yield comparison.warm(
                    OPERATION,
                    files,
                    sample,
                    targets=["language-warm"],
                    cpus=one_core(),
                    title=f"{OPERATION}, warm",
                )
            for language in LANGUAGES:
                sample = texts.language_sample(language, max_bytes=settings.fresh_bytes)
                if sample is None:
                    continue
                yield comparison.fresh(
                    OPERATION,
                    files,
                    sample,
                    targets=["language-first"],
                    cpus=one_core(),
                    title=f"{OPERATION}, first pass",
                )


PROGRAM = Program("languages", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
