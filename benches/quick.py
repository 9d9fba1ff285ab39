"""The main cases on little text, in some minutes: printed, never recorded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from benches import record, summary, texts
from benches.cases import ARRAYS, LISTS, Case
from benches.program import compared, files_of
from benches.rounds import Settings

__all__ = ["main"]

LIBRARIES = (
    "jeton",
    "gigatoken",
    "fastokens",
    "toktok",
    "splintr",
    "tokie",
    "sentencepiece",
)
"""Libraries that are best in some case; `make bench` has them all."""
WARM: tuple[tuple[str, str, str, str], ...] = (
    ("cl100k_base", "english", ARRAYS, "warm"),
    ("cl100k_base", "english", LISTS, "lists-gigatoken"),
    ("cl100k_base", "english", "batch", "batch-str"),
    ("cl100k_base", "code", ARRAYS, "warm"),
    ("cl100k_base", "medical", ARRAYS, "warm"),
    ("cl100k_base", "logs", ARRAYS, "warm"),
    ("o200k_base", "english", ARRAYS, "warm"),
    ("o200k_base", "code", ARRAYS, "warm"),
    ("llama3", "english", ARRAYS, "warm"),
    ("bert_base_uncased", "english", ARRAYS, "wordpiece-warm"),
    ("xlnet_base_cased", "english", ARRAYS, "unigram-warm"),
    ("llama2", "english", ARRAYS, "spbpe-warm"),
)
"""Vocabulary, kind of text, operation, bar."""
FRESH: tuple[tuple[str, str, str], ...] = (
    ("cl100k_base", "english", "first-cl100k-english"),
    ("o200k_base", "code", "first"),
)
LANGUAGE_CASES = ("Chinese", "Russian", "Hindi")


def _cases(settings: Settings) -> Iterator[Case]:
    """The cases, those of one vocabulary together."""
    for vocabulary, kind, operation, target in WARM:
        for files in files_of(vocabulary):
            sample = texts.sample(kind, max_bytes=settings.warm_bytes)
            yield Case(files, sample, [target], operation)
    for files in files_of("o200k_base"):
        for sample in texts.language_samples(LANGUAGE_CASES, max_bytes=settings.warm_bytes):
            yield Case(files, sample, ["language-warm"])
    for vocabulary, kind, target in FRESH:
        for files in files_of(vocabulary):
            sample = texts.sample(kind, max_bytes=settings.fresh_bytes)
            yield Case(files, sample, [target], fresh=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for every case; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", action="store_true", help="every library of every case too")
    options = parser.parse_args(arguments)
    cases = []
    for case in compared(_cases)(Settings.small(LIBRARIES)):
        cases.append(case)
        if options.tables:
            print(record.table(case), flush=True)
        else:
            print(summary.line(case), flush=True)
    if not cases:
        print("error: no vocabulary is here\nhint: set JETON_VOCAB_DIR", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
