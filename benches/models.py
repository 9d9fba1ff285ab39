"""Time WordPiece, Unigram and SentencePiece-BPE: warm and first pass."""

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

MODELS = (
    ("bert_base_uncased", ("english", "medical"), ("wordpiece-warm",), ("wordpiece-first",)),
    ("xlnet_base_cased", ("english",), ("unigram-warm", "unigram-inexact"), ("unigram-first",)),
    ("nai-t5", ("english",), ("unigram-warm",), ("unigram-first",)),
    ("llama2", ("english", "code"), ("spbpe-warm",), ("spbpe-first",)),
)
"""Vocabulary, kinds of text, targets warm and first."""
OPERATION = "one by one, into arrays"
CAVEATS = (
    "models of SentencePiece are compared with sentencepiece itself; libraries that read the "
    "`tokenizer.json` of the same model follow tokenizers, whose normalization differs",
    "XLNet and T5 are English; Llama 2's model has every script",
)


def _measure(settings: Settings) -> Iterator[dict[str, Any]]:
    with Comparison(settings) as comparison:
        for vocabulary, kinds, warm, first in MODELS:
            files = files_of(vocabulary)
            if files is None:
                continue
            for kind in kinds:
                sample = texts.sample(kind, max_bytes=settings.warm_bytes // 2)
                yield comparison.warm(
                    OPERATION,
                    files,
                    sample,
                    targets=warm,
                    cpus=one_core(),
                    title=f"{OPERATION}, warm",
                )
                sample = texts.sample(kind, max_bytes=settings.fresh_bytes)
                yield comparison.fresh(
                    OPERATION,
                    files,
                    sample,
                    targets=first,
                    cpus=one_core(),
                    title=f"{OPERATION}, first pass",
                )
            if vocabulary == "llama2":
                chinese = texts.language_sample("Chinese", max_bytes=settings.warm_bytes // 2)
                if chinese is not None:
                    yield comparison.warm(
                        OPERATION,
                        files,
                        chinese,
                        targets=warm,
                        cpus=one_core(),
                        title=f"{OPERATION}, warm",
                    )


PROGRAM = Program("models", _measure, CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
