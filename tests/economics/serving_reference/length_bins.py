"""Bins of lengths: exact up to 16 tokens, then sixteenths of octaves, at most 4.4% wide.

Lengths up to 100 million tokens fall in 378 bins, so a history has bounded memory however long it
grows, and a quantile costs one pass over the bins that occur.
"""

from __future__ import annotations

import math

__all__ = ["BINS_PER_OCTAVE", "bin_of", "longest_of", "shortest_of"]

BINS_PER_OCTAVE = 16

_EXACT = 4096
"""Lengths whose bins are looked up in a table: most outputs."""


def _place(tokens: int) -> int:
    """The bin of a length by its logarithm."""
    if tokens <= BINS_PER_OCTAVE:
        return tokens
    place = math.ceil(math.log2(tokens / BINS_PER_OCTAVE) * BINS_PER_OCTAVE - 1e-9)
    return BINS_PER_OCTAVE + place


_TABLE = tuple(_place(tokens) for tokens in range(_EXACT))


def bin_of(tokens: int) -> int:
    """Return the bin of a length.

    Example:
        >>> bin_of(16), bin_of(17), bin_of(32)
        (16, 18, 32)
    """
    return _TABLE[tokens] if 0 <= tokens < _EXACT else _place(tokens)


def longest_of(place: int) -> int:
    """Return the longest length of a bin.

    Example:
        >>> longest_of(16), longest_of(32), longest_of(bin_of(1000))
        (16, 32, 1024)
    """
    if place <= BINS_PER_OCTAVE:
        return place
    exact: float = BINS_PER_OCTAVE * 2 ** ((place - BINS_PER_OCTAVE) / BINS_PER_OCTAVE)
    return math.floor(exact + 1e-9)


def shortest_of(place: int) -> int:
    """Return the shortest length of a bin.

    Example:
        >>> shortest_of(16), shortest_of(bin_of(1000))
        (16, 981)
    """
    return place if place <= BINS_PER_OCTAVE else longest_of(place - 1) + 1
