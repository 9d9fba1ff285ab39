"""Rows that were handed out, for corrections: the columns are those that the caller has."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jeton.corpus.requests.columns import ColumnsBuilder, RequestColumns
from jeton.corpus.requests.usage import Usage

MAX_ROWS: Final = 1_000_000
"""Rows before the last batch that can still be corrected, as many as are joined (``answers``).
About 120 bytes each, shared with who keeps the columns."""


class HandedOut(NamedTuple):
    """A row as it stands after the corrections so far.

    Attributes:
        columns: One row.
        n_bytes: Its text, UTF-8.
        has_response: True if an answer was logged.
    """

    columns: RequestColumns
    n_bytes: int
    has_response: bool


class _Part(NamedTuple):
    columns: RequestColumns
    n_bytes: NDArray[np.int64]
    has_response: NDArray[np.bool_]


class History:
    """The last rows, by their numbers in the stream."""

    def __init__(self, *, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._starts: list[int] = []
        self._parts: list[_Part] = []
        self._n_rows = 0
        self._changed: dict[int, HandedOut | None] = {}

    def add(
        self,
        first_row: int,
        columns: RequestColumns,
        n_bytes: NDArray[np.int64],
        has_response: NDArray[np.bool_],
    ) -> None:
        """Keep the rows of a batch; the oldest ones go where there are too many."""
        self._starts.append(first_row)
        self._parts.append(_Part(columns, n_bytes, has_response))
        self._n_rows += len(columns)
        while self._n_rows - len(self._parts[0].columns) - len(columns) >= self._max_rows:
            self._n_rows -= len(self._parts[0].columns)
            del self._starts[0], self._parts[0]

    def row(self, number: int) -> HandedOut | None:
        """A row; None: it went, or it is too old."""
        if number in self._changed:
            return self._changed[number]
        index = bisect_right(self._starts, number) - 1
        if index < 0:
            return None
        part, place = self._parts[index], number - self._starts[index]
        if place >= len(part.columns):
            return None
        columns = part.columns.take(np.array([place], dtype=np.intp))
        return HandedOut(columns, int(part.n_bytes[place]), bool(part.has_response[place]))

    def change(self, number: int, now: HandedOut | None) -> None:
        """Note what became of a row."""
        self._changed[number] = now


def with_usage(columns: RequestColumns, usage: Usage, tariff: int) -> RequestColumns:
    """One row with other counts."""
    builder = ColumnsBuilder()
    builder.append(usage=usage.counts, extras=usage.columns, tariff=tariff)
    new = builder.build()
    return replace(
        columns,
        tariff=new.tariff,
        input_tokens=new.input_tokens,
        cache_read_tokens=new.cache_read_tokens,
        cache_write_tokens=new.cache_write_tokens,
        cache_write_1h_tokens=new.cache_write_1h_tokens,
        output_tokens=new.output_tokens,
        reasoning_tokens=new.reasoning_tokens,
        extras=new.extras,
    )
