"""Plans of single tensors, and of the whole of a model's weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jeton.adapt.weights.matrices import Matrix
from jeton.adapt.weights.recipes import Recipe
from jeton.adapt.weights.row_maps import RowMap
from jeton.checkpoint.safetensors import BITS, Tensor
from jeton.checkpoint.snapshot import WeightGroup
from jeton.checkpoint.vocabulary_tensors import Role


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
