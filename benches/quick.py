"""The main cases on little text, in some minutes: printed, never recorded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benches import record, summary, texts
from benches.comparing import Comparison
from benches.contenders import one_core
from benches.program import files_of
from benches.rounds import Settings

__all__ = ["main", "measure"]

LIBRARIES = (
    "jeton",
    "gigatoken",
    "fastokens",
    "toktok",
    "splintr",
    "tokie",
    "sentencepiece",
)
"""Those that are best in some case; `make bench` has them all."""
ARRAYS = "one by one, into arrays"
LISTS = "one by one, into lists"
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


def measure(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the cases, those of one vocabulary together."""
    with Comparison(settings) as comparison:
        for vocabulary, kind, operation, target in WARM:
            files = files_of(vocabulary)
            if files is None:
                continue
            sample = texts.sample(kind, max_bytes=settings.warm_bytes)
            yield comparison.warm(
                operation,
                files,
                sample,
                targets=[target],
                cpus=one_core(),
                title=f"{operation}, warm",
            )
        files = files_of("o200k_base")
        for language in LANGUAGE_CASES if files is not None else ():
            of_language = texts.language_sample(language, max_bytes=settings.warm_bytes)
            if of_language is not None and files is not None:
                yield comparison.warm(
                    ARRAYS,
                    files,
                    of_language,
                    targets=["language-warm"],
                    cpus=one_core(),
                    title=f"{ARRAYS}, warm",
                )
        for vocabulary, kind, target in FRESH:
            files = files_of(vocabulary)
            if files is not None:
                yield comparison.fresh(
                    ARRAYS,
                    files,
                    texts.sample(kind, max_bytes=settings.fresh_bytes),
                    targets=[target],
                    cpus=one_core(),
                    title=f"{ARRAYS}, first pass",
                )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for every case; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", action="store_true", help="every library of every case too")
    options = parser.parse_args(arguments)
    cases = []
    for case in measure(Settings.small(LIBRARIES)):
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
