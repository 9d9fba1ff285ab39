"""Which part of a vocabulary a text uses, and what kind of tokens it uses.

Computed from how often each id was produced and from the bytes of the ids. Shares are of the tokens
produced, so that a rare kind of token weighs little.

The Gini coefficient: how unequally something is spread.

0 where all have the same, towards 1 where one has everything: half the mean absolute difference
between any two, over the mean (C. Gini, "Variabilità e mutabilità", 1912). Over the tokens that
the same content costs in each language it measures fairness; over how often each id is used, how
much of a vocabulary does the work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve


def gini(values: ArrayLike) -> float:
    """The Gini coefficient of values of 0 or more; 0.0 of none, or of zeros alone.

    Raises:
        UsageError: A value is negative or not a number.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not len(ordered):
        return 0.0
    if not ordered[0] >= 0 or not np.isfinite(ordered[-1]):
        raise UsageError("a Gini coefficient is of finite values of 0 or more")
    total = ordered.sum()
    if total == 0:
        return 0.0
    # The sum over all pairs by rank: each value stands above rank - 1 others and below the rest.
    ranks = np.arange(1, len(ordered) + 1, dtype=np.float64)
    n = len(ordered)
    return max(0.0, float((2 * ranks - n - 1) @ ordered / (n * total)))


@dataclass(frozen=True, slots=True)
class VocabularyUse:
    """Use of a vocabulary by a text.

    Attributes:
        n_used: Ids that were produced at least once.
        n_used_once: Ids that were produced exactly once.
        used_share: ``n_used`` of the ids that have a token (special tokens included), 0 to 1.
        unseen_mass: Good-Turing estimate, ``n_used_once / n_tokens``: the share of the tokens of
            further text of the same kind that will be ids not seen so far (I. J. Good, "The
            population frequencies of species", Biometrika 40, 1953).
        single_byte_share: Tokens of one byte (an ASCII letter or sign, or a part of a character).
        partial_character_share: Tokens whose bytes are not valid UTF-8 by themselves: they hold
            a part of a character.
        whitespace_share: Tokens of white space alone.
    """

    n_used: int
    n_used_once: int
    used_share: float
    unseen_mass: float
    single_byte_share: float
    partial_character_share: float
    whitespace_share: float


def vocabulary_use(tokenizer: TokenizerLike, id_counts: NDArray[np.uint64]) -> VocabularyUse:
    """Classify the produced tokens.

    Args:
        tokenizer: The tokenizer that produced them.
        id_counts: uint64 (vocab_size,), how often each id was produced.
    """
    tokenizer = resolve(tokenizer)
    used_ids = np.flatnonzero(id_counts)
    counts = id_counts[used_ids].astype(np.int64)
    n_tokens = int(counts.sum())
    n_single = int(counts[tokenizer.token_lengths()[used_ids] == 1].sum())
    n_partial = n_whitespace = 0
    for id_, count in zip(used_ids.tolist(), counts.tolist(), strict=True):
        try:
            text = tokenizer.id_to_bytes(id_).decode()
        except UnicodeDecodeError:
            n_partial += count
            continue
        if text.isspace():
            n_whitespace += count
    n_used_once = int(np.count_nonzero(id_counts == 1))
    divisor = max(n_tokens, 1)
    return VocabularyUse(
        n_used=len(used_ids),
        n_used_once=n_used_once,
        used_share=len(used_ids) / max(tokenizer.n_tokens, 1),
        unseen_mass=n_used_once / divisor,
        single_byte_share=n_single / divisor,
        partial_character_share=n_partial / divisor,
        whitespace_share=n_whitespace / divisor,
    )
