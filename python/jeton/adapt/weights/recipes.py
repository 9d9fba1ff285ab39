"""Recipes for rows of added tokens: of which old rows, with which weights.

A recipe is data: for each added token a list of old ids and weights. One loop makes the rows of any
table from it, a block at a time, so that every method works on every kind of stored value. A token
without old ids gets the mean of all old rows, zeros, or a draw around the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.weights.matrices import Matrix, OpenFiles, Values, rows_at_once

__all__ = ["Recipe", "TableFacts", "made_rows", "table_facts"]


@dataclass(frozen=True, eq=False)
class Recipe:
    """Says of what the rows of added tokens are made.

    Attributes:
        offsets: int64 (n_added + 1,): ids and weights of token i are those from ``offsets[i]`` to
            ``offsets[i + 1]``.
        ids: int64: old ids.
        weights: float64, one each.
        norm: ``"median"`` gives each row the median length of the old rows.
        without: Rows of tokens without ids: the ``"mean"`` of all old rows, ``"zero"``, or
            ``"random"``, a draw from the normal distribution with their mean and deviation.
        seed: Seed of the draws; a row's draw depends on it and on the token's number alone.
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]
    norm: Literal["none", "median"] = "none"
    without: Literal["mean", "zero", "random"] = "mean"
    seed: int = 0


@dataclass(frozen=True, eq=False)
class TableFacts:
    """Facts about the old rows of a table, rows that are not finite left out.

    Attributes:
        mean: float64 (n_columns,).
        deviation: float64 (n_columns,): standard deviation of each column.
        median_norm: Median Euclidean length of the rows that are not zero.
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    median_norm: float


def table_facts(matrix: Matrix, files: OpenFiles, n_ids: int) -> TableFacts:
    """Returns the facts of the first ``n_ids`` rows, in one pass."""
    total = np.zeros(matrix.n_columns)
    squares = np.zeros(matrix.n_columns)
    norms = []
    n_finite = 0
    n_ids = min(n_ids, matrix.n_rows)
    for start, end in _blocks(n_ids, matrix.n_columns):
        block = matrix.read(files, np.arange(start, end)).astype(np.float64)
        block = block[np.isfinite(block).all(axis=1)]
        n_finite += len(block)
        total += block.sum(axis=0)
        squares += np.einsum("ij,ij->j", block, block)
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        norms.append(lengths[lengths > 0])
    n = max(n_finite, 1)
    mean = total / n
    deviation = np.sqrt(np.maximum(squares / n - mean * mean, 0.0))
    every = np.concatenate(norms) if norms else np.zeros(0)
    return TableFacts(mean, deviation, float(np.median(every)) if len(every) else 0.0)


def made_rows(
    matrix: Matrix,
    files: OpenFiles,
    recipe: Recipe,
    facts: Callable[[], TableFacts],
    tokens: NDArray[np.int64],
    *,
    salt: int = 0,
) -> Values:
    """Returns the rows of some added tokens, float32 (n, n_columns).

    Args:
        matrix: The old table.
        files: Open files.
        recipe: The recipe of the rows.
        facts: Gives what the old rows have in common; asked only where the recipe needs it.
        tokens: Numbers of the tokens among all added ones.
        salt: Makes the draws of one table others than those of another.
    """
    made = np.empty((len(tokens), matrix.n_columns), dtype=np.float32)
    for i, token in enumerate(tokens.tolist()):
        start, end = recipe.offsets[token], recipe.offsets[token + 1]
        if start == end:
            made[i] = _without(recipe, facts(), token, salt)
            continue
        parts = matrix.read(files, recipe.ids[start:end]).astype(np.float64)
        row = recipe.weights[start:end] @ parts
        if recipe.norm == "median" and matrix.n_columns > 1:
            length = float(np.linalg.norm(row))
            if length > 0:
                row = row * (facts().median_norm / length)
        made[i] = row
    return made


def _without(recipe: Recipe, facts: TableFacts, token: int, salt: int) -> NDArray[np.float64]:
    if recipe.without == "zero":
        return np.zeros_like(facts.mean)
    if recipe.without == "random":
        draws = np.random.Generator(
            np.random.Philox(key=[recipe.seed & (2**64 - 1), salt], counter=[0, 0, 0, token])
        )
        return facts.mean + facts.deviation * draws.standard_normal(len(facts.mean))
    return facts.mean


def _blocks(n: int, n_columns: int) -> Iterator[tuple[int, int]]:
    step = rows_at_once(n_columns)
    for start in range(0, n, step):
        yield start, min(start + step, n)
