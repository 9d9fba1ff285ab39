"""Whole-number sums by key, kept as rows of one array so that batches are added at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from jeton.economics.ledger.cells import LedgerCell

Key = TypeVar("Key", bound=Hashable)


class SumTable(Generic[Key]):
    """Amounts by key and dimension."""

    def __init__(self) -> None:
        self._rows: dict[Key, int] = {}
        self._columns: dict[str, int] = {}
        self._sums = np.zeros((64, 8), dtype=np.int64)

    def add(self, keys: Sequence[Key], dims: Sequence[str], sums: NDArray[np.int64]) -> None:
        """Add sums (keys x dimensions); a key may stand there more than once."""
        rows = [self._rows.setdefault(key, len(self._rows)) for key in keys]
        columns = [self._columns.setdefault(name, len(self._columns)) for name in dims]
        n_rows, n_columns = self._sums.shape
        if len(self._rows) > n_rows or len(self._columns) > n_columns:
            shape = (max(2 * len(self._rows), n_rows), max(2 * len(self._columns), n_columns))
            grown = np.zeros(shape, dtype=np.int64)
            grown[:n_rows, :n_columns] = self._sums
            self._sums = grown
        np.add.at(self._sums, np.ix_(rows, columns), sums)

    def cells(self) -> Iterator[tuple[Key, LedgerCell]]:
        """Yield what is not empty."""
        for key, row in self._rows.items():
            values = self._sums[row]
            if values.any():
                numbers = values.tolist()
                amounts = {name: numbers[at] for name, at in self._columns.items() if numbers[at]}
                yield key, LedgerCell(amounts.get("requests", 0), amounts)

    def merge(self, keys: Sequence[Key], other: SumTable[Key]) -> None:
        """Add another table, whose keys are called ``keys`` here."""
        dims = list(other._columns)
        self.add(keys, dims, other._sums[: len(other._rows), : len(dims)])

    def known(self) -> list[Key]:
        """All keys, empty ones too, in the order of their first row."""
        return list(self._rows)


def grouped_sums(
    first: NDArray[np.int64], second: NDArray[np.int64], matrix: NDArray[np.int64]
) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """Return the different pairs of numbers, and the sums of their rows."""
    if not len(first):
        return [], matrix[:0]
    order = np.lexsort((second, first))
    a, b = first[order], second[order]
    is_first = np.ones(len(a), dtype=np.bool_)
    is_first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(matrix[order], starts, axis=0)
    return list(zip(a[starts].tolist(), b[starts].tolist(), strict=True)), sums
