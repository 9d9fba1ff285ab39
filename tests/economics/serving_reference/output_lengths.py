"""Output lengths foreseen from history: split-conformal intervals by group and prompt length.

Nothing of a request is used but its prompt's length and the fields that the caller names, and
nothing of the future: a request teaches when it has finished.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from jeton.errors import UsageError
from tests.economics.serving_reference.length_bins import bin_of
from tests.economics.serving_reference.length_history import (
    LengthDrift,
    LengthHistory,
    LengthInterval,
)

__all__ = ["LengthInterval", "OutputLengths"]

MIN_HISTORY = 32
"""Finished requests before a group is believed, at the least."""

MAX_GROUPS = 4096
"""Groups that are remembered; beyond, the one that has not learned for the longest is forgotten."""

_WINDOW = 1024
"""Requests of a window: a group remembers between one and two of them."""


class OutputLengths:
    """Intervals of output lengths, learned from finished requests.

    A request is predicted from the finest group that has enough history: its fields and the octave
    of its prompt's length, then its fields, then the same without the last field, and so on to all
    requests. Both calls take constant amortised time, whatever the history. Memory is bounded: at
    most ``MAX_GROUPS`` groups, each of two windows of counts in at most 378 bins.

    Coverage holds where later requests are exchangeable with earlier ones; an online correction
    (adaptive conformal inference) keeps it near the target where they drift.

    Args:
        coverage: Share of outputs that an interval, and an upper bound, is to hold.
        min_history: Finished requests before a group is believed; None: 32, or as many as the
            coverage needs.

    Raises:
        UsageError: A number is out of range.

    Example:
        >>> lengths = OutputLengths(coverage=0.9)
        >>> for output in range(1, 1001):
        ...     lengths.learn(300, output % 100, ("chat", "llama-3-8b"))
        >>> found = lengths.interval(280, ("chat", "llama-3-8b"))
        >>> found.lower_tokens, found.upper_tokens, found.group
        (4, 94, ('chat', 'llama-3-8b'))
        >>> lengths.upper(280, ("chat", "llama-3-8b"))
        90
        >>> OutputLengths().interval(280) is None
        True
    """

    __slots__ = ("_coverage", "_histories", "_min_history", "_window")

    def __init__(self, *, coverage: float = 0.9, min_history: int | None = None) -> None:
        if not 0 < coverage < 1:
            raise UsageError(f"coverage is {coverage}; expected between 0 and 1")
        if min_history is not None and min_history < 1:
            raise UsageError(f"min_history is {min_history}; expected at least 1")
        needed = math.ceil(2 / (1 - coverage) - 1e-9)
        self._coverage = coverage
        self._min_history = max(MIN_HISTORY if min_history is None else min_history, needed)
        self._window = max(_WINDOW, 2 * self._min_history)
        self._histories: dict[tuple[int, tuple[str, ...]], LengthHistory] = {}

    @property
    def coverage(self) -> float:
        """Share of outputs that an interval is to hold."""
        return self._coverage

    @property
    def min_history(self) -> int:
        """Finished requests before a group is believed."""
        return self._min_history

    @property
    def n_groups(self) -> int:
        """Groups that are remembered."""
        return len(self._histories)

    def interval(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> LengthInterval | None:
        """Return output tokens between which a request is expected to stop; None without history.

        Args:
            prompt_tokens: Tokens of the request's prompt.
            group: Its fields, the coarsest first: route, model, and whatever tells lengths.

        Raises:
            UsageError: The length is negative, or the group is no tuple.
        """
        history = self._finest(prompt_tokens, group)
        return None if history is None else history.interval

    def upper(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """Return output tokens that a share of ``coverage`` does not exceed; None without history.

        Args:
            prompt_tokens: Tokens of the request's prompt.
            group: Its fields, as for ``interval``.

        Raises:
            UsageError: The length is negative, or the group is no tuple.
        """
        history = self._finest(prompt_tokens, group)
        return None if history is None else history.upper

    def learn(self, prompt_tokens: int, output_tokens: int, group: tuple[str, ...] = ()) -> None:
        """Take a finished request into the history.

        Args:
            prompt_tokens: Tokens of its prompt.
            output_tokens: Tokens of its output.
            group: Its fields, as for ``interval``.

        Raises:
            UsageError: A length is negative, or the group is no tuple.
        """
        if output_tokens < 0:
            raise UsageError(f"output_tokens is {output_tokens}; expected at least 0")
        place = bin_of(output_tokens)
        histories = self._histories
        for key in _levels(prompt_tokens, group):
            # Taken out and put back: the order of the dictionary is that of the last lesson.
            history = histories.pop(key, None)
            if history is None:
                if len(histories) >= MAX_GROUPS:
                    del histories[next(iter(histories))]
                history = LengthHistory(
                    coverage=self._coverage,
                    min_history=self._min_history,
                    window=self._window,
                    group=key[1],
                )
            histories[key] = history
            history.add(place)

    def drifts(self) -> tuple[LengthDrift, ...]:
        """Return the groups, whatever their prompts' lengths, that have drifted of late.

        A group has drifted where more of its outputs are longer or shorter than its own window
        before would let expect by chance; the largest change comes first.
        """
        found = [
            history.drift
            for (octave, _), history in self._histories.items()
            if octave < 0 and history.drift is not None
        ]
        return tuple(sorted(found, key=lambda drift: (-drift.score, drift.group)))

    def _finest(self, prompt_tokens: int, group: tuple[str, ...]) -> LengthHistory | None:
        histories = self._histories
        for key in _levels(prompt_tokens, group):
            history = histories.get(key)
            if history is not None and history.interval is not None:
                return history
        return None


def _levels(prompt_tokens: int, group: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Keys of the histories of a request, the finest first; -1 is any length of the prompt."""
    if prompt_tokens < 0:
        raise UsageError(f"prompt_tokens is {prompt_tokens}; expected at least 0")
    if type(group) is not tuple and not isinstance(group, tuple):
        raise UsageError(
            f"group is {group!r}; expected a tuple of fields\nhint: write ({group!r},)"
        )
    octave = prompt_tokens.bit_length()
    yield octave, group
    yield -1, group
    while group:
        group = group[:-1]
        yield octave, group
        yield -1, group
