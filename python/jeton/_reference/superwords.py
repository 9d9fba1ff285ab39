"""Superword BPE: merges within words first, then across their ends.

Stage one learns merges from words. Stage two applies them to whole phrases and goes on there, so
that a token can be several words ("of the"). The result is one list of merges; an encoder knows
nothing of stages.

Cost: as ``learning``: every step reads the whole corpus.

Source: Liu et al., "SuperBPE: Space Travel for Language Models" (2025), arXiv:2503.13423.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from jeton._reference.bpe import alphabet
from jeton._reference.learning import LearnStep, SymbolCorpus, join_all, learn


def train(
    phrases: Mapping[bytes, int],
    *,
    words_of: Callable[[bytes], list[bytes]],
    n_word_merges: int,
    n_merges: int,
    max_words: int = 4,
    min_frequency: int = 1,
    n_shown: int = 1,
) -> Iterator[tuple[int, LearnStep[bytes]]]:
    """Learn merges; with each comes its stage, 1 or 2.

    Args:
        phrases: How often each phrase occurs.
        words_of: Cuts a phrase into words and keeps all of it.
        n_word_merges: Merges of stage one, at most.
        n_merges: Merges of both.
        max_words: Most words of a token: runs without white space.
        min_frequency: Pairs that occur less often are not merged.
        n_shown: Pairs of the ranking in each step.

    Example:
        >>> words_of = lambda phrase: [b"of", b" the"] if phrase == b"of the" else [phrase]
        >>> steps = train({b"of the": 5}, words_of=words_of, n_word_merges=4, n_merges=9)
        >>> [(stage, step.made) for stage, step in steps][-2:]
        [(1, b' the'), (2, b'of the')]
    """
    ids = {bytes([byte]): place for place, byte in enumerate(alphabet())}
    words: Counter[bytes] = Counter()
    for phrase, count in phrases.items():
        for word in words_of(phrase):
            words[word] += count
    corpus = SymbolCorpus.of(((bytes([byte]) for byte in word), n) for word, n in words.items())
    merges: list[LearnStep[bytes]] = []
    for step in learn(
        corpus,
        ids=ids,
        make=bytes.__add__,
        n_merges=min(n_word_merges, n_merges),
        min_count=min_frequency,
        n_shown=n_shown,
    ):
        merges.append(step)
        yield 1, step
    rows: list[tuple[list[bytes], int]] = []
    for phrase, count in phrases.items():
        row = [bytes([byte]) for byte in phrase]
        for step in merges:
            row = join_all(row, step.pair, step.made)
        rows.append((row, count))
    for step in learn(
        SymbolCorpus(rows),
        ids=ids,
        make=bytes.__add__,
        n_merges=n_merges - len(merges),
        min_count=min_frequency,
        allow=lambda made: len(made.split()) <= max_words,
        n_shown=n_shown,
    ):
        yield 2, step
