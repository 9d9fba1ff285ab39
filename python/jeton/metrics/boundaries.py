r"""Do tokens begin where morphemes begin? Precision and recall against a gold segmentation.

Words are cut as they stand inside a sentence. A boundary is a place inside the word, in code
points; precision is the share of token boundaries that are morpheme boundaries, recall the share
of morpheme boundaries that are token boundaries, over all words together (micro average).

Two conventions are in use, and both are given: all words count, or words that stay one token are
left out (the first MorphScore, of C. Arnett and B. Bergen, COLING 2025, does the latter, so that
a tokenizer is not blamed for a word it knows as a whole). Neither says much about a model: with
rich morphology they do not go along with downstream scores (arXiv:2507.06378, arXiv:2508.08424).

Gold segmentations are often canonical; how their morphemes are laid along the word is told in
``jeton.pretokenizing.morphemes``. A word where several layouts are equally good is left out, and
counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jeton._core import Tokenizer
from jeton.errors import EmptyCorpusError
from jeton.metrics.bootstrap import SEED, Interval, bootstrap_sums
from jeton.pretokenizing.morphemes import GoldWord, morpheme_boundaries, read_gold
from jeton.pretokenizing.segmenters import SegmentedTokenizer
from jeton.registry import TokenizerLike, resolve

__all__ = [
    "BoundaryReport",
    "BoundaryScore",
    "GoldWord",
    "boundary_scores",
    "morpheme_boundaries",
    "read_gold",
]

_CONTEXT = "a "
"""Text before a word: it only has to end a pretoken."""


@dataclass(frozen=True, slots=True)
class BoundaryScore:
    """Boundaries of tokens against boundaries of morphemes, under one convention.

    Attributes:
        convention: ``"all words"`` or ``"words of several tokens"``.
        n_words: Words that count.
        n_gold: Morpheme boundaries in them.
        n_token: Token boundaries in them.
        n_both: Places that are both.
        precision: ``n_both / n_token``; 0.0 without a token boundary.
        recall: ``n_both / n_gold``; 0.0 without a morpheme boundary.
        f1: Their harmonic mean.
        f1_interval: By word.
    """

    convention: str
    n_words: int
    n_gold: int
    n_token: int
    n_both: int
    precision: float
    recall: float
    f1: float
    f1_interval: Interval | None


@dataclass(frozen=True, slots=True)
class BoundaryReport:
    """Both conventions, and what was left out.

    Attributes:
        all_words: Every word counts.
        split_words: Words that stay one token are left out.
        n_one_token_words: Words that stay one token.
        n_left_out: Words whose morphemes cannot be laid along them in one way, that are too long,
            or that the tokenizer does not cut along their text.
    """

    all_words: BoundaryScore
    split_words: BoundaryScore
    n_one_token_words: int
    n_left_out: int


def boundary_scores(
    tokenizer: TokenizerLike | SegmentedTokenizer, gold: Iterable[GoldWord], *, seed: int = SEED
) -> BoundaryReport:
    """Cut every gold word and compare, with a tokenizer alone or with its segmenter.

    Args:
        tokenizer: The tokenizer, or its name or path; or one with its segmenter.
        gold: Words with their morphemes.
        seed: Seed of the intervals.

    Raises:
        EmptyCorpusError: No word is left to compare.
    """
    if not isinstance(tokenizer, SegmentedTokenizer):
        tokenizer = resolve(tokenizer)
    rows: list[tuple[int, int, int]] = []
    n_left_out = 0
    for item in gold:
        wanted = morpheme_boundaries(item.word, item.morphemes) if item.word.strip() else None
        found = None if wanted is None else _token_boundaries(tokenizer, item.word)
        if wanted is None or found is None:
            n_left_out += 1
            continue
        rows.append((len(set(wanted) & set(found)), len(found), len(wanted)))
    if not rows:
        raise EmptyCorpusError(
            f"no word is left to compare; {n_left_out} could not be laid out\n"
            "hint: the gold segmentation has a word, a tab and its morphemes on each line"
        )
    counts = np.array(rows, dtype=np.int64)
    is_split = counts[:, 1] > 0
    return BoundaryReport(
        all_words=_score("all words", counts, seed),
        split_words=_score("words of several tokens", counts[is_split], seed),
        n_one_token_words=int((~is_split).sum()),
        n_left_out=n_left_out,
    )


def _token_boundaries(
    tokenizer: Tokenizer | SegmentedTokenizer, word: str
) -> tuple[int, ...] | None:
    """Places inside the word at which a token begins; None where tokens do not cover it."""
    if isinstance(tokenizer, SegmentedTokenizer):
        return _segmented_boundaries(tokenizer, word)
    encoding = tokenizer.encode_with_offsets(_CONTEXT + word)
    first, end = len(_CONTEXT), len(_CONTEXT) + len(word)
    starts = {int(start) for start in encoding.starts if first < start < end}
    if not any(int(stop) == end for stop in encoding.ends):
        return None
    return tuple(sorted(start - first for start in starts))


def _segmented_boundaries(tokenizer: SegmentedTokenizer, word: str) -> tuple[int, ...] | None:
    text = _CONTEXT + word
    places = {0: 0}  # Bytes to characters; a token that begins inside a character has no place.
    for index, char in enumerate(text, start=1):
        places[max(places) + len(char.encode())] = index
    n_bytes = 0
    starts = set()
    for id in tokenizer.encode(text):
        starts.add(places.get(n_bytes, -1))
        n_bytes += len(tokenizer.tokenizer.id_to_bytes(id))
    if n_bytes != len(text.encode()):
        return None
    first = len(_CONTEXT)
    return tuple(sorted(start - first for start in starts if start > first))


def _score(
    convention: str, counts: np.ndarray[tuple[int, int], np.dtype[np.int64]], seed: int
) -> BoundaryScore:
    n_both, n_token, n_gold = (int(n) for n in counts.sum(axis=0))
    return BoundaryScore(
        convention=convention,
        n_words=len(counts),
        n_gold=n_gold,
        n_token=n_token,
        n_both=n_both,
        precision=n_both / n_token if n_token else 0.0,
        recall=n_both / n_gold if n_gold else 0.0,
        f1=2 * n_both / (n_token + n_gold) if n_token + n_gold else 0.0,
        f1_interval=bootstrap_sums(
            counts, lambda sums: 2 * sums[:, 0] / (sums[:, 1] + sums[:, 2]), seed=seed
        ),
    )
