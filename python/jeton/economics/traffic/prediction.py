"""Output lengths foreseen from history: a quantile for prompts of about the same length.

Nothing of a request is used but the length of its prompt, and nothing of the future: a request
teaches when it has finished. Quantiles are taken from counts in bins of a sixteenth of an octave
(at most 4.4% wide), so that predicting and learning cost O(1) whatever the history.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from jeton.errors import UsageError

__all__ = ["OutputPredictor", "PredictionError"]

_BINS_PER_OCTAVE = 16
_MIN_HISTORY = 32
"""Finished requests of about the same prompt length before they are believed; until then all
finished requests speak, and before there are as many of these, the caller's own guess."""
_REFRESH = 64
"""Finished requests after which a quantile is looked up anew: early on, whenever their number grew
by an eighth."""


@dataclass(frozen=True, slots=True)
class PredictionError:
    """How good the predictions were, over the requests that had one.

    Attributes:
        n_predicted: Requests for which there was history.
        quantile: Quantile that was predicted.
        covered_share: Share of them whose output was no longer than predicted; near ``quantile``
            where the history speaks for the future.
        mean_excess_tokens: Predicted less actual tokens, mean of those not outgrown.
        mean_shortfall_tokens: Actual less predicted tokens, mean of those outgrown.
        pinball_tokens: Mean quantile loss, tokens: what a better predictor would have less of.
        pinball_tokens_without: The loss of the one constant that suits the trace best: the worth of
            history by prompt length.
    """

    n_predicted: int
    quantile: float
    covered_share: float
    mean_excess_tokens: float
    mean_shortfall_tokens: float
    pinball_tokens: float
    pinball_tokens_without: float


class _History:
    """Counts of output lengths, and the quantile they had when it was last looked up."""

    __slots__ = ("_counts", "_due", "_quantile", "n", "value")

    def __init__(self, quantile: float) -> None:
        self._counts: dict[int, int] = {}
        self._quantile = quantile
        self._due = 1
        self.n = 0
        self.value = 0

    def add(self, key: int) -> None:
        self._counts[key] = self._counts.get(key, 0) + 1
        self.n += 1
        if self.n >= self._due:
            self._due = self.n + min(_REFRESH, self.n // 8 + 1)
            self._look_up()

    def _look_up(self) -> None:
        needed = self._quantile * self.n
        seen = 0
        for key in sorted(self._counts):
            seen += self._counts[key]
            if seen >= needed:
                self.value = _upper(key)
                return


class OutputPredictor:
    """Predicts output lengths of requests from those that have finished."""

    def __init__(self, *, quantile: float) -> None:
        if not 0 < quantile < 1:
            raise UsageError(f"quantile is {quantile}; expected between 0 and 1")
        self._quantile = quantile
        self._all = _History(quantile)
        self._by_prompt: dict[int, _History] = {}
        self._keys: dict[int, int] = {}

    def predict(self, prompt_tokens: int) -> int | None:
        """Output tokens that are exceeded with a chance of 1 - quantile; None without history."""
        history = self._by_prompt.get(prompt_tokens.bit_length())
        if history is not None and history.n >= _MIN_HISTORY:
            return history.value
        return self._all.value if self._all.n >= _MIN_HISTORY else None

    def learn(self, prompt_tokens: int, output_tokens: int) -> None:
        """Take a finished request into the history."""
        key = self._keys.get(output_tokens)
        if key is None:
            key = self._keys[output_tokens] = _bin(output_tokens)
        self._all.add(key)
        octave = prompt_tokens.bit_length()
        history = self._by_prompt.get(octave)
        if history is None:
            history = self._by_prompt[octave] = _History(self._quantile)
        history.add(key)


def _bin(tokens: int) -> int:
    """The bin of a length: exact up to 16 tokens, then sixteenths of octaves."""
    if tokens <= _BINS_PER_OCTAVE:
        return tokens
    place = math.ceil(math.log2(tokens / _BINS_PER_OCTAVE) * _BINS_PER_OCTAVE - 1e-9)
    return _BINS_PER_OCTAVE + place


def _upper(key: int) -> int:
    """The longest length of a bin."""
    if key <= _BINS_PER_OCTAVE:
        return key
    return math.floor(_BINS_PER_OCTAVE * 2 ** ((key - _BINS_PER_OCTAVE) / _BINS_PER_OCTAVE) + 1e-9)


def prediction_error(
    predicted: list[int], actual: list[int], *, quantile: float
) -> PredictionError | None:
    """Return how good predictions were; None without any.

    Formula: pinball loss ``q max(a - p, 0) + (1 - q) max(p - a, 0)``, the loss whose expectation
    the quantile q minimises.

    Source: Koenker and Bassett, Regression Quantiles, Econometrica 46 (1978), doi:10.2307/1913643.
    """
    n = len(predicted)
    if n == 0:
        return None
    over = [p - a for p, a in zip(predicted, actual, strict=True) if a <= p]
    under = [a - p for p, a in zip(predicted, actual, strict=True) if a > p]
    ordered = sorted(actual)
    constant = ordered[min(n - 1, max(0, math.ceil(quantile * n) - 1))]
    place = bisect_left(ordered, constant)
    loss = (quantile * sum(under) + (1 - quantile) * sum(over)) / n
    below = (1 - quantile) * sum(constant - a for a in ordered[:place])
    above = quantile * sum(a - constant for a in ordered[place:])
    return PredictionError(
        n_predicted=n,
        quantile=quantile,
        covered_share=len(over) / n,
        mean_excess_tokens=sum(over) / len(over) if over else 0.0,
        mean_shortfall_tokens=sum(under) / len(under) if under else 0.0,
        pinball_tokens=loss,
        pinball_tokens_without=(below + above) / n,
    )
