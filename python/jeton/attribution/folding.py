"""Numbers of tokens become numbers of units.

Sums conserve: the units' scores and what was dropped add up to the tokens' scores. Attention is
summed over keys and averaged over queries, so that rows that sum to 1 still do.

Attribution of batches: one padded array, or a list of arrays, and the units of each text.

Scores as stretches of the text: what a coloured view draws, as data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.attribution.units import Units
from jeton.errors import UsageError

_BLOCK_NUMBERS = 1 << 22
"""Numbers of attention folded at a time, 8 bytes each and a few copies: about 100 MB, however
many layers and heads there are."""

Rule = Literal["sum", "mean", "max", "min", "first", "last"]
"""How a unit's tokens make its score:

- ``sum``: each token's score times the unit's share of it, added up.
- ``mean``: that sum divided by the sum of the shares: of whole tokens, their plain mean.
- ``max``, ``min``: of all tokens that the unit has a share of.
- ``first``, ``last``: of the first or last such token.
"""

Floats = NDArray[np.floating[Any]]


def fold_scores(
    scores: ArrayLike, units: Units, *, how: Rule = "sum", empty: float = np.nan
) -> Floats:
    """Fold scores of tokens onto units.

    Args:
        scores: (..., n_tokens), real numbers.
        units: The units to fold onto.
        how: The rule.
        empty: The score of a unit that no token touches; with ``sum`` it is 0 whatever this says.

    Returns:
        (..., n_units), float32 where the scores are float16 or float32, and else float64. All
        arithmetic is in float64.

    Raises:
        UsageError: the shape, the type or the rule is wrong.
    """
    values = _numbers(scores, "scores")
    if values.ndim < 1 or values.shape[-1] != units.n_tokens:
        raise UsageError(
            f"scores have shape {values.shape}; expected (..., {units.n_tokens}), one for each "
            "token of the units\n"
            "hint: cut padding off, and encode with the add_special_tokens of the model's input"
        )
    return _fold(values.astype(np.float64), units, how, empty).astype(_result_type(values))


def fold_attention(
    attention: ArrayLike,
    units: Units,
    *,
    key_units: Units | None = None,
    queries: Rule = "mean",
    keys: Rule = "sum",
    renormalize: bool = False,
    empty: float = np.nan,
) -> Floats:
    """Fold matrices of tokens by tokens onto units by units.

    With the default rules a row still sums to 1, less the attention to keys that no unit has
    (dropped special tokens); ``renormalize`` shares that out again.

    Args:
        attention: (..., n_queries, n_keys), real numbers: layers and heads may come first.
        units: Units of the queries.
        key_units: Units of the keys, where they are another text (cross attention).
        queries: The rule over queries.
        keys: The rule over keys.
        renormalize: Divide each row by its sum, where that is above 0.
        empty: The value of rows and columns of a unit that no token touches, where the rule is not
            ``sum``: that gives 0.

    Returns:
        (..., n_query_units, n_key_units), of the type that ``fold_scores`` gives.

    Raises:
        UsageError: the shape, the type or a rule is wrong.
    """
    values = _numbers(attention, "attention")
    columns = units if key_units is None else key_units
    expected = (units.n_tokens, columns.n_tokens)
    if values.ndim < 2 or values.shape[-2:] != expected:
        raise UsageError(
            f"attention has shape {values.shape}; expected (..., {expected[0]}, {expected[1]}), "
            "queries by keys\n"
            "hint: cut padding off, and encode with the add_special_tokens of the model's input"
        )
    result = np.empty((*values.shape[:-2], len(units), len(columns)), _result_type(values))
    n_matrices = math.prod(values.shape[:-2])
    matrices = values.reshape(n_matrices, *expected)
    folded_matrices = result.reshape(n_matrices, len(units), len(columns))
    n_block = max(1, _BLOCK_NUMBERS // max(1, expected[0] * expected[1]))
    for first in range(0, n_matrices, n_block):
        block = matrices[first : first + n_block].astype(np.float64)
        by_key = _fold(block, columns, keys, empty)
        folded = _fold(by_key.swapaxes(-1, -2), units, queries, empty).swapaxes(-1, -2)
        if renormalize:
            totals = np.nansum(folded, axis=-1, keepdims=True)
            folded = np.divide(folded, totals, out=folded.copy(), where=totals > 0)
        folded_matrices[first : first + n_block] = folded
    return result


def dropped_score(scores: ArrayLike, units: Units) -> Floats:
    """The part of the scores that is in no unit: ``fold_scores`` with ``sum`` lacks this in total.

    Args:
        scores: (..., n_tokens).
        units: The units that they would be folded onto.

    Returns:
        (...), float64.

    Raises:
        UsageError: the shape or the type is wrong.
    """
    values = _numbers(scores, "scores")
    if values.ndim < 1 or values.shape[-1] != units.n_tokens:
        raise UsageError(f"scores have shape {values.shape}; expected (..., {units.n_tokens})")
    lost = np.flatnonzero(units.dropped_shares)
    part = values[..., lost].astype(np.float64) * units.dropped_shares[lost]
    return np.asarray(part.sum(axis=-1))


def _fold(
    values: NDArray[np.float64], units: Units, how: Rule, empty: float
) -> NDArray[np.float64]:
    if how not in get_args(Rule):
        raise UsageError(f"rule is {how!r}; expected one of {', '.join(get_args(Rule))}")
    folded = np.full((*values.shape[:-1], len(units)), 0.0 if how == "sum" else empty)
    if len(units.pair_units) == 0:
        return folded
    # Pairs are sorted by unit, then token: where the pairs of each unit with tokens begin.
    begins = np.flatnonzero(np.diff(units.pair_units, prepend=-1))
    filled = units.pair_units[begins]
    if how in ("first", "last"):
        at = begins if how == "first" else np.append(begins[1:], len(units.pair_units)) - 1
        folded[..., filled] = values[..., units.pair_tokens[at]]
        return folded
    picked = values[..., units.pair_tokens]
    if how in ("max", "min"):
        extreme = np.maximum if how == "max" else np.minimum
        folded[..., filled] = extreme.reduceat(picked, begins, axis=-1)
        return folded
    picked *= units.pair_shares
    sums = np.add.reduceat(picked, begins, axis=-1)
    if how == "mean":
        sums /= np.add.reduceat(units.pair_shares, begins)
    folded[..., filled] = sums
    return folded


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise UsageError(
            f"{name} have no shape: {error}\nhint: fold_scores_batch takes a list of arrays"
        ) from error
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} have type {array.dtype}; expected real numbers")
    return array


def _result_type(values: NDArray[Any]) -> type[np.floating[Any]]:
    small = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return np.float32 if small else np.float64


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


@dataclass(frozen=True, slots=True)
class ScoredSegment:
    """A stretch of text with its score.

    Attributes:
        text: The text; of a special token its label.
        start: First code point.
        end: One past the last code point; equal to the start for a special token.
        score: The unit's score; None: the text is in no unit, or the score is not a number.
        relative: The score divided by the largest magnitude of all, -1 to 1; None where the
            score is.
        n_tokens: Tokens that have a share in it.
        is_special: True if it is a special token, which is not in the text.
    """

    text: str
    start: int
    end: int
    score: float | None
    relative: float | None
    n_tokens: int
    is_special: bool

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def scored_segments(
    units: Units, scores: ArrayLike, *, special_labels: Sequence[str] = ()
) -> list[ScoredSegment]:
    """Cut the text into the units, with their scores.

    The segments that are not special, joined, are the text: what lies between units has segments
    without a score. A unit that begins inside the one before it (a character whose bytes belong to
    two words) has the rest, which may be nothing.

    Args:
        units: Words, characters or spans.
        scores: (n_units,), as ``fold_scores`` gives them for one text.
        special_labels: Labels of the special tokens, in their order; ``""`` for those beyond.

    Raises:
        UsageError: the scores have another shape, or the units are bytes, which are no text.
    """
    if units.kind == "bytes":
        raise UsageError("bytes cannot be drawn as text; expected words, characters or spans")
    values = np.asarray(scores, np.float64)
    if values.shape != (len(units),):
        raise UsageError(f"scores have shape {values.shape}; expected ({len(units)},)")
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if finite.size else 0.0
    labels = iter(special_labels)
    found: list[ScoredSegment] = []
    position = 0

    def gap(end: int) -> None:
        if end > position:
            text = units.text[position:end]
            found.append(ScoredSegment(text, position, end, None, None, 0, is_special=False))

    rows = zip(
        units.starts.tolist(),
        units.ends.tolist(),
        values.tolist(),
        units.n_tokens_of_unit.tolist(),
        units.is_special.tolist(),
        strict=True,
    )
    for start, end, value, n_tokens, special in rows:
        score = value if math.isfinite(value) else None
        relative = None if score is None else score / largest if largest else 0.0
        if special:
            label = next(labels, "")
            found.append(
                ScoredSegment(label, position, position, score, relative, n_tokens, is_special=True)
            )
            continue
        gap(start)
        begin = max(start, position)
        position = max(end, position)
        text = units.text[begin:position]
        found.append(
            ScoredSegment(text, begin, position, score, relative, n_tokens, is_special=False)
        )
    gap(len(units.text))
    return found
