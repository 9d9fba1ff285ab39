r"""Do tokens begin where morphemes begin? Precision and recall against a gold segmentation.

Words are cut as they stand inside a sentence. A boundary is a place inside the word, in code
points; precision is the share of token boundaries that are morpheme boundaries, recall the share
of morpheme boundaries that are token boundaries, over all words together (micro average).

Two conventions are in use, and both are given: all words count, or words that stay one token are
left out (the first MorphScore, of C. Arnett and B. Bergen, COLING 2025, does the latter, so that
a tokenizer is not blamed for a word it knows as a whole). Neither says much about a model: with
rich morphology they do not go along with downstream scores (arXiv:2507.06378, arXiv:2508.08424).

Gold segmentations are often *canonical* (``argue @@s`` but also ``happy @@ness`` for
"happiness"), so morphemes are laid along the word by the smallest number of edits, and of
equally many those that leave the later morphemes whole (``driv|er`` of ``drive @@er``: what is lost
is lost from the stem). A word where that still leaves several places to cut is left out, and
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jeton._core import Tokenizer
from jeton.errors import EmptyCorpusError, UsageError
from jeton.metrics.bootstrap import SEED, Interval, bootstrap_sums

__all__ = [
    "BoundaryReport",
    "BoundaryScore",
    "GoldWord",
    "boundary_scores",
    "morpheme_boundaries",
    "read_gold",
]

MAX_WORD_CHARS = 200
"""Longer words are left out: laying out takes time that grows with the square of the length."""

_CONTEXT = "a "
"""What stands before a word: it only has to end a pretoken."""


@dataclass(frozen=True, slots=True)
class GoldWord:
    """A word and its morphemes, which need not join to the word."""

    word: str
    morphemes: tuple[str, ...]


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


def read_gold(lines: Iterable[str]) -> Iterator[GoldWord]:
    """Read gold segmentations, one word a line.

    Two formats are told apart line by line: SIGMORPHON 2022 (``word TAB seg @@seg [TAB ...]``)
    and MorphyNet's inflections (``lemma TAB word TAB features TAB seg|seg``; ``-`` for none).
    Empty lines are skipped.

    Raises:
        UsageError: A line has neither format.
    """
    for number, line in enumerate(lines, start=1):
        row = line.rstrip("\r\n")
        if not row.strip():
            continue
        fields = row.split("\t")
        if len(fields) == 4 and ("|" in fields[3] or fields[3] in ("-", fields[1])):
            morphemes = (fields[1],) if fields[3] == "-" else tuple(fields[3].split("|"))
            yield GoldWord(fields[1], tuple(part for part in morphemes if part))
        elif len(fields) in (2, 3) and fields[0] and fields[1]:
            morphemes = tuple(part.removeprefix("@@") for part in fields[1].split(" "))
            yield GoldWord(fields[0], tuple(part for part in morphemes if part))
        else:
            raise UsageError(
                f"line {number} of the gold segmentation is {row[:80]!r}; expected a word, a tab "
                "and its morphemes\n"
                "hint: word<TAB>un @@kind, or lemma<TAB>word<TAB>features<TAB>un|kind"
            )


def morpheme_boundaries(word: str, morphemes: Sequence[str]) -> tuple[int, ...] | None:
    """Where the morphemes begin in the word, in code points; the first, at 0, is left out.

    Returns:
        None where no layout is the one best: fewer letters than morphemes, or several layouts with
        equally few edits in the same morphemes.
    """
    parts = [part.casefold() for part in morphemes]
    folded = word.casefold()
    if len(parts) <= 1:
        return ()
    if len(folded) != len(word) or len(word) > MAX_WORD_CHARS or len(parts) > len(word):
        return None
    if "".join(parts) == folded:
        return tuple(int(edge) for edge in np.cumsum([len(part) for part in parts])[:-1])
    return _best_layout(folded, parts)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Morphemes laid along the beginning of a word.

    ``edits`` are those of each morpheme, the last first: what decides between equal sums.
    """

    edits: tuple[int, ...]
    cuts: tuple[int, ...]
    is_only: bool

    @property
    def rank(self) -> tuple[int, tuple[int, ...]]:
        return sum(self.edits), self.edits


def _best_layout(word: str, parts: list[str]) -> tuple[int, ...] | None:
    best: dict[int, _Layout] = {0: _Layout((), (), is_only=True)}
    for index, part in enumerate(parts):
        following: dict[int, _Layout] = {}
        for start, known in best.items():
            cuts = (*known.cuts, start) if index else ()
            # Every morpheme gets at least one letter.
            for length, distance in enumerate(_prefix_distances(part, word[start:]), start=1):
                found = _Layout((distance, *known.edits), cuts, known.is_only)
                other = following.get(start + length)
                if other is None or found.rank < other.rank:
                    following[start + length] = found
                elif found.rank == other.rank:
                    following[start + length] = replace(other, is_only=False)
        best = following
    last = best.get(len(word))
    return last.cuts if last is not None and last.is_only else None


def _prefix_distances(part: str, text: str) -> list[int]:
    """Edits between ``part`` and each non-empty beginning of ``text`` (Levenshtein)."""
    row = list(range(len(part) + 1))
    distances = []
    for number, char in enumerate(text, start=1):
        following = [number]
        for place, other in enumerate(part, start=1):
            following.append(
                min(row[place] + 1, following[-1] + 1, row[place - 1] + (char != other))
            )
        row = following
        distances.append(row[-1])
    return distances


def boundary_scores(
    tokenizer: Tokenizer, gold: Iterable[GoldWord], *, seed: int = SEED
) -> BoundaryReport:
    """Cut every gold word and compare.

    Raises:
        EmptyCorpusError: No word is left to compare.
    """
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


def _token_boundaries(tokenizer: Tokenizer, word: str) -> tuple[int, ...] | None:
    """Places inside the word at which a token begins; None where tokens do not cover it."""
    encoding = tokenizer.encode_with_offsets(_CONTEXT + word)
    first, end = len(_CONTEXT), len(_CONTEXT) + len(word)
    starts = {int(start) for start in encoding.starts if first < start < end}
    if not any(int(stop) == end for stop in encoding.ends):
        return None
    return tuple(sorted(start - first for start in starts))


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
