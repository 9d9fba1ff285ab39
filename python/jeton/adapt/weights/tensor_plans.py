"""Plans of single tensors, and of the whole of a model's weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.matrices import Matrix
from jeton.adapt.weights.methods import Recipe
from jeton.checkpoint.safetensors import BITS, Tensor
from jeton.checkpoint.snapshot import WeightGroup
from jeton.checkpoint.vocabulary_tensors import Role
from jeton.errors import AdaptError

# Maps from the rows of an old table to those of a new one.
#
# A table may have more rows than there are ids (padding), and a few of those may belong to
# something: a row that config.json names, or rows that a family of models has beyond its
# vocabulary.

NEW = -1
"""Marks the row of an added token."""
FILL = -2
"""Marks a row that no token has."""


@dataclass(frozen=True, slots=True)
class Run:
    """Rows that are treated alike: ``n`` new rows from ``new`` on.

    ``old`` is the first old row that they are, or ``NEW`` or ``FILL``.
    """

    old: int
    new: int
    n: int


@dataclass(frozen=True, eq=False)
class RowMap:
    """Says what each row of a new table is.

    Attributes:
        n_old_rows: Rows of the old table.
        source: int64 (n_new_rows,): an old row, or ``NEW`` or ``FILL``.
    """

    n_old_rows: int
    source: NDArray[np.int64]

    @property
    def n_new_rows(self) -> int:
        """Rows of the new table."""
        return len(self.source)

    @cached_property
    def is_identity(self) -> bool:
        """True if the table stays as it is."""
        return self.n_old_rows == self.n_new_rows and bool(
            np.array_equal(self.source, np.arange(self.n_old_rows))
        )

    @property
    def n_added(self) -> int:
        """Rows of added tokens."""
        return int(np.count_nonzero(self.source == NEW))

    @property
    def n_filled(self) -> int:
        """Rows that no token has, newly made."""
        return int(np.count_nonzero(self.source == FILL))

    def token_numbers(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the numbers, among all added tokens, of rows of added tokens."""
        return np.searchsorted(self._added_rows, rows)

    @cached_property
    def _added_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.source == NEW)

    def runs(self) -> Iterator[Run]:
        """Runs in ascending order of the new rows."""
        source = self.source
        if not len(source):
            return
        step = np.diff(source)
        is_old = source >= 0
        same = np.where(is_old[1:], step == 1, step == 0) & (is_old[1:] == is_old[:-1])
        starts = np.concatenate([[0], np.flatnonzero(~same) + 1])
        ends = np.append(starts[1:], len(source))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield Run(int(source[start]), start, end - start)


def gathered(n_old_rows: int, kept: NDArray[np.int64]) -> RowMap:
    """Returns the map that keeps some rows and makes none."""
    return RowMap(n_old_rows, kept)


def rounded_up(n: int, multiple: int) -> int:
    """Returns the least multiple that is not below ``n``."""
    return -(-n // multiple) * multiple


def padded_map(
    change: VocabularyChange,
    n_old_rows: int,
    *,
    label: str,
    pad_to: int | None = None,
    extra_rows: int = 0,
    owned: NDArray[np.int64] | None = None,
    may_be_short: bool = False,
    n_rows: int | None = None,
) -> RowMap:
    """Returns what the rows of a table become by a change of vocabulary.

    Spare rows are filled before the table grows; only a vocabulary that shrinks makes it smaller.
    Spare rows that have an owner stay where they are.

    Args:
        change: The change of vocabulary.
        n_old_rows: Rows of the table.
        label: Name of the table, for errors.
        pad_to: Multiple that the number of rows becomes; by default a table that has spare rows
            keeps the power of two that it is a multiple of, up to 128.
        extra_rows: Rows that the table has beyond the vocabulary, at its end.
        owned: int64, ascending: rows beyond the old ids that something else names.
        may_be_short: True if the last ids may lack a row.
        n_rows: Rows of the new table, where it is there already.

    Raises:
        AdaptError: The table has no row for an id, or a new id falls on a row that has an owner.
    """
    n_old, n_new = change.n_old_ids, change.n_new_ids
    base = n_old_rows - extra_rows
    if n_old_rows < n_old and not may_be_short:
        raise AdaptError(
            f"{label} has {n_old_rows:,} rows and the tokenizer has ids up to {n_old - 1:,}: they "
            "do not belong together\nhint: name the model that the old tokenizer was made for"
        )
    owned = np.zeros(0, np.int64) if owned is None else owned
    owned = owned[(owned >= n_old) & (owned < n_old_rows)]
    if n_new > n_old:
        rows = max(base, n_new)
    elif n_new < n_old:
        rows = max(n_new, int(owned[-1]) + 1 if len(owned) else 0)
    else:
        rows = base
    multiple = _usual_multiple(base) if base > n_old else 1
    if pad_to is not None:
        multiple = pad_to
    if n_rows is None and (rows != base or pad_to is not None):
        rows = rounded_up(rows, multiple)
    rows += extra_rows
    if n_rows is not None:
        if n_rows < rows and n_rows != n_old_rows:
            raise AdaptError(f"{label} has {n_rows:,} rows; expected at least {rows:,}")
        rows = n_rows
    source = np.full(rows, FILL, dtype=np.int64)
    spare = np.arange(min(max(n_old, n_new), rows), min(rows, n_old_rows))
    source[spare] = spare
    n_ids = min(n_new, rows)
    source[:n_ids] = np.where(change.old_of >= 0, change.old_of, FILL)[:n_ids]
    # A short table lacks the rows of the last ids.
    source[source >= n_old_rows] = FILL
    added = change.added_ids[change.added_ids < rows]
    source[added] = NEW
    taken = owned[owned < n_new]
    if len(taken):
        raise AdaptError(
            f"row {int(taken[0]):,} of {label} is named by the model's settings, and the new "
            f"vocabulary has ids up to {n_new - 1:,}\nhint: add fewer tokens, or put them on ids "
            "that nothing names"
        )
    source[owned[owned < rows]] = owned[owned < rows]
    return RowMap(n_old_rows, source)


def _usual_multiple(n_rows: int) -> int:
    return min(128, n_rows & -n_rows) if n_rows else 1


@dataclass(frozen=True, eq=False)
class TensorPlan:
    """Says what a tensor becomes.

    Attributes:
        tensor: The tensor as it is.
        role: Its part in the vocabulary; None where it has none.
        rows: Its new rows; None where it stays as it is, or ``content`` has it.
        matrix: The matrix that it is stored as, from which new rows are made.
        part: Its number among the tensors of the matrix.
        recipe: The recipe of the rows of added tokens.
        salt: Makes random rows of one table others than those of another.
        by_columns: True if tokens lie along the second axis.
        content: The bytes of a small tensor that is made anew.
        n_content: Elements of ``content``.
    """

    tensor: Tensor
    role: Role | None = None
    rows: RowMap | None = None
    matrix: Matrix | None = None
    part: int = 0
    recipe: Recipe | None = None
    salt: int = 0
    by_columns: bool = False
    content: bytes | None = None
    n_content: int = 0

    @property
    def is_copied(self) -> bool:
        """True if its bytes stay as they are."""
        if self.content is not None:
            return False
        return self.rows is None or self.rows.is_identity

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions in the output."""
        shape = self.tensor.shape
        if self.content is not None:
            return (self.n_content, *shape[1:])
        if self.rows is None:
            return shape
        if self.by_columns or self.role is Role.BIAS_ROW:
            return (shape[0], self.rows.n_new_rows)
        return (self.n_stored_rows, *shape[1:])

    @property
    def n_stored_rows(self) -> int:
        """Rows in the output, fewer than those of the matrix where rows share a scale."""
        assert self.rows is not None
        block = getattr(self.matrix, "block_rows", 1) if self.part else 1
        return -(-self.rows.n_new_rows // block)

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes in the output."""
        return math.prod(self.shape) * BITS[self.tensor.dtype] // 8

    def to_dict(self) -> dict[str, Any]:
        """Returns what a report shows of it."""
        rows = self.rows
        return {
            "name": self.tensor.name,
            "file": self.tensor.file.name,
            "role": None if self.role is None else self.role.value,
            "dtype": self.tensor.dtype,
            "shape_before": list(self.tensor.shape),
            "shape_after": list(self.shape),
            "rows_added": 0 if rows is None else rows.n_added,
            "rows_filled": 0 if rows is None else rows.n_filled,
        }


@dataclass(frozen=True, eq=False)
class WeightPlan:
    """Says what all weights of a directory become.

    Attributes:
        groups: The files that belong together.
        tensors: For each group the plan of each tensor by name.
        sizes: New size by old size, for configurations that state one.
        ties: The value that ``tie_word_embeddings`` has to have; None where it stays.
        notes: Notes for a reader of the report, one sentence each.
    """

    groups: tuple[WeightGroup, ...]
    tensors: tuple[Mapping[str, TensorPlan], ...]
    sizes: Mapping[int, int]
    ties: bool | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def input_rows(self) -> frozenset[int]:
        """Rows of the matrices of embeddings, those of adapters left out."""
        return frozenset(
            plan.tensor.shape[0]
            for plans in self.tensors
            for plan in plans.values()
            if plan.role is Role.INPUT
            and not plan.part
            and plan.tensor.shape
            and not plan.tensor.name.startswith("base_model.")
            and not any(other.role is Role.MAPPING for other in plans.values())
        )

    @property
    def changed(self) -> list[TensorPlan]:
        """Tensors whose bytes change."""
        return [plan for plans in self.tensors for plan in plans.values() if not plan.is_copied]

    @property
    def n_bytes(self) -> int:
        """Bytes of all tensors in the output."""
        return sum(plan.n_bytes for plans in self.tensors for plan in plans.values())
