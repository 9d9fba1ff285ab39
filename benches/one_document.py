"""Time one document of 12 MB: on one core, and on all that there are."""

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

CAVEATS = (
    "with several cores each library does what it does by itself with one long text; splintr's "
    "`encode_rayon` is asked for",
)


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        files = files_of("cl100k_base")
        if files is None:
            return
        for kind in ("english", "code"):
            parts = texts.sample(kind, max_bytes=settings.fresh_bytes).documents
            sample = texts.Sample.of(f"{kind}, one document", ["".join(parts)])
            yield comparison.warm(
                "one by one, into arrays",
                files,
                sample,
                targets=["document"],
                cpus=one_core(),
                title="one document, one core, warm",
            )
            yield comparison.warm(
                "one document",
                files,
                sample,
                targets=["document-threads"],
                cpus=None,
                title="one document, all cores, warm",
            )


PROGRAM = Program("document", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
