"""Words of a text whose pieces cost most: frequent ones, cut into many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from jeton._core import TextBatch, Tokenizer
from jeton.metrics import TermPieces, cut_term

MAX_TERMS = 60
"""Terms listed, the worst first."""

MAX_CUTS = 300
"""Terms times tokenizers: with more than five tokenizers there are fewer terms, so that the table
stays a small part of the page."""

_MAX_DIFFERENT_WORDS = 30_000
"""Most words that are cut, by frequency; a rarer word costs little, however it is cut."""

_WORD = re.compile(r"[^\W\d_]{3,40}")
"""Letters alone: numbers and identifiers are not terms, and runs of more letters are no words."""


@dataclass(frozen=True, slots=True)
class TermCuts:
    """One word.

    Attributes:
        term: The word as it is written most often.
        n_occurrences: How often it occurs, in any case.
        cuts: By tokenizer, as it stands inside a sentence.
        n_extra: Tokens above one for each occurrence, of the tokenizer that has most.
    """

    term: str
    n_occurrences: int
    cuts: tuple[TermPieces, ...]
    n_extra: int


def worst_terms(
    texts: Iterable[tuple[str, int]], tokenizers: Sequence[Tokenizer]
) -> tuple[TermCuts, ...]:
    """The words that cost most tokens above one each, under any of the tokenizers.

    Args:
        texts: Documents, and how many copies of each there are.
        tokenizers: At least one.
    """
    written: Counter[str] = Counter()
    for text, n_copies in texts:
        for word, n in Counter(_WORD.findall(text)).items():
            written[word] += n * n_copies
    folded: Counter[str] = Counter()
    best: dict[str, str] = {}
    for word, n in sorted(written.items(), key=lambda item: (-item[1], item[0])):
        key = word.casefold()
        folded[key] += n
        best.setdefault(key, word)
    common = sorted(folded.items(), key=lambda item: (-item[1], item[0]))[:_MAX_DIFFERENT_WORDS]
    if not common:
        return ()
    batch = TextBatch.from_texts([f" {best[key]}" for key, _ in common])
    counts = np.array([n for _, n in common], dtype=np.int64)
    extra = np.zeros(len(common), dtype=np.int64)
    for tokenizer in tokenizers:
        pieces = tokenizer.count_batch(batch).astype(np.int64)
        extra = np.maximum(extra, (pieces - 1) * counts)
    # The counts above choose; what is shown is cut inside a sentence.
    n_terms = min(MAX_TERMS, max(1, MAX_CUTS // len(tokenizers)))
    rows = []
    for place in np.argsort(-extra, kind="stable")[: 2 * n_terms].tolist():
        key, n = common[place]
        cuts = tuple(cut_term(tokenizer, best[key]) for tokenizer in tokenizers)
        n_extra = n * (max(cut.n_tokens for cut in cuts) - 1)
        if n_extra > 0:
            rows.append(TermCuts(best[key], n, cuts, n_extra))
    rows.sort(key=lambda row: (-row.n_extra, row.term))
    return tuple(rows[:n_terms])
