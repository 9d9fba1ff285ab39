"""Dumps of model inputs: rows of ids with what a model takes beside them.

All rows lie one behind the other, row ``i`` from ``offsets[i]`` to ``offsets[i + 1]``, whether
they were padded to one length or not; so a check is arithmetic on flat arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

IGNORED_LABEL = -100
"""The label that losses leave out (``ignore_index`` of PyTorch's CrossEntropyLoss)."""


@dataclass(frozen=True)
class InputBatch:
    """Model inputs.

    Attributes:
        where: The file, or the place in it.
        ids: ``input_ids``, int64 (n_ids,).
        offsets: Where rows begin, int64 (n_rows + 1,).
        mask: ``attention_mask``, float64 (n_ids,), as it is: 1 and 0, or 0 and a large negative
            number; None where there is none.
        labels: int64 (n_ids,); None where there are none.
        type_ids: ``token_type_ids``, likewise.
        position_ids: Likewise.
        dtype: How the ids are stored (``"uint16"``); ``"json"`` for text.
        is_rectangular: True if the file has rows of one length, as padding makes them.
        odd_shapes: Arrays that do not fit ``input_ids``, as (name, its shape, that of the ids).
        are_integers: True if all stored ids are whole numbers.
    """

    where: str
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    mask: NDArray[np.float64] | None = None
    labels: NDArray[np.int64] | None = None
    type_ids: NDArray[np.int64] | None = None
    position_ids: NDArray[np.int64] | None = None
    dtype: str = "int64"
    is_rectangular: bool = True
    odd_shapes: tuple[tuple[str, str, str], ...] = ()
    are_integers: bool = True

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Ids of each row, padding included, int64 (n_rows,)."""
        lengths: NDArray[np.int64] = np.diff(self.offsets)
        return lengths

    @cached_property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each id, int64 (n_ids,)."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int64), self.lengths)

    @cached_property
    def is_kept(self) -> NDArray[np.bool_] | None:
        """True if the mask lets each id be seen, bool (n_ids,); None without a mask.

        Masks that are added to scores (0 and a large negative number) are understood, too.
        """
        if self.mask is None:
            return None
        shown: NDArray[np.bool_] = self.mask == 0 if self.is_additive else self.mask != 0
        return shown

    @cached_property
    def is_additive(self) -> bool:
        """True if the mask is one to be added: only 0 and numbers far below 0."""
        return self.mask is not None and bool(
            np.all((self.mask == 0) | (self.mask < -1000)) and np.any(self.mask < -1000)
        )

    def ends(self, flags: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many flags in a row begin, and end, each row: int64 (n_rows,) each."""
        n = len(flags)
        if n == 0:
            zeros = np.zeros(self.n_rows, dtype=np.int64)
            return zeros, zeros
        places = np.arange(n, dtype=np.int64)
        # The next place at or behind each that has no flag, and the last one at or before it.
        following = np.minimum.accumulate(np.where(flags, n, places)[::-1])[::-1]
        preceding = np.maximum.accumulate(np.where(flags, -1, places))
        starts, stops = self.offsets[:-1], self.offsets[1:]
        begins = following[np.minimum(starts, n - 1)]
        left = np.minimum(begins, stops) - starts
        finishes = preceding[np.maximum(stops - 1, 0)]
        right = stops - np.maximum(finishes + 1, starts)
        empty = starts == stops
        return np.where(empty, 0, left), np.where(empty, 0, right)

    def padding(self, pad_ids: frozenset[int]) -> NDArray[np.bool_]:
        """Mask of padding: by the attention mask, or else the runs of a padding id at the ends."""
        kept = self.is_kept
        if kept is not None:
            return ~kept
        return self.padding_by_id(pad_ids)

    def padding_by_id(self, pad_ids: frozenset[int]) -> NDArray[np.bool_]:
        """The runs of a padding id at the ends of rows, bool (n_ids,)."""
        if not pad_ids:
            return np.zeros(len(self.ids), dtype=np.bool_)
        is_pad = np.isin(self.ids, np.fromiter(pad_ids, dtype=np.int64))
        left, right = self.ends(is_pad)
        column = np.arange(len(self.ids), dtype=np.int64) - self.offsets[:-1][self.row_of]
        found: NDArray[np.bool_] = (column < left[self.row_of]) | (
            column >= (self.lengths - right)[self.row_of]
        )
        return found

    def place(self, index: int) -> str:
        """Row and column of an id, to be shown."""
        row = int(self.row_of[index])
        return f"{self.where}, row {row}, column {index - int(self.offsets[row])}"
