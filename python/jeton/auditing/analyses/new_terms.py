"""Words that a vocabulary shatters and that would be worth a token of their own.

Words are chosen on one half of the documents and counted on the other, so that their worth is not
inflated by choosing what happened to be frequent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from jeton._core import TextBatch, Tokenizer

MIN_OCCURRENCES = 5
"""Occurrences in the half that chooses; a rarer word says little about the other half."""

_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
# A word lies in one of these as a whole, and they are found faster.
_RUN = re.compile(r"\w+(?:[-'\u2019]\w+)*")


@dataclass(frozen=True, slots=True)
class NewTerm:
    """A word, its pieces now, and how often it came in the half that did not choose it."""

    term: str
    n_tokens: int
    n_occurrences: int

    @property
    def n_extra_tokens(self) -> int:
        """Tokens beyond one for each occurrence."""
        return self.n_occurrences * (self.n_tokens - 1)


@dataclass(frozen=True, slots=True)
class NewTerms:
    """The words most worth adding.

    Attributes:
        terms: The dearest first, by the half that did not choose them.
        n_tokens: Tokens of that half under the tokenizer.
    """

    terms: tuple[NewTerm, ...]
    n_tokens: int

    @property
    def n_saved_tokens(self) -> int:
        """Tokens that would go if each were one token."""
        return sum(term.n_extra_tokens for term in self.terms)


def find_new_terms(
    texts: Sequence[str],
    n_tokens: Sequence[int],
    tokenizer: Tokenizer,
    *,
    max_terms: int,
    num_threads: int | None = None,
) -> NewTerms:
    """Choose up to ``max_terms`` words by occurrences x (tokens - 1) after a space.

    Equal documents are on the same side: the half is decided by the text.
    """
    runs: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    tokens = [0, 0]
    for text, n in zip(texts, n_tokens, strict=True):
        side = blake2b(text.encode(), digest_size=1).digest()[0] & 1
        runs[side].update(_RUN.findall(text))
        tokens[side] += n
    chosen, held_out = map(_words, runs)
    words = sorted(word for word, n in chosen.items() if n >= MIN_OCCURRENCES and len(word) > 1)
    batch = TextBatch.from_texts([f" {word}" for word in words])
    pieces = tokenizer.count_batch(batch, num_threads=num_threads).tolist()
    ranked = sorted(
        (entry for entry in zip(words, pieces, strict=True) if entry[1] > 1),
        key=lambda entry: (-chosen[entry[0]] * (entry[1] - 1), entry[0]),
    )
    found = [NewTerm(word, n, held_out[word]) for word, n in ranked[:max_terms]]
    found.sort(key=lambda term: (-term.n_extra_tokens, term.term))
    return NewTerms(tuple(found), tokens[1])


def _words(runs: Counter[str]) -> Counter[str]:
    """The words in runs of letters, digits and the signs between them, with how often each came."""
    words: Counter[str] = Counter()
    for run, n in runs.items():
        for word in (run,) if run.isalpha() else _WORD.findall(run):
            words[word] += n
    return words
