"""Random split patterns beside tiktoken: the alternatives of published patterns, recombined.

A pattern that resembles a published one closely is the hardest test of an engine that recognises
published patterns and runs them in its own way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from jeton.errors import VocabularyError
from tests.differential import crossing
from tests.differential.harness import Pair, Refused
from tests.differential.references import tiktoken_checks

BATCH_CASES = 200
"""Texts for each pattern."""
_CONTRACTIONS = (
    "'s|'t|'re|'ve|'m|'ll|'d",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "'(?i:[sdmt]|ll|ve|re)",
    "'[a-z]",
    "(?i)'s|'re",
)
_LETTERS = (
    r" ?\p{L}+",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"[^\r\n\p{L}\p{N}]?+\p{L}++",
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
    r"[\p{Han}]+",
    r"[\p{Han}\p{Hiragana}\p{Katakana}]+",
    r"\p{Lu}\p{Ll}+",
    r"\w+",
    r" ?[A-Za-z]+",
    r"[^\s\p{N}]\p{L}{1,4}",
)
_DIGITS = (
    *(r"\p{N}", r"\p{N}{1,3}", r"\p{N}{1,3}+", r" ?\p{N}+", r"\d", r"\d{1,2}", r"[0-9]+"),
    *(r"\p{Nd}{2}", r" ?\d{1,3}(?=(?:\d{3})*\b)", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))"),
)
_PUNCTUATION = (
    r" ?[^\s\p{L}\p{N}]+",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"[\p{P}\p{S}]+",
    r"\p{P}",
    r"[!-/:-@\[-`{-~]+",
    r" ?[^\s\w]+",
)
_SPACES = (
    r"\s+(?!\S)|\s+",
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
    r"\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    r"\s*[\r\n]|\s+(?!\S)|\s",
    r"\s+$|\s*[\r\n]+|\s+",
    r"\s+",
    r"\s",
    r"[\r\n]+|[^\S\r\n]+",
    r" {1,4}|\s",
    r"\s+?(?=\S)|\s+",
)
_GROUPS = (_CONTRACTIONS, _LETTERS, _LETTERS, _DIGITS, _PUNCTUATION, _SPACES)


def random_pattern(rng: random.Random) -> str:
    """Alternatives, mostly in the usual order and mostly one of each kind."""
    chosen = [_pick(rng, group) for group in _GROUPS if rng.random() < 0.85]
    if rng.random() < 0.15:
        rng.shuffle(chosen)
    # Text that no alternative takes is left out by tiktoken: every character needs one.
    return "|".join([*chosen, _SPACES[0], r"[\s\S]"])


def _pick(rng: random.Random, group: Sequence[str]) -> str:
    return group[int(rng.random() * len(group))]


def pair(seed: int) -> Pair:
    """A random pattern over a vocabulary in which every border shows."""
    rng = random.Random(seed)
    pattern = random_pattern(rng)
    try:
        tokenizer = crossing.tokenizer(pattern)
    except VocabularyError as error:
        raise Refused(str(error).split("\n", 1)[0].replace(pattern, "PATTERN")) from error
    checks = tiktoken_checks(tokenizer, ranks=crossing.ranks(), pattern=pattern, special_tokens={})
    return Pair(tuple(checks[:1]), (tokenizer,), detail=pattern)
