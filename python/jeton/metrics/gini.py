"""The Gini coefficient: how unequally something is spread.

0 where all have the same, towards 1 where one has everything: half the mean absolute difference
between any two, over the mean (C. Gini, "Variabilità e mutabilità", 1912). Over the tokens that
the same content costs in each language it measures fairness; over how often each id is used, how
much of a vocabulary does the work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jeton.errors import UsageError


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
