"""The interval of a change of the mean, with what is known of the same documents on both sides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

_CONFIDENCE_95 = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""

MIN_DOCUMENTS = 2
"""Documents from which a variance is known."""


class IntervalKind(StrEnum):
    """How much of both sides is the same documents."""

    PAIRED = "paired"
    PARTLY_PAIRED = "partly paired"
    UNPAIRED = "unpaired"


@dataclass(frozen=True, slots=True)
class ChangeInterval:
    """An interval of 95% for the difference of two means.

    Attributes:
        low: Its lower end, tokens.
        high: Its upper end.
        kind: True if documents were compared with themselves.
        n_matched: Documents that are on both sides.
    """

    low: float
    high: float
    kind: IntervalKind
    n_matched: int


def change_interval(
    before: Counter[int],
    after: Counter[int],
    pairs: Sequence[tuple[int, int]],
    *,
    is_complete: bool = True,
) -> ChangeInterval | None:
    """The interval of the mean's change, normal approximation; None below two documents.

    The variance of a difference of means is that of each mean less twice their covariance, which
    the pairs tell: with all documents paired it is that of the mean of the differences, and with
    none it is Welch's.

    Args:
        before: How many documents have how many tokens, in the baseline.
        after: Today.
        pairs: Tokens of the same document, in the baseline and today.
        is_complete: True if all documents were looked at for pairs; else they are a sample.
    """
    moments = [_moments(side) for side in (before, after)]
    if any(moment is None for moment in moments):
        return None
    (n_old, old, old_variance), (n_new, new, new_variance) = (m for m in moments if m is not None)
    n_matched = len(pairs)
    if not is_complete and pairs:
        n_matched = min(n_old, n_new)
    covariance = Fraction(0)
    if len(pairs) >= MIN_DOCUMENTS:
        covariance = _covariance(pairs)
    variance = (
        old_variance / n_old + new_variance / n_new - 2 * n_matched * covariance / (n_old * n_new)
    )
    half = _CONFIDENCE_95 * math.sqrt(max(0.0, float(variance)))
    change = float(new - old)
    kind = IntervalKind.UNPAIRED
    if len(pairs) >= MIN_DOCUMENTS:
        is_whole = n_matched == n_old == n_new
        kind = IntervalKind.PAIRED if is_whole else IntervalKind.PARTLY_PAIRED
    return ChangeInterval(change - half, change + half, kind, len(pairs))


def _moments(histogram: Counter[int]) -> tuple[int, Fraction, Fraction] | None:
    """Documents, their mean and variance; None below two documents."""
    n = histogram.total()
    if n < MIN_DOCUMENTS:
        return None
    total = sum(length * count for length, count in histogram.items())
    squares = sum(length * length * count for length, count in histogram.items())
    return n, Fraction(total, n), Fraction(squares * n - total * total, n * (n - 1))


def _covariance(pairs: Sequence[tuple[int, int]]) -> Fraction:
    n = len(pairs)
    old, new = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    return Fraction(sum(a * b for a, b in pairs) * n - old * new, n * (n - 1))
