"""Output lengths foreseen from history: means, quantiles, and draws from recent answers.

Nothing of a request is used but the length of its prompt, and nothing of the future: a request
teaches when it has finished. Quantiles are taken from counts in bins of a sixteenth of an octave
(at most 4.4% wide), so that predicting and learning cost O(1) whatever the history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from typing import Protocol

from jeton.errors import UsageError
from tests.economics.serving_reference.length_bins import bin_of, longest_of

__all__ = ["LengthForecast", "LengthSample", "MeanLength", "OutputPredictor", "OutputQuantile"]

_MIN_HISTORY = 32
"""Finished requests of about the same prompt length before they are believed; until then all
finished requests speak, and before there are as many of these, the caller's own guess."""
_REFRESH = 64
"""Finished requests after which a quantile is looked up anew: early on, whenever their number grew
by an eighth."""


_SAMPLE = 1000
"""Recent answers that lengths are drawn from: the window of arXiv:2507.10150."""


class LengthForecast(Protocol):
    """Foresees the output of a request."""

    def predict(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """Output tokens to count on; None without history."""

    def learn(self, prompt_tokens: int, output_tokens: int, group: tuple[str, ...] = ()) -> None:
        """Take a finished request into the history."""


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
                self.value = longest_of(key)
                return


class OutputPredictor:
    """Predicts output lengths of requests from those that have finished."""

    def __init__(self, *, quantile: float) -> None:
        if not 0 < quantile < 1:
            raise UsageError(f"quantile is {quantile}; expected between 0 and 1")
        self._quantile = quantile
        self._all = _History(quantile)
        self._by_prompt: dict[int, _History] = {}

    def predict(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """Output tokens that are exceeded with a chance of 1 - quantile; None without history."""
        history = self._by_prompt.get(prompt_tokens.bit_length())
        if history is not None and history.n >= _MIN_HISTORY:
            return history.value
        return self._all.value if self._all.n >= _MIN_HISTORY else None

    def learn(
        self,
        prompt_tokens: int,
        output_tokens: int,
        group: tuple[str, ...] = (),
    ) -> None:
        """Take a finished request into the history."""
        key = bin_of(output_tokens)
        self._all.add(key)
        octave = prompt_tokens.bit_length()
        history = self._by_prompt.get(octave)
        if history is None:
            history = self._by_prompt[octave] = _History(self._quantile)
        history.add(key)


class OutputQuantile:
    """Predicts one quantile of all finished answers, whatever the prompt."""

    def __init__(self, *, quantile: float) -> None:
        self._history = _History(quantile)

    def predict(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """The quantile; None without history."""
        history = self._history
        return history.value if history.n >= _MIN_HISTORY else None

    def learn(
        self,
        prompt_tokens: int,
        output_tokens: int,
        group: tuple[str, ...] = (),
    ) -> None:
        """Take a finished request into the history."""
        self._history.add(bin_of(output_tokens))


class MeanLength:
    """Predicts the mean of all finished answers."""

    def __init__(self) -> None:
        self._n = self._total = 0

    def predict(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """The mean, rounded up; None without history."""
        return -(-self._total // self._n) if self._n >= _MIN_HISTORY else None

    def learn(
        self,
        prompt_tokens: int,
        output_tokens: int,
        group: tuple[str, ...] = (),
    ) -> None:
        """Take a finished request into the history."""
        self._n += 1
        self._total += output_tokens


class LengthSample:
    """Draws lengths from the last 1,000 answers, by seed."""

    def __init__(self, *, seed: int) -> None:
        self._recent: deque[int] = deque()
        self._ordered: list[int] = []
        self._state = seed

    def predict(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """The length of a recent answer; None without history."""
        return self.longer_than(0) if len(self._ordered) >= _MIN_HISTORY else None

    def longer_than(self, given: int) -> int | None:
        """The length of a recent answer with more than ``given`` tokens; None: none has more."""
        ordered = self._ordered
        start = bisect_right(ordered, given)
        n = len(ordered) - start
        return ordered[start + (self._draw() * n >> 64)] if n else None

    def _draw(self) -> int:
        """A number below 2^64 (SplitMix64)."""
        mask = (1 << 64) - 1
        self._state = mixed = (self._state + 0x9E3779B97F4A7C15) & mask
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & mask
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & mask
        return mixed ^ mixed >> 31

    def learn(
        self,
        prompt_tokens: int,
        output_tokens: int,
        group: tuple[str, ...] = (),
    ) -> None:
        """Take a finished request into the history; the oldest of 1,000 leaves it."""
        recent, ordered = self._recent, self._ordered
        recent.append(output_tokens)
        insort(ordered, output_tokens)
        if len(recent) > _SAMPLE:
            del ordered[bisect_left(ordered, recent.popleft())]
