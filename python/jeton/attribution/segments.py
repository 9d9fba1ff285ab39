"""Scores as stretches of the text: what a coloured view draws, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jeton.attribution.units import Units
from jeton.errors import UsageError


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
