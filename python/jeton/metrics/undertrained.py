"""Tokens that a model has probably seldom or never seen, from the vocabulary and a corpus alone.

Three signs, none of which needs weights:

- unreachable: no text produces the id (`reachability`).
- absent among its equals: vocabularies are ordered by how early or how often a token was found
  (ranks, merges, scores), so neighbours of one script occur about equally often. An id that never
  occurs in a corpus where nearly all of its neighbours occur `MIN_NEIGHBOUR_COUNT` times and more
  owes its place to other text than that which the tokenizer meets, or is a piece that longer tokens
  always swallow (S. Land and M. Bartolo, arXiv:2405.05417, find such tokens by their embeddings).
- never seen or rare in the corpus: a fact about the corpus as much as about the token, so it is
  counted but not called a fault.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.errors import UsageError
from jeton.metrics.reachability import Category, Reachability, reachability
from jeton.registry import TokenizerLike, resolve
from jeton.registry.resolving import PerTokenizer

RARE_BELOW = 100
"""Occurrences below which a token is called rare: T. Gowda and J. May ("Finding the optimal
vocabulary size for neural machine translation", Findings of EMNLP 2020) want about a hundred
examples of a class."""

N_NEIGHBOURS = 50
"""On either side, among ids of the same kind."""

MIN_NEIGHBOUR_COUNT = 20
"""Were counts Poisson, 20 expected and none found would have a chance of 2e-9. Text is burstier."""

PRESENT_SHARE = 0.9
"""Share of the neighbours that must occur that often. Where a corpus lacks a whole subject, its
words are missing together, and none of them is at fault. At nine tenths, GPT-2's vocabulary on
5.6 million tokens of English has 8 such ids, all pieces that longer tokens swallow (`` includ``,
`` Americ``); BERT's on the same text (novels, speeches, news up to 2006) has 11, younger words
among them (``tv``); on text of many languages Llama 2's has 19. At a half the first two would be
600 and 665 (measured 2026-11-21). The value was chosen by comparing 0.5, 0.8, 0.9 and 0.95 on
these very corpora, without labelled truth: what it finds is a hint."""

_ASCII_LETTER = re.compile(rb"[A-Za-z]")


@dataclass(frozen=True, slots=True, eq=False)
class UndertrainedTokens:
    """Suspicious ids, and how well the corpus covers the vocabulary.

    Attributes:
        reachability: Which ids text can produce.
        absent_ids: int64, ascending: ids that never occur though their neighbours do.
        n_unreachable: Ids of whole characters that no text produces.
        n_absent: Ids absent among their equals (reachable ones).
        n_never_seen: Reachable ids that the corpus does not have.
        n_rare: Reachable ids that it has fewer than `RARE_BELOW` times, but has.
        n_tokens: Tokens of the corpus.
    """

    reachability: Reachability
    absent_ids: NDArray[np.int64]
    n_unreachable: int
    n_absent: int
    n_never_seen: int
    n_rare: int
    n_tokens: int

    @property
    def n_undertrained(self) -> int:
        """Ids with a sign of their own: unreachable, or absent among their equals."""
        return self.n_unreachable + self.n_absent


def undertrained_tokens(
    tokenizer: TokenizerLike,
    id_counts: NDArray[np.uint64],
    *,
    known: Reachability | None = None,
    num_threads: int | None = None,
) -> UndertrainedTokens:
    """Look for ids that a model cannot have learned.

    Args:
        tokenizer: The tokenizer, or its name or path.
        id_counts: uint64 (vocab_size,), how often each id occurs in a corpus; all zero: none.
        known: The reachability of the same tokenizer, where it was computed before.
        num_threads: Threads of the core; None: all.

    Raises:
        UsageError: ``id_counts`` does not have one count for each id.
    """
    tokenizer = resolve(tokenizer)
    if len(id_counts) != tokenizer.vocab_size:
        raise UsageError(
            f"{len(id_counts)} counts for a vocabulary of {tokenizer.vocab_size} ids; "
            "expected one each"
        )
    reach = known if known is not None else reachability(tokenizer, num_threads=num_threads)
    is_ok = reach.categories == Category.OK
    counts = id_counts.astype(np.int64)
    absent = _absent(tokenizer, counts, is_ok)
    return UndertrainedTokens(
        reachability=reach,
        absent_ids=absent,
        n_unreachable=reach.n_unreachable,
        n_absent=len(absent),
        n_never_seen=int((is_ok & (counts == 0)).sum()),
        n_rare=int((is_ok & (counts > 0) & (counts < RARE_BELOW)).sum()),
        n_tokens=int(counts.sum()),
    )


def _absent(
    tokenizer: Tokenizer, counts: NDArray[np.int64], is_ok: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Ids of count 0 whose neighbours of the same kind nearly all occur, and often."""
    # Nothing can be absent among neighbours that the corpus does not have either.
    if int(counts.max(initial=0)) < MIN_NEIGHBOUR_COUNT:
        return np.zeros(0, dtype=np.int64)
    ids = np.flatnonzero(is_ok)
    kinds = _kinds.get(tokenizer, lambda: _kind_numbers(tokenizer))[ids]
    order = np.argsort(kinds, kind="stable")
    bounds = np.flatnonzero(np.diff(kinds[order])) + 1
    found: list[NDArray[np.int64]] = []
    for members in np.split(ids[order], bounds):
        if len(members) <= N_NEIGHBOURS:
            continue
        # At the ends of a kind the window repeats the nearest ids that there are.
        is_present = np.pad(counts[members], N_NEIGHBOURS, mode="reflect") >= MIN_NEIGHBOUR_COUNT
        before = np.concatenate([[0], np.cumsum(is_present)])
        width = 2 * N_NEIGHBOURS + 1
        n_present = before[width:] - before[:-width]
        is_missing = (counts[members] == 0) & (n_present >= PRESENT_SHARE * width)
        found.append(members[is_missing])
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


_kinds = PerTokenizer[NDArray[np.int32]]()


def _kind_numbers(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """A number for the kind of each token, int32 (vocab_size,); -1 without a token."""
    numbers = np.full(tokenizer.vocab_size, -1, dtype=np.int32)
    names: dict[str, int] = {}
    for id_ in np.flatnonzero(tokenizer.is_token_mask()).tolist():
        numbers[id_] = names.setdefault(_kind(tokenizer.id_to_bytes(id_)), len(names))
    return numbers


def _kind(token_bytes: bytes) -> str:
    """Properties that tokens must share to be neighbours: script, word start, letters or not."""
    if token_bytes.isascii():
        begins = " " if token_bytes.startswith(b" ") else ""
        return begins + ("LATIN" if _ASCII_LETTER.search(token_bytes) else "OTHER")
    text = token_bytes.decode("utf-8", errors="ignore").replace("\N{LOWER ONE EIGHTH BLOCK}", " ")
    begins = " " if text.startswith(" ") else ""
    for char in text:
        if char.isascii():
            if char.isalpha():
                return begins + "LATIN"
        elif char.isalpha():
            return begins + _script(char)
    return begins + "OTHER"


@lru_cache(maxsize=65_536)
def _script(char: str) -> str:
    # The first word of a character's name is its script, for all scripts in wide use.
    return unicodedata.name(char, "UNKNOWN").split(" ", 1)[0]
