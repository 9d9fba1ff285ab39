"""Time what is not plain encoding: decoding, counting, offsets, padding, threads, tiny segments."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benches import texts
from benches.comparing import Comparison
from benches.contenders import one_core
from benches.program import Program, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main", "segments"]

N_SEGMENTS = 1_000
SEGMENT_CHARS = 40
"""About ten tokens of English: a message's markup, a tool call's argument."""
ON_ONE_CORE = {
    "decode, one by one": "decode",
    "count, one by one": "count",
    "ids with offsets": "offsets",
}
ON_ALL_CORES = {
    "decode a batch": "decode",
    "count a batch": "count",
    "padded batch": "padded",
    "64 Python threads": "threads",
}
CAVEATS = (
    "decoding gives str or bytes, as each library does it faster, from its own fastest form of ids "
    "(arrays or lists, made outside the clock)",
    "offsets: characters or bytes, as the library gives them; the ids are checked, and that every "
    "one has a place",
    "a padded batch is cut at 512 ids",
)


def segments(sample: texts.Sample) -> texts.Sample:
    """A thousand stretches of 40 characters of running text."""
    prose = "".join(sample.documents)
    starts = range(0, N_SEGMENTS * SEGMENT_CHARS, SEGMENT_CHARS)
    return texts.Sample.of(
        "1,000 segments", [prose[start : start + SEGMENT_CHARS] for start in starts]
    )


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        files = files_of("cl100k_base")
        if files is None:
            return
        sample = texts.sample("english", max_bytes=settings.warm_bytes)
        for operations, cpus, words in (
            (ON_ONE_CORE, one_core(), "one core"),
            (ON_ALL_CORES, None, "all cores"),
        ):
            for operation, target in operations.items():
                yield comparison.warm(
                    operation,
                    files,
                    sample,
                    targets=[target],
                    cpus=cpus,
                    title=f"{operation}, {words}",
                )
        tiny = segments(sample)
        for form in ("arrays", "lists"):
            yield comparison.warm(
                f"short texts, into {form}",
                files,
                tiny,
                targets=["segments"],
                cpus=one_core(),
                options={"repeats": 20},
                title=f"tiny segments, each a call, into {form}",
                figure="us",
            )


PROGRAM = Program("decoding", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
