"""Time batches of str, of bytes and of an Arrow column: one thread and all, and the first one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

FORMS = {
    "batch": "batch-str",
    "batch of bytes": "batch-bytes",
    "Arrow column": "batch-arrow",
}
CAVEATS = (
    "libraries that take no bytes get them decoded, those that take no Arrow column get its texts "
    "as a list, both within the clock; gigatoken takes the column as an awkward array",
)


def _cases(settings: Settings) -> Iterator[Case]:
    warm = texts.sample("english", max_bytes=2 * settings.warm_bytes)
    first = texts.sample("english", max_bytes=settings.fresh_bytes)
    for files in files_of("cl100k_base"):
        for sample, fresh, words in ((warm, False, "warm"), (first, True, "first of a process")):
            for all_cores in (False, True):
                threads = "all threads" if all_cores else "1 thread"
                for operation, target in FORMS.items():
                    yield Case(
                        files,
                        sample,
                        ["batch-first" if fresh else target],
                        operation,
                        fresh=fresh,
                        all_cores=all_cores,
                        title=f"{operation}, {words}, {threads}",
                        group=threads,
                    )


PROGRAM = Program("batches", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
