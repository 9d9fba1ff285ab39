"""Time one document of 12 MB: on one core, and on all that there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

CAVEATS = (
    "with several cores each library does what it does by itself with one long text; splintr's "
    "`encode_rayon` is asked for",
)


def _cases(settings: Settings) -> Iterator[Case]:
    for files in files_of("cl100k_base"):
        for kind in ("english", "code"):
            parts = texts.sample(kind, max_bytes=settings.fresh_bytes).documents
            sample = texts.Sample.of(f"{kind}, one document", ["".join(parts)])
            yield Case(
                files,
                sample,
                ["document"],
                takes_memory=True,
                title="one document, one core, warm",
                group="one core",
            )
            yield Case(
                files,
                sample,
                ["document-threads"],
                "one document",
                all_cores=True,
                takes_memory=True,
                title="one document, all cores, warm",
                group="all cores",
            )


PROGRAM = Program("document", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
