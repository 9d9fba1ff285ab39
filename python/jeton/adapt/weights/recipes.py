"""Recipes for rows of added tokens: of which old rows, with which weights.

A recipe is data: for each added token a list of old ids and weights. One loop makes the rows of any
table from it, a block at a time, so that every method works on every kind of stored value. A token
without old ids gets the mean of all old rows, zeros, or a draw around the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.weights.matrices import Matrix, OpenFiles, Values, rows_at_once


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


class TableFacts:
    """Facts about the first rows of a table; rows that are not finite are left out.

    Each fact is computed when it is first asked, in one pass over the rows.
    """

    def __init__(self, matrix: Matrix, files: OpenFiles, n_ids: int) -> None:
        self._matrix = matrix
        self._files = files
        self._n_rows = min(n_ids, matrix.n_rows)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of each column, float64 (n_columns,)."""
        return self._moments[0]

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviation of each column, float64 (n_columns,)."""
        return self._moments[1]

    @cached_property
    def median_norm(self) -> float:
        """Median Euclidean length of the rows that are not zero; 0 without one."""
        norms = []
        with np.errstate(over="ignore", invalid="ignore"):
            for block in self._blocks():
                # The squares of float32 may be too large for float32.
                squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
                norms.append(np.sqrt(squares[np.isfinite(squares) & (squares > 0)]))
        every = np.concatenate(norms) if norms else np.zeros(0)
        return float(np.median(every)) if len(every) else 0.0

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        total = np.zeros(self._matrix.n_columns)
        squares = np.zeros(self._matrix.n_columns)
        n_finite = 0
        for stored in self._blocks():
            block = stored.astype(np.float64)
            block = block[np.isfinite(block).all(axis=1)]
            n_finite += len(block)
            total += block.sum(axis=0)
            squares += np.einsum("ij,ij->j", block, block)
        n = max(n_finite, 1)
        mean = total / n
        return mean, np.sqrt(np.maximum(squares / n - mean * mean, 0.0))

    def _blocks(self) -> Iterator[Values]:
        step = rows_at_once(self._matrix.n_columns)
        for start in range(0, self._n_rows, step):
            rows = np.arange(start, min(start + step, self._n_rows))
            yield self._matrix.read(self._files, rows)


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
