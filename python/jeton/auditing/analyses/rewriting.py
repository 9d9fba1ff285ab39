"""Cost of a text without a waste: rewrite it, encode it again, and take the difference.

A rewrite returns the new text and a bound on the bytes that it touched. A token has at least one
byte, so rewriting ``b`` bytes saves at most ``b`` tokens, and some beside them that now join: where
four times ``b`` is below what a check asks for, nothing is encoded a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rewrite = Callable[[str], tuple[str, int]]
"""From a text to the rewritten text and the number of its bytes that were touched (or more)."""

MAX_UTF8_BYTES = 4
"""Bytes of a character in UTF-8 at most (RFC 3629, 2003)."""

NEIGHBOURS = 4
"""Tokens that may go for each touched byte: it may have cut a word in two, whose parts were several
tokens."""

N_EXAMPLES = 3
"""Examples that a finding shows."""

_MAX_EXAMPLE_CHARS = 80


@dataclass(frozen=True, slots=True, eq=False)
class RewriteSaving:
    """Saving of a rewrite on some documents.

    Attributes:
        n_documents: Documents that the rewrite changed.
        saved_tokens: int64 (n_documents_given,), tokens that go, by document; 0 where the document
            was not changed, negative where the rewrite costs tokens.
        examples: The beginnings of up to three changed passages, in the order of the documents.
    """

    n_documents: int
    saved_tokens: NDArray[np.int64]
    examples: tuple[str, ...]

    @property
    def n_saved_tokens(self) -> int:
        """Tokens that go on all documents together."""
        return int(self.saved_tokens.sum())


def first_difference(before: str, after: str) -> str:
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
