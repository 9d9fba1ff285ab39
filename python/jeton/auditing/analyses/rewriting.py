"""Cost of a text without a waste: rewrite it, encode it again, and take the difference.

A rewrite returns the new text and a bound on the bytes that it touched. A token has at least one
byte, so rewriting ``b`` bytes saves at most ``b`` tokens, and some beside them that now join: where
four times ``b`` is below what a check asks for, nothing is encoded a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer

__all__ = ["Rewrite", "RewriteSaving", "chain", "measure_rewrite", "substitute"]

Rewrite = Callable[[str], tuple[str, int]]
"""From a text to the rewritten text and the number of its bytes that were touched (or more)."""

MAX_UTF8_BYTES = 4
"""Bytes of a character in UTF-8 at most (RFC 3629, 2003)."""

NEIGHBOURS = 4
"""Tokens that may go for each touched byte: it may have cut a word in two, whose parts were several
tokens."""

_N_EXAMPLES = 3
_MAX_EXAMPLE_CHARS = 80


@dataclass(frozen=True, slots=True, eq=False)
class RewriteSaving:
    """Saving of a rewrite on some documents.

    Attributes:
        n_documents: Documents that the rewrite changed.
        n_touched_bytes: Bytes of the passages it rewrote, or a bound on them.
        n_removed_bytes: Bytes of the documents less bytes of the rewritten documents.
        saved_tokens: int64 (n_documents_given,), tokens that go, by document; 0 where the document
            was not changed, negative where the rewrite costs tokens.
        examples: The beginnings of up to three changed passages, in the order of the documents.
    """

    n_documents: int
    n_touched_bytes: int
    n_removed_bytes: int
    saved_tokens: NDArray[np.int64]
    examples: tuple[str, ...]

    @property
    def n_saved_tokens(self) -> int:
        """Tokens that go on all documents together."""
        return int(self.saved_tokens.sum())


def measure_rewrite(
    texts: Sequence[str],
    n_tokens: Sequence[int],
    rewrite: Rewrite,
    tokenizer: Tokenizer,
    *,
    copies: Sequence[int] | None = None,
    min_share: float = 0.0,
    num_threads: int | None = None,
) -> RewriteSaving:
    """Rewrite every text and encode those that changed.

    Args:
        texts: The documents.
        n_tokens: Tokens of each under ``tokenizer``, counted before.
        rewrite: The function that rewrites a text.
        tokenizer: The tokenizer that counts.
        copies: How many documents each text stands for; None: one each.
        min_share: Share of all tokens that must be at stake; below it nothing is encoded, and the
            result has no saving.
        num_threads: Threads of the encoder; None: all.
    """
    saved = np.zeros(len(texts), dtype=np.int64)
    changed: list[int] = []
    rewritten: list[str] = []
    examples: list[str] = []
    weights = copies if copies is not None else [1] * len(texts)
    n_touched = n_removed = n_touched_of_all = 0
    for index, text in enumerate(texts):
        new, n_bytes = rewrite(text)
        if new == text:
            continue
        changed.append(index)
        rewritten.append(new)
        n_touched += n_bytes
        n_touched_of_all += n_bytes * weights[index]
        if len(examples) < _N_EXAMPLES:
            examples.append(_first_difference(text, new))
    n_of_all = sum(n * weight for n, weight in zip(n_tokens, weights, strict=True))
    if NEIGHBOURS * n_touched_of_all < min_share * n_of_all:
        return RewriteSaving(len(changed), n_touched, 0, saved, ())
    if changed:
        before = np.asarray([n_tokens[index] for index in changed], dtype=np.int64)
        batch = TextBatch.from_texts(rewritten)
        saved[changed] = before - tokenizer.count_batch(batch, num_threads=num_threads)
        n_removed = sum(len(texts[index].encode()) for index in changed) - batch.n_bytes
    return RewriteSaving(len(changed), n_touched, n_removed, saved, tuple(examples))


def _first_difference(before: str, after: str) -> str:
    """The text from the first place that changed, on one line and not long."""
    limit = min(len(before), len(after))
    low, high = 0, limit
    # Equal prefixes by halving: comparing slices is far faster than comparing characters.
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    start = max(0, low - 8)
    return " ".join(before[start : start + _MAX_EXAMPLE_CHARS].split())


def substitute(
    pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str | None], text: str
) -> tuple[str, int]:
    """Replace matches and count the bytes that they held at most; None keeps a match.

    A match of ASCII characters alone has as many bytes as characters; any other is taken for four
    bytes a character, which is a bound.
    """
    n_bytes = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal n_bytes
        found = match.group()
        new = replacement(match)
        if new is None or new == found:
            return found
        n_bytes += len(found) if found.isascii() else MAX_UTF8_BYTES * len(found)
        return new

    return pattern.sub(replace, text), n_bytes


def chain(*rewrites: Rewrite) -> Rewrite:
    """One rewrite after the other."""

    def apply(text: str) -> tuple[str, int]:
        total = 0
        for rewrite in rewrites:
            text, n_bytes = rewrite(text)
            total += n_bytes
        return text, total

    return apply
