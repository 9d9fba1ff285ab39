"""Attribution of batches: one padded array, or a list of arrays, and the units of each text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.attribution.folding import Floats, Rule, fold_attention, fold_scores
from jeton.attribution.units import Units
from jeton.errors import UsageError

Side = Literal["right", "left"]


def fold_scores_batch(
    scores: NDArray[Any] | Sequence[ArrayLike],
    units: Sequence[Units],
    *,
    how: Rule = "sum",
    empty: float = np.nan,
    padding_side: Side = "right",
) -> list[Floats]:
    """Fold the scores of many texts.

    Args:
        scores: (n_texts, ..., length) with padding, or one array (..., n_tokens) for each text.
        units: Units of each text.
        how: The rule, as for ``fold_scores``.
        empty: As for ``fold_scores``.
        padding_side: Which end of the last axis is padding, if it is longer than the text.

    Returns:
        One array (..., n_units) for each text.

    Raises:
        UsageError: a shape, a type or the rule is wrong; it says of which text.
    """
    found = []
    for index, (values, own) in enumerate(_each(scores, units)):
        cut = values[..., _kept(values.shape[-1:], own.n_tokens, index, padding_side)]
        found.append(fold_scores(cut, own, how=how, empty=empty))
    return found


def fold_attention_batch(
    attention: NDArray[Any] | Sequence[ArrayLike],
    units: Sequence[Units],
    *,
    queries: Rule = "mean",
    keys: Rule = "sum",
    renormalize: bool = False,
    empty: float = np.nan,
    padding_side: Side = "right",
) -> list[Floats]:
    """Fold the attention of many texts, each to itself.

    Args:
        attention: (n_texts, ..., length, length) with padding, or one array
            (..., n_tokens, n_tokens) for each text.
        units: Units of each text.
        queries: As for ``fold_attention``.
        keys: As for ``fold_attention``.
        renormalize: As for ``fold_attention``.
        empty: As for ``fold_attention``.
        padding_side: Which end of both last axes is padding.

    Returns:
        One array (..., n_units, n_units) for each text.

    Raises:
        UsageError: a shape, a type or a rule is wrong; it says of which text.
    """
    found = []
    for index, (values, own) in enumerate(_each(attention, units)):
        kept = _kept(values.shape[-2:], own.n_tokens, index, padding_side)
        found.append(
            fold_attention(
                values[..., kept, kept],
                own,
                queries=queries,
                keys=keys,
                renormalize=renormalize,
                empty=empty,
            )
        )
    return found


def _each(
    values: NDArray[Any] | Sequence[ArrayLike], units: Sequence[Units]
) -> list[tuple[NDArray[Any], Units]]:
    if len(values) != len(units):
        raise UsageError(f"{len(values)} arrays for the units of {len(units)} texts")
    return [(np.asarray(one), own) for one, own in zip(values, units, strict=True)]


def _kept(shape: tuple[int, ...], n_tokens: int, index: int, side: Side) -> slice:
    """Return the part of an axis that is not padding."""
    if side not in ("right", "left"):
        raise UsageError(f"padding_side is {side!r}; expected 'right' or 'left'")
    if len(set(shape)) != 1 or shape[0] < n_tokens:
        raise UsageError(
            f"text {index} has {n_tokens} tokens, but the last axes of its array are {shape}; "
            "expected room for all of them, and as many queries as keys"
        )
    return slice(shape[0] - n_tokens, None) if side == "left" else slice(0, n_tokens)
