"""Intervals of what the audited documents say about further documents like them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.groups import GroupSums
from jeton.auditing.pending import Interval

__all__ = ["CONFIDENCE", "SEED", "WorkloadIntervals"]

SEED = 0
"""The seed of every draw unless the caller gives another: the same audit gives the same report."""

CONFIDENCE = 0.95

N_RESAMPLES = 1_000
"""Enough for the ends of a 95% interval (Efron and Tibshirani 1993, chapter 13: 1,000 or more)."""

MIN_GROUPS = 10
"""With fewer groups of documents than this there is no interval: a bootstrap of less has nothing
to draw from, and its interval would be far too narrow."""

_METHOD = "percentile bootstrap of documents, in random groups"

_BLOCK = 100
"""Resamples drawn at a time: 3 MB of counts for all groups."""


class WorkloadIntervals:
    """The same resamples of the documents for all figures, so that tokenizers can be compared."""

    def __init__(self, groups: GroupSums, *, seed: int = SEED) -> None:
        self._seed = seed
        used = groups.documents > 0
        self._n_groups = int(used.sum())
        as_sent = groups.tokens + groups.overhead_tokens
        columns = np.vstack([groups.documents, groups.n_bytes, groups.tokens, as_sent])[:, used]
        self._n_tokenizers = len(groups.tokens)
        # Whole numbers below 2^53 in floats: exact, and multiplied by the fast routines.
        self._sums = _resampled(columns.astype(np.float64).T, seed)

    def tokens_per_document(self, tokenizer: int) -> Interval | None:
        """Of the mean number of tokens, a chat format's included; None with too few documents."""
        return self._ratio(self._sums[:, 2 + self._n_tokenizers + tokenizer], self._sums[:, 0])

    def bytes_per_token(self, tokenizer: int) -> Interval | None:
        """Of bytes per token of text; None with too few documents."""
        return self._ratio(self._sums[:, 1], self._sums[:, 2 + tokenizer])

    def _ratio(self, above: NDArray[np.float64], below: NDArray[np.float64]) -> Interval | None:
        if self._n_groups < MIN_GROUPS or not below.all():
            return None
        tail = (1 - CONFIDENCE) / 2
        low, high = np.quantile(above / below, [tail, 1 - tail])
        return Interval(float(low), float(high), CONFIDENCE, _METHOD, N_RESAMPLES, self._seed)


def _resampled(columns: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Sums of columns over groups that were drawn with replacement, float64 (n, n_columns)."""
    n_groups = len(columns)
    generator = np.random.Generator(np.random.PCG64(seed))
    blocks = []
    for _ in range(N_RESAMPLES // _BLOCK):
        drawn = generator.integers(n_groups, size=(_BLOCK, n_groups))
        drawn += np.arange(_BLOCK)[:, None] * n_groups
        times = np.bincount(drawn.ravel(), minlength=_BLOCK * n_groups)
        blocks.append(times.reshape(_BLOCK, n_groups).astype(np.float64) @ columns)
    return np.vstack(blocks)
