"""Time batches of str, of bytes and of an Arrow column: one thread and all, and the first one."""

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

FORMS = {
    "batch": "batch-str",
    "batch of bytes": "batch-bytes",
    "Arrow column": "batch-arrow",
}
CAVEATS = (
    "libraries that take no bytes get them decoded, those that take no Arrow column get its texts "
    "as a list, both within the clock; gigatoken takes the column as an awkward array",
)


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        files = files_of("cl100k_base")
        if files is None:
            return
        warm = texts.sample("english", max_bytes=2 * settings.warm_bytes)
        fresh = texts.sample("english", max_bytes=settings.fresh_bytes)
        threads = (("1 thread", one_core()), ("all threads", None))
        for words, cpus in threads:
            for operation, target in FORMS.items():
                yield comparison.warm(
                    operation,
                    files,
                    warm,
                    targets=[target],
                    cpus=cpus,
                    title=f"{operation}, warm, {words}",
                )
        for words, cpus in threads:
            for operation in FORMS:
                yield comparison.fresh(
                    operation,
                    files,
                    fresh,
                    targets=["batch-first"],
                    cpus=cpus,
                    title=f"{operation}, first of a process, {words}",
                )


PROGRAM = Program("batches", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
