"""Ways to make the rows of added tokens, each by its paper.

``mean`` is the default: text of a domain costs less with it than with ``asymmetric``, before and
after a little training (docs/studies/new-rows.md). A way gives two recipes, for embeddings and for
the output layer, and one for a table that is both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.recipes import Recipe
from jeton.errors import UsageError

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


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make rows.

    Attributes:
        says: The method in a few words.
        paper: Where it is described.
        needs_donor: True if it takes a model that has the added tokens.
    """

    says: str
    paper: str
    needs_donor: bool = False


METHODS: Mapping[str, Method] = {
    "asymmetric": Method(
        "mean of the parts at the median length for embeddings; mean weighted by bytes for the "
        "output layer; mean of the parts for a table that is both",
        "Joshi et al. 2026, arXiv 2608.03494",
    ),
    "mean": Method("mean of the parts", "FVT: Gee et al., EMNLP 2022 Industry, arXiv 2402.09977"),
    "vocabulary-mean": Method("mean of all old rows", "Hewitt 2021, Initializing New Embeddings"),
    "exponential": Method(
        "mean of the parts, the last one heaviest for embeddings and the first one for the output "
        "layer",
        "AdaptiVocab: Nakash et al. 2025, arXiv 2503.19693",
    ),
    "copy": Method(
        "row of the one old token with the same bytes, else the mean of the parts",
        "WECHSEL: Minixhofer et al., NAACL 2022, arXiv 2112.06598 (overlapping tokens)",
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
    "zero": Method("zeros", "control of the papers above"),
    "random": Method(
        "a draw with mean and deviation of each column", "control of the papers above"
    ),
}
"""Every way by its name, the default first."""


def recipes_of(method: str, change: VocabularyChange, *, seed: int = 0) -> Recipes:
    """Returns the recipes of a way that needs the change alone.

    Raises:
        UsageError: The way is not known, or needs more than the change.
    """
    if method not in METHODS:
        raise UsageError(f"no initialisation {method!r}\nhint: known are {', '.join(METHODS)}")
    if method not in _SIMPLE:
        raise UsageError(f"initialisation {method!r} needs the tokenizers, or a donor")
    return _SIMPLE[method](change, seed)


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

_SIMPLE: Mapping[str, Callable[[VocabularyChange, int], Recipes]] = {
    "asymmetric": lambda change, _: Recipes(
        combined(change, _even(change), median=True),
        combined(change, _by_bytes(change)),
        # As an output row, one that is made longer outbids the right token: on SmolLM2 with 800
        # new tokens, 2.63 bits a byte and not 1.02 (studies/new_rows).
        combined(change, _even(change)),
    ),
    "mean": lambda change, _: _both(combined(change, _even(change))),
    "vocabulary-mean": lambda change, seed: _both(_alone(change, "mean", seed)),
    "exponential": lambda change, _: Recipes(
        combined(change, _softmax(change, _EXPONENT)),
        combined(change, _softmax(change, -_EXPONENT)),
    ),
    # A token of one part has the bytes of that part.
    "copy": lambda change, _: _both(combined(change, _even(change))),
    "zero": lambda change, seed: _both(_alone(change, "zero", seed)),
    "random": lambda change, seed: _both(_alone(change, "random", seed)),
}
