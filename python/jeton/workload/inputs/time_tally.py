"""Requests by hour, model and domain, counted while a log is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton.corpus import RequestColumns

SUMS = ("n_requests", "input_tokens", "output_tokens", "n_bytes", "n_tokens_of_bytes", "n_stated")
"""Sums: requests, tokens as reported, bytes of the text of requests whose tokens are known, those
tokens, and requests that state their input."""

_HOUR_S = 3_600
_MAX_CELLS = 2_000_000
"""Cells at most: a log with more domains is counted without them."""

_Key = tuple[int, str, str]


class TimeTally:
    """Sums by (hour since 1970-01-01 UTC, model, domain); mergeable."""

    def __init__(self) -> None:
        self.cells: dict[_Key, NDArray[np.int64]] = {}

    def add(
        self,
        columns: RequestColumns,
        n_bytes: NDArray[np.int64],
        *,
        models: Sequence[str],
        domains: Sequence[str],
        tokens: NDArray[np.int64] | None = None,
        sign: int = 1,
    ) -> None:
        """Count requests that have a time.

        Args:
            columns: The requests.
            n_bytes: int64 (n,), bytes of what each sent.
            models: Names that ``columns.model`` indexes.
            domains: Names that ``columns.domain`` indexes.
            tokens: int64 (n,), input tokens; by default as reported.
            sign: -1 takes them out again.
        """
        sent = columns.input_tokens if tokens is None else tokens
        timed = np.isfinite(columns.time_s) & (np.abs(columns.time_s) < 1e11)
        if not timed.any():
            return
        known = sent >= 0
        has_both = known & columns.has_text & (n_bytes > 0)
        matrix = np.stack(
            [
                columns.n_requests,
                np.where(known, sent, 0),
                np.maximum(columns.output_tokens, 0),
                np.where(has_both, n_bytes, 0),
                np.where(has_both, sent, 0),
                np.where(known, columns.n_requests, 0),
            ],
            axis=1,
        )[timed]
        hours = np.floor(columns.time_s[timed] / _HOUR_S).astype(np.int64)
        model, domain = columns.model[timed], columns.domain[timed]
        order = np.lexsort((domain, model, hours))
        rows = np.stack([hours, model.astype(np.int64), domain.astype(np.int64)], axis=1)[order]
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        starts = np.flatnonzero(is_first)
        sums = np.add.reduceat(matrix[order], starts, axis=0) * sign
        for (hour, number, place), own in zip(rows[starts].tolist(), sums, strict=True):
            name = models[number] if number >= 0 else ""
            where = domains[place] if place >= 0 and len(self.cells) < _MAX_CELLS else ""
            self._add((hour, name, where), own)

    def _add(self, key: _Key, sums: NDArray[np.int64]) -> None:
        known = self.cells.get(key)
        self.cells[key] = sums.copy() if known is None else known + sums

    def merge(self, other: Self) -> TimeTally:
        """The requests of both."""
        merged = TimeTally()
        for part in (self, other):
            for key, sums in part.cells.items():
                merged._add(key, sums)
        return merged
