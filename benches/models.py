"""Time WordPiece, Unigram and SentencePiece-BPE: warm and first pass."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from benches import texts
from benches.cases import Case
from benches.program import Program, compared, files_of, run
from benches.rounds import Settings

__all__ = ["PROGRAM", "main"]

MODELS = (
    ("bert_base_uncased", ("english", "medical"), ("wordpiece-warm",), ("wordpiece-first",)),
    ("xlnet_base_cased", ("english",), ("unigram-warm", "unigram-inexact"), ("unigram-first",)),
    ("nai-t5", ("english",), ("unigram-warm",), ("unigram-first",)),
    ("llama2", ("english", "code"), ("spbpe-warm",), ("spbpe-first",)),
)
"""Vocabulary, kinds of text, targets warm and first."""
CAVEATS = (
    "first passes are over 6 MB: the exact libraries take seconds for it, and more text would be "
    "kinder to caches",
    "models of SentencePiece are compared with sentencepiece itself; libraries that read the "
    "`tokenizer.json` of the same model follow tokenizers, whose normalization differs",
    "XLNet and T5 are English; Llama 2's model has every script",
)


def _cases(settings: Settings) -> Iterator[Case]:
    n_warm = settings.warm_bytes // 2
    for vocabulary, kinds, warm, first in MODELS:
        for files in files_of(vocabulary):
            for kind in kinds:
                yield Case(files, texts.sample(kind, max_bytes=n_warm), warm, group="kinds")
                sample = texts.sample(kind, max_bytes=settings.fresh_bytes // 2)
                yield Case(files, sample, first, fresh=True, group="kinds")
            if vocabulary == "llama2":
                for sample in texts.language_samples(["Chinese"], max_bytes=n_warm):
                    yield Case(files, sample, warm)


PROGRAM = Program("models", compared(_cases), CAVEATS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    return run(PROGRAM, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
