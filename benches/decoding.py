"""Time what is not plain encoding: decoding, counting, offsets, padding, threads, tiny segments."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts
from benches.cases import Case
from benches.program import Program, compared, files_of, run
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


def _cases(settings: Settings) -> Iterator[Case]:
    sample = texts.sample("english", max_bytes=settings.warm_bytes)
    tiny = segments(sample)
    for files in files_of("cl100k_base"):
        for operation, target in ON_ONE_CORE.items():
            yield Case(files, sample, [target], operation, title=f"{operation}, one core")
        for operation, target in ON_ALL_CORES.items():
            title = f"{operation}, all cores"
            yield Case(files, sample, [target], operation, all_cores=True, title=title)
        for form in ("arrays", "lists"):
            yield Case(
                files,
                tiny,
                ["segments"],
                f"short texts, into {form}",
                options={"repeats": 20},
                title=f"tiny segments, each a call, into {form}",
                figure="us",
            )


PROGRAM = Program("decoding", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
