"""A number of our own for each request of a log, to stand beside what the provider reported."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray


class RequestTokens:
    """Numbers (tokens, a digest) of the first requests that show their text, in their order.

    Memory: 8 bytes for each number, up to a limit of requests.

    Args:
        max_rows: Requests that are kept.
        width: Numbers of each request; 0: one number, in arrays of one dimension.
    """

    def __init__(self, *, max_rows: int, width: int = 0) -> None:
        self._max_rows = max_rows
        self._width = width
        self._parts: list[NDArray[np.int64]] = []
        self._n_rows = 0

    def add(self, n_tokens: NDArray[np.int64]) -> None:
        """Take the counts of one batch."""
        kept = n_tokens[: self._max_rows - self._n_rows]
        if len(kept):
            self._parts.append(kept)
            self._n_rows += len(kept)

    def merge(self, other: Self) -> RequestTokens:
        """The requests of two shards, those of this one first."""
        merged = RequestTokens(max_rows=self._max_rows, width=self._width)
        for part in (*self._parts, *other._parts):
            merged.add(part)
        return merged

    def by_row(self, has_text: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The counts of requests of which some show no text; -1 for those.

        Args:
            has_text: bool (n,), whether each of the log's first requests shows its text.
        """
        shape = (0, self._width) if self._width else (0,)
        counts = np.concatenate([np.empty(shape, dtype=np.int64), *self._parts])
        rows = np.full((len(has_text), *shape[1:]), -1, dtype=np.int64)
        places = np.flatnonzero(has_text)[: len(counts)]
        rows[places] = counts[: len(places)]
        return rows
