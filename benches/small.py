"""Time strings of 100 bytes, one call each: seen before and never seen, into arrays and lists."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benches import texts
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

N_WARM = 64
WARM_REPEATS = 500
"""64 x 500 calls of about 1 us: tens of milliseconds a round."""
N_NEW = 20_000
"""Two megabytes of English, each string other text."""
SIZE = 100
CAVEATS = (
    'microseconds a call, results dropped at once; "seen": 64 strings in turn; "never seen": '
    "20,000 strings of running text, each once, after 2 MB of other English in the same process",
)


def _strings(document: str) -> list[str]:
    """ASCII strings of 100 bytes, cut where words begin, as far as that goes."""
    strings = []
    start = 0
    while start + SIZE <= len(document):
        part = document[start : start + SIZE]
        if part.isascii():
            strings.append(part)
        start = document.find(" ", start + SIZE)
        if start < 0:
            break
    return strings


def _cases(settings: Settings) -> Iterator[Case]:
    documents = texts.sample("english", max_bytes=6_000_000).documents
    strings = list(dict.fromkeys(s for document in documents for s in _strings(document)))
    n_new = 2_000 if settings.quick else N_NEW
    seen = texts.Sample.of("100 bytes, seen", strings[:N_WARM])
    unseen = texts.Sample.of("100 bytes, never seen", strings[N_WARM : N_WARM + n_new])
    before = texts.Sample.of("100 bytes, before", strings[N_WARM + n_new :][:n_new])
    repeats = WARM_REPEATS // (10 if settings.quick else 1)
    for files in files_of("cl100k_base", "o200k_base"):
        for form, target in (("arrays", "small-array"), ("lists", "small-list")):
            warm = Case(
                files,
                seen,
                [target],
                f"short texts, into {form}",
                options={"repeats": repeats},
                title=f"100-byte strings, seen, into {form}",
                figure="us",
                group="small",
            )
            yield warm
            title = f"100-byte strings, never seen, into {form}"
            yield replace(warm, sample=unseen, before=before, fresh=True, options={}, title=title)


PROGRAM = Program("small", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
