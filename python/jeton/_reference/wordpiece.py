"""WordPiece: the longest token that fits, again and again; and two ways to learn the tokens.

Encoding needs no ranks and no scores. From the beginning of a word the longest token is taken that
the vocabulary has, then the longest that fits behind it, marked as a continuation. Where nothing
fits, the whole word is unknown: one strange character costs all of it.

Cost: O(n^2) tries in the characters of a word.

Sources: Schuster and Nakajima, "Japanese and Korean voice search" (ICASSP 2012) for training;
Devlin et al., "BERT" (2019) and its released code for encoding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from jeton._reference.characters import first_ids, joined, spelled_words
from jeton._reference.learning import LearnStep, SymbolCorpus, by_count, by_likelihood, learn


@dataclass(frozen=True, slots=True)
class Match:
    """The search for one token.

    Attributes:
        start: Where in the word it begins, characters.
        tried: The candidates, longest first; the last is the token, unless ``found`` is false.
        found: False: nothing fits here, and the word is unknown.
    """

    start: int
    tried: tuple[str, ...]
    found: bool


def matches(
    word: str, *, vocabulary: Collection[str], prefix: str = "##", max_chars: int = 100
) -> Iterator[Match]:
    """The search for each token of a word; it ends where nothing fits.

    Example:
        >>> for match in matches("lowest", vocabulary={"low", "##e", "##est", "l"}):
        ...     print(match.tried)
        ('lowest', 'lowes', 'lowe', 'low')
        ('##est',)
    """
    start = 0
    if len(word) > max_chars:
        yield Match(0, (), found=False)
        return
    while start < len(word):
        mark = prefix if start else ""
        tried: list[str] = []
        end = len(word)
        while end > start:
            tried.append(mark + word[start:end])
            if tried[-1] in vocabulary:
                break
            end -= 1
        yield Match(start, tuple(tried), found=end > start)
        if end == start:
            return
        start = end


def encode(
    word: str,
    *,
    vocabulary: Collection[str],
    prefix: str = "##",
    max_chars: int = 100,
    unknown: str = "[UNK]",
) -> list[str]:
    """Split a word into tokens, or into the unknown token.

    Example:
        >>> encode("lowest", vocabulary={"low", "##e", "##est"})
        ['low', '##est']
        >>> encode("lower", vocabulary={"low", "##e", "##est"})
        ['[UNK]']
    """
    found = list(matches(word, vocabulary=vocabulary, prefix=prefix, max_chars=max_chars))
    if not all(match.found for match in found):
        return [unknown]
    return [match.tried[-1] for match in found]


def train(
    words: Mapping[str, int],
    *,
    vocab_size: int,
    special_tokens: Sequence[str] = (),
    prefix: str = "##",
    likelihood: bool = False,
    min_frequency: int = 1,
    n_shown: int = 1,
) -> tuple[dict[str, int], Iterator[LearnStep[str]]]:
    """Learn a vocabulary: the ids before the first merge, and the merges as they are learned.

    Args:
        words: How often each word occurs.
        vocab_size: Tokens wanted, special tokens and characters included.
        special_tokens: Take the ids 0, 1 ...
        prefix: Mark of continuations.
        likelihood: The rule of Schuster and Nakajima; else the most frequent pair, as
            ``tokenizers`` trains it.
        min_frequency: Pairs that occur less often are not merged.
        n_shown: Pairs of the ranking in each step.

    Example:
        By frequency "lo" comes first. By likelihood "z" and "q" do, which stand together only:

        >>> words = {"low": 5, "lot": 3, "lz": 2, "zq": 2}
        >>> ids, steps = train(words, vocab_size=12)
        >>> next(steps).made
        'lo'
        >>> ids, steps = train(words, vocab_size=12, likelihood=True)
        >>> next(steps).made
        'zq'
    """
    alphabet = {character for word in words for character in word}
    spelled = spelled_words(words, known=alphabet, prefix=prefix)
    ids = first_ids(words, alphabet=alphabet, special_tokens=special_tokens, prefix=prefix)
    steps = learn(
        SymbolCorpus.of(spelled),
        ids=ids,
        make=partial(joined, prefix=prefix),
        n_merges=max(0, vocab_size - len(ids)),
        min_count=min_frequency,
        score=by_likelihood if likelihood else by_count,
        n_shown=n_shown,
    )
    return ids, steps
