"""Learning merges, by its definition: count every pair, join the best one everywhere, count again.

All trainers that merge are this loop. They differ in what a symbol is (a byte, a character, a
character with the mark ``##``), in which pair is the best, and in which pairs are refused.

``score`` decides. ``by_count`` is the rule of BPE: the pair that occurs most often.
``by_likelihood`` is the rule of WordPiece (Schuster and Nakajima 2012): the pair whose count is
greatest beside the product of the counts of its parts, which raises the likelihood of the text
most.

Cost: every step reads the whole corpus.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeAlias, TypeVar

S = TypeVar("S", bound=Hashable)
Score = Callable[[int, int, int], float]
"""Score of a pair, from its count and the counts of its left and right part."""
Ties: TypeAlias = Callable[[Mapping[S, int]], Callable[[tuple[S, S]], Any]]
"""Takes the ids; gives the order of pairs that are worth the same."""


@dataclass(frozen=True, slots=True)
class SymbolCorpus(Generic[S]):
    """Words as lists of symbols, each with how often it occurs."""

    words: list[tuple[list[S], int]]

    @classmethod
    def of(cls, words: Iterable[tuple[Iterable[S], int]]) -> SymbolCorpus[S]:
        """Words from symbols and counts."""
        return cls([(list(symbols), count) for symbols, count in words])

    def pairs(self) -> Counter[tuple[S, S]]:
        """Every pair of neighbours with its count; ``aaa`` has the pair ``aa`` twice."""
        found: Counter[tuple[S, S]] = Counter()
        for symbols, count in self.words:
            for pair in pairwise(symbols):
                found[pair] += count
        return found

    def symbols(self) -> Counter[S]:
        """Every symbol with its count."""
        found: Counter[S] = Counter()
        for symbols, count in self.words:
            for symbol in symbols:
                found[symbol] += count
        return found

    @property
    def n_symbols(self) -> int:
        """Symbols of the whole text."""
        return sum(len(symbols) * count for symbols, count in self.words)

    def join(self, pair: tuple[S, S], made: S) -> int:
        """Join every occurrence of a pair; return how many symbols fewer there are."""
        before = self.n_symbols
        for place, (word, count) in enumerate(self.words):
            self.words[place] = (join_all(word, pair, made), count)
        return before - self.n_symbols


@dataclass(frozen=True, slots=True)
class LearnStep(Generic[S]):
    """One merge that was learned.

    Attributes:
        pair: The two symbols.
        made: The new symbol.
        score: Worth of the pair: its count, or its likelihood.
        count: How often it occurred.
        n_saved: Symbols that the text has fewer after it. Below ``count`` where windows overlap.
        ranking: The best pairs before it, with score and count; the first was taken.
        n_pairs: Pairs that were compared.
    """

    pair: tuple[S, S]
    made: S
    score: float
    count: int
    n_saved: int
    ranking: tuple[tuple[tuple[S, S], float, int], ...]
    n_pairs: int


def by_count(pair: int, _left: int, _right: int) -> float:
    """The rule of BPE: the most frequent pair is the best."""
    return pair


def by_likelihood(pair: int, left: int, right: int) -> float:
    """The rule of WordPiece: the pair that raises the likelihood of the text most.

    Example:
        A pair that never stands apart beats one that is frequent because its parts are:

        >>> by_likelihood(2, 2, 2) > by_likelihood(50, 100, 200)
        True
    """
    return pair / (float(left) * float(right))


def lowest_ids(ids: Mapping[S, int]) -> Callable[[tuple[S, S]], Any]:
    """The tie rule of Hugging Face: lower left id, then lower right id."""
    return lambda pair: (ids[pair[0]], ids[pair[1]])


def fewest_characters(ids: Mapping[S, int]) -> Callable[[tuple[Any, Any]], Any]:
    """The tie rule of SentencePiece: the shorter token, then the one whose bytes come first."""

    def key(pair: tuple[Any, Any]) -> Any:
        token = pair[0] + pair[1]
        return (len(token), token.encode(), ids[pair[0]], ids[pair[1]])

    return key


def learn(
    corpus: SymbolCorpus[S],
    *,
    ids: MutableMapping[S, int],
    make: Callable[[S, S], S],
    n_merges: int,
    min_count: int = 1,
    score: Score = by_count,
    ties: Ties[S] = lowest_ids,
    allow: Callable[[S], bool] = lambda _made: True,
    n_shown: int = 1,
) -> Iterator[LearnStep[S]]:
    """Learn merges: the best pair of neighbours, again and again.

    Args:
        corpus: The words; they are rewritten as merges are learned.
        ids: The id of every symbol; new symbols are added.
        make: The symbol that two make.
        n_merges: Stop after this many merges ...
        min_count: ... or when no pair occurs this often.
        score: Worth of a pair.
        ties: The order of pairs that are worth the same; a more frequent pair goes first.
        allow: False: this symbol must not be made.
        n_shown: Pairs of the ranking in each step.

    Example:
        >>> words = SymbolCorpus.of([("low", 5), ("lower", 2), ("newest", 6)])
        >>> ids = {letter: place for place, letter in enumerate("elnorstw")}
        >>> [step.made for step in learn(words, ids=ids, make=str.__add__, n_merges=3)]
        ['we', 'lo', 'ewe']
    """
    for _ in range(n_merges):
        found = rank(
            corpus,
            ids=ids,
            make=make,
            min_count=min_count,
            score=score,
            ties=ties,
            allow=allow,
            n_shown=n_shown,
        )
        if not found.ranking:
            return
        best, worth, count = found.ranking[0]
        made = make(*best)
        ids[made] = len(ids)
        yield LearnStep(
            pair=best,
            made=made,
            score=worth,
            count=count,
            n_saved=corpus.join(best, made),
            ranking=found.ranking,
            n_pairs=found.n_pairs,
        )


@dataclass(frozen=True, slots=True)
class Ranking(Generic[S]):
    """The best pairs of a text.

    Attributes:
        ranking: The best first, each with score and count.
        n_pairs: Pairs that were compared.
    """

    ranking: tuple[tuple[tuple[S, S], float, int], ...]
    n_pairs: int


def rank(
    corpus: SymbolCorpus[S],
    *,
    ids: Mapping[S, int],
    make: Callable[[S, S], S],
    min_count: int = 1,
    score: Score = by_count,
    ties: Ties[S] = lowest_ids,
    allow: Callable[[S], bool] = lambda _made: True,
    n_shown: int = 1,
) -> Ranking[S]:
    """Rank the pairs that may be merged; the arguments are those of ``learn``.

    Example:
        >>> words = SymbolCorpus.of([("low", 5), ("lower", 2)])
        >>> ids = {letter: place for place, letter in enumerate("elorw")}
        >>> rank(words, ids=ids, make=str.__add__).ranking
        ((('l', 'o'), 7, 7),)
    """
    pairs, symbols, order = corpus.pairs(), corpus.symbols(), ties(ids)
    worth = {
        pair: score(count, symbols[pair[0]], symbols[pair[1]])
        for pair, count in pairs.items()
        if count >= max(min_count, 1)
    }
    open_pairs = [pair for pair in worth if (made := make(*pair)) not in ids and allow(made)]
    best = heapq.nsmallest(
        n_shown, open_pairs, key=lambda pair: (-worth[pair], -pairs[pair], order(pair))
    )
    ranking = tuple((pair, worth[pair], pairs[pair]) for pair in best)
    return Ranking(ranking, len(open_pairs))


def join_all(symbols: list[S], pair: tuple[S, S], made: S) -> list[S]:
    """Join every occurrence of a pair, from left to right; occurrences do not overlap.

    Example:
        >>> join_all(["a", "a", "a", "b"], ("a", "a"), "aa")
        ['aa', 'a', 'b']
    """
    joined: list[S] = []
    place = 0
    while place < len(symbols):
        if tuple(symbols[place : place + 2]) == pair:
            joined.append(made)
            place += 2
        else:
            joined.append(symbols[place])
            place += 1
    return joined
