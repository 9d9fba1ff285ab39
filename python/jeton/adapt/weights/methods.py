"""Ways to make the rows of added tokens, each by its paper.

``mean`` is the default: text of a domain costs less with it than with ``asymmetric``, before and
after a little training (docs/studies/new-rows.md). A way gives two recipes, for embeddings and for
the output layer, and one for a table that is both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.matrices import Matrix, OpenFiles, Values, rows_at_once
from jeton.errors import UsageError

# Recipes for rows of added tokens: of which old rows, with which weights.
#
# A recipe is data: for each added token a list of old ids and weights. One loop makes the rows of
# any table from it, a block at a time, so that every method works on every kind of stored value. A
# token without old ids gets the mean of all old rows, zeros, or a draw around the mean.


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


DEFAULT_METHOD = "mean"


@dataclass(frozen=True, slots=True)
class Recipes:
    """Recipes for the two sides of a model.

    Attributes:
        input: For embeddings.
        head: For the output layer.
        tied: For one table that is both; None: as for embeddings.
    """

    input: Recipe
    head: Recipe
    tied: Recipe | None = None

    @property
    def both(self) -> Recipe:
        """The recipe of a table that is both sides."""
        return self.input if self.tied is None else self.tied


def recipes_of(method: str, change: VocabularyChange, *, seed: int = 0) -> Recipes:
    """Returns the recipes of a way that needs the change alone.

    Raises:
        UsageError: The way is not known, or needs more than the change.
    """
    if method not in METHODS:
        raise UsageError(f"no initialisation {method!r}\nhint: known are {', '.join(METHODS)}")
    recipes = METHODS[method].recipes
    if recipes is None:
        raise UsageError(f"initialisation {method!r} needs the tokenizers, or a donor")
    return recipes(change, seed)


def combined(
    change: VocabularyChange, weights: NDArray[np.float64], *, median: bool = False
) -> Recipe:
    """Returns a recipe of the parts with these weights, which sum to 1 for each token."""
    return Recipe(change.offsets, change.parts, weights, norm="median" if median else "none")


def _even(change: VocabularyChange) -> NDArray[np.float64]:
    sizes = np.diff(change.offsets)
    return np.repeat(1.0 / np.maximum(sizes, 1), sizes)


def _by_bytes(change: VocabularyChange) -> NDArray[np.float64]:
    sizes = np.diff(change.offsets)
    lengths = change.part_bytes.astype(np.float64)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    totals = np.bincount(owner, weights=lengths, minlength=len(sizes))
    # Parts without text of their own count alike.
    return np.where(totals[owner] > 0, lengths / np.maximum(totals[owner], 1), _even(change))


def _softmax(change: VocabularyChange, slope: float) -> NDArray[np.float64]:
    sizes = np.diff(change.offsets)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(owner)) - np.repeat(change.offsets[:-1], sizes)
    # The largest exponent is 0: a long token would overflow.
    last = (sizes - 1)[owner] if slope > 0 else np.zeros(len(owner))
    raw = np.exp(slope * (place - last))
    return raw / np.bincount(owner, weights=raw, minlength=len(sizes))[owner]


def _alone(change: VocabularyChange, without: str, seed: int) -> Recipe:
    none = np.zeros(len(change.added_ids) + 1, dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    return Recipe(none, empty, empty.astype(np.float64), without=without, seed=seed)  # type: ignore[arg-type]


def _both(recipe: Recipe) -> Recipes:
    return Recipes(recipe, recipe)


_EXPONENT = 2.0
"""Slope of the weights of ``exponential``, of the published code of token distillation."""


def _of_parts(change: VocabularyChange, _: int) -> Recipes:
    return _both(combined(change, _even(change)))


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make rows.

    Attributes:
        says: The method in a few words.
        paper: Where it is described.
        recipes: Makes the recipes of a change and a seed; None: it looks for similar tokens
            (`jeton.adapt.weights.similar`), and may take a model that has the added tokens.
        needs_donor: True if it does not go without such a model.
    """

    says: str
    paper: str
    recipes: Callable[[VocabularyChange, int], Recipes] | None = None
    needs_donor: bool = False


METHODS: Mapping[str, Method] = {
    "asymmetric": Method(
        "mean of the parts at the median length for embeddings; mean weighted by bytes for the "
        "output layer; mean of the parts for a table that is both",
        "Joshi et al. 2026, arXiv 2608.03494",
        lambda change, _: Recipes(
            combined(change, _even(change), median=True),
            combined(change, _by_bytes(change)),
            # As an output row, one that is made longer outbids the right token: on SmolLM2 with
            # 800 new tokens, 2.63 bits a byte and not 1.02 (studies/new_rows).
            combined(change, _even(change)),
        ),
    ),
    "mean": Method(
        "mean of the parts", "FVT: Gee et al., EMNLP 2022 Industry, arXiv 2402.09977", _of_parts
    ),
    "vocabulary-mean": Method(
        "mean of all old rows",
        "Hewitt 2021, Initializing New Embeddings",
        lambda change, seed: _both(_alone(change, "mean", seed)),
    ),
    "exponential": Method(
        "mean of the parts, the last one heaviest for embeddings and the first one for the output "
        "layer",
        "AdaptiVocab: Nakash et al. 2025, arXiv 2503.19693",
        lambda change, _: Recipes(
            combined(change, _softmax(change, _EXPONENT)),
            combined(change, _softmax(change, -_EXPONENT)),
        ),
    ),
    "copy": Method(
        "row of the one old token with the same bytes, else the mean of the parts",
        "WECHSEL: Minixhofer et al., NAACL 2022, arXiv 2112.06598 (overlapping tokens)",
        _of_parts,  # A token of one part has the bytes of that part.
    ),
    "focus": Method(
        "sparse mean of the most similar tokens that both vocabularies have",
        "FOCUS: Dobler and de Melo, EMNLP 2023, arXiv 2305.14481",
    ),
    "omp": Method(
        "the donor's row as a sum of few shared tokens, and that sum with the model's own rows",
        "orthogonal matching pursuit: Goddard and Fernandes Neto 2025, arXiv 2506.06607",
        needs_donor=True,
    ),
    "zero": Method(
        "zeros",
        "control of the papers above",
        lambda change, seed: _both(_alone(change, "zero", seed)),
    ),
    "random": Method(
        "a draw with mean and deviation of each column",
        "control of the papers above",
        lambda change, seed: _both(_alone(change, "random", seed)),
    ),
}
"""Every way by its name."""
