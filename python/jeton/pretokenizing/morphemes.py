r"""Words and their morphemes: gold segmentations, lexicons, and what Morfessor learns.

Segmentations are often *canonical* (``argue @@s`` but also ``happy @@ness`` for "happiness"), so
morphemes are laid along the word by the smallest number of edits, and of equally many those that
leave the later morphemes whole (``driv|er`` of ``drive @@er``: what is lost is lost from the stem).
Where that still leaves several places to cut, there is no layout.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from jeton.errors import CorpusError, MissingExtraError, UsageError

MAX_WORD_CHARS = 200
"""Longer words are left out: laying out takes time that grows with the square of the length."""


MORFESSOR_EPOCHS: Final = 10
"""Rounds over all words; Morfessor stops earlier where the gain of one is small (its own rule,
0.005 of the cost for each word)."""

MORFESSOR_WORDS: Final = 50_000
"""Morfessor is written in Python: beyond that, minutes become hours."""


@dataclass(frozen=True, slots=True)
class GoldWord:
    """A word and its morphemes, which need not join to the word."""

    word: str
    morphemes: tuple[str, ...]


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


class MorphemeLexicon:
    """A segmenter that knows the morphemes of the words it was given, and of no others.

    A mark around the letters of a pretoken (a space before, a sign behind) belongs to the part
    beside it. A word is looked up as it is, then in lower case.
    """

    def __init__(self, cuts: Mapping[str, tuple[int, ...]], *, n_left_out: int = 0) -> None:
        """Keep cuts.

        Args:
            cuts: For each word: beginnings of its morphemes, in code points, the first left out.
            n_left_out: Words that were not laid out: told in ``repr``.
        """
        self.cuts = dict(cuts)
        self.n_left_out = n_left_out

    @classmethod
    def of_words(cls, words: Iterable[GoldWord]) -> MorphemeLexicon:
        """From words and their morphemes; of a word that comes twice, the first counts."""
        cuts: dict[str, tuple[int, ...]] = {}
        n_left_out = 0
        for item in words:
            found = morpheme_boundaries(item.word, item.morphemes)
            if found is None:
                n_left_out += 1
            else:
                cuts.setdefault(item.word, found)
        return cls(cuts, n_left_out=n_left_out)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> MorphemeLexicon:
        """From a file: ``word TAB un @@kind`` or ``lemma TAB word TAB features TAB un|kind``.

        Raises:
            CorpusError: The file holds no words, or is not UTF-8.
            UsageError: A line has neither format.
            OSError: The file cannot be read.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise CorpusError(f"{os.fspath(path)} is not UTF-8: {error}") from error
        found = cls.of_words(read_gold(text.split("\n")))
        if not found.cuts:
            raise CorpusError(f"{os.fspath(path)} holds no words with morphemes")
        return found

    def __call__(self, pretoken: str) -> list[str]:
        """The parts of a pretoken; the pretoken alone where its word is not known."""
        start, end = _letters(pretoken)
        word = pretoken[start:end]
        cuts = self.cuts.get(word)
        if cuts is None:
            folded = word.lower()
            cuts = self.cuts.get(folded, ()) if len(folded) == len(word) else ()
        edges = [0, *(start + cut for cut in cuts), len(pretoken)]
        return [pretoken[a:b] for a, b in pairwise(edges)]

    def __repr__(self) -> str:
        return f"MorphemeLexicon({len(self.cuts)} words, {self.n_left_out} left out)"


def _letters(pretoken: str) -> tuple[int, int]:
    """Where the word of a pretoken begins and ends: from its first letter to its last."""
    start, end = 0, len(pretoken)
    while start < end and not pretoken[start].isalpha():
        start += 1
    while end > start and not (pretoken[end - 1].isalpha() or _is_mark(pretoken[end - 1])):
        end -= 1
    return start, end


def _is_mark(char: str) -> bool:
    import unicodedata

    return unicodedata.category(char).startswith("M")


class MorfessorSegmenter:
    """A segmenter that a Morfessor model gives; words are cut in lower case."""

    def __init__(self, model: Any, *, lexicon: MorphemeLexicon | None = None) -> None:
        """Wrap a model.

        Args:
            model: A ``morfessor.BaselineModel`` that is trained.
            lexicon: Words whose morphemes are known; the others are the model's.
        """
        self.model = model
        self.lexicon = lexicon

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> MorfessorSegmenter:
        """From a file that Morfessor wrote: segmentations as text (``2 un + kind``).

        Binary models are Python pickles, which can do anything when they are read; so they are not
        read here. ``morfessor -L model.bin -S model.segm`` turns one into text.

        Raises:
            MissingExtraError: Morfessor is not installed.
            UsageError: The file is something else.
            OSError: The file cannot be read.
        """
        morfessor = _morfessor()
        rows = []
        with Path(path).open(encoding="utf-8", errors="strict") as lines:
            try:
                for line in lines:
                    row = line.strip()
                    if not row or row.startswith("#"):
                        continue
                    count, _, parts = row.partition(" ")
                    atoms = parts.split(" + ")
                    rows.append((int(count), "".join(atoms), tuple(atoms)))
            except (UnicodeDecodeError, ValueError) as error:
                raise UsageError(
                    f"{os.fspath(path)} is no segmentation file of Morfessor: {error}\n"
                    "hint: morfessor -L model.bin -S model.segm writes one"
                ) from error
            if not rows:
                raise UsageError(f"{os.fspath(path)} holds no words")
        model = morfessor.BaselineModel()
        model.load_segmentations(rows)
        return cls(model)

    def __call__(self, pretoken: str) -> list[str]:
        """The parts of a pretoken."""
        start, end = _letters(pretoken)
        word = pretoken[start:end]
        if not 1 < len(word) <= MAX_WORD_CHARS or not word.isalpha():
            return [pretoken]
        if self.lexicon is not None and (
            word in self.lexicon.cuts or word.lower() in self.lexicon.cuts
        ):
            return self.lexicon(pretoken)
        folded = word.lower()
        if len(folded) != len(word):
            return [pretoken]
        parts, _ = self.model.viterbi_segment(folded)
        edges = [0, *(start + int(n) for n in np.cumsum([len(part) for part in parts])[:-1])]
        edges.append(len(pretoken))
        return [pretoken[a:b] for a, b in pairwise(edges)]


def learn_morphemes(
    words: Mapping[str, int],
    *,
    lexicon: MorphemeLexicon | None = None,
    corpus_weight: float = 1.0,
    max_epochs: int = MORFESSOR_EPOCHS,
    max_words: int | None = MORFESSOR_WORDS,
    seed: int = 0,
) -> MorfessorSegmenter:
    """Learn morphemes from words with Morfessor Baseline (Creutz and Lagus 2002; Virpioja 2013).

    Each word counts once, however often it occurs, which is what finds morphemes; a lexicon makes
    the learning semi-supervised.

    Args:
        words: Words and how often they occur.
        lexicon: Words whose morphemes are known.
        corpus_weight: Less than 1 cuts more, more cuts less.
        max_epochs: Most rounds over all words.
        max_words: Learn from this many of the most frequent words; None: from all. The learned cuts
            hold for the others too.
        seed: Seed of the order in which words are looked at.

    Raises:
        MissingExtraError: Morfessor is not installed.
        UsageError: There are no words.
    """
    import random

    morfessor = _morfessor()
    usable = (word for word in words if 1 < len(word) <= MAX_WORD_CHARS and word.isalpha())
    kept = sorted(usable, key=lambda word: (-words[word], word))[:max_words]
    if not kept:
        raise UsageError("there are no words to learn morphemes from")
    model = morfessor.BaselineModel(corpusweight=corpus_weight)
    if lexicon is not None:
        known = {}
        for word, cuts in lexicon.cuts.items():
            edges = [0, *cuts, len(word)]
            known[word.lower()] = [tuple(word.lower()[a:b] for a, b in pairwise(edges))]
        model.set_annotations(known)
    model.load_data([(1, word) for word in kept])
    # Morfessor shuffles with the module's generator: what it was is put back.
    state = random.getstate()
    random.seed(seed)
    try:
        model.train_batch(max_epochs=max_epochs)
    finally:
        random.setstate(state)
    return MorfessorSegmenter(model, lexicon=lexicon)


def _morfessor() -> Any:
    try:
        import morfessor
        import morfessor.utils
    except ImportError as error:
        raise MissingExtraError("learning morphemes", extra="morphology") from error
    # It writes dots to standard error otherwise.
    morfessor.utils.show_progress_bar = False
    return morfessor
