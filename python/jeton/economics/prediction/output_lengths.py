"""Output lengths foreseen from history: split-conformal intervals by group and prompt length.

Nothing of a request is used but its prompt's length and the fields that the caller names, and
nothing of the future: a request teaches when it has finished. The histories are compiled
(``crates/jeton-serving``); the simulator's policies learn from the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton._core import OutputHistory
from jeton.errors import UsageError

MIN_HISTORY = 32
"""Finished requests before a group is believed, at the least."""

MAX_GROUPS = 4096
"""Groups that are remembered; beyond, the one that has not learned for the longest is forgotten."""

_MAX_TOKENS = 1 << 62
_MAX_HISTORY = 1 << 31


@dataclass(frozen=True, slots=True)
class LengthInterval:
    """Output tokens that a request is expected to have.

    Attributes:
        lower_tokens: Fewest.
        upper_tokens: Most.
        coverage: Share of requests whose output lies between the two, both included.
        n_history: Finished requests that the interval was made of.
        group: Fields of the history that was used: the request's own, or the first of them where
            its own group has too few requests.
    """

    lower_tokens: int
    upper_tokens: int
    coverage: float
    n_history: int
    group: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LengthDrift:
    """A change of a group's output lengths against its own window before.

    Attributes:
        group: Fields of the group.
        n_before: Requests of the window before.
        n_now: Requests since.
        expected_longer_share: Share of the window before that was above its upper quantile.
        longer_share: Share since that is above the same length.
        expected_shorter_share: Share of the window before that was below its lower quantile.
        shorter_share: Share since that is below the same length.
        score: The larger change in standard deviations.
    """

    group: tuple[str, ...]
    n_before: int
    n_now: int
    expected_longer_share: float
    longer_share: float
    expected_shorter_share: float
    shorter_share: float
    score: float


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

    __slots__ = ("_coverage", "history")

    def __init__(self, *, coverage: float = 0.9, min_history: int | None = None) -> None:
        if not 0 < coverage < 1:
            raise UsageError(f"coverage is {coverage}; expected between 0 and 1")
        if min_history is not None and not 1 <= min_history <= _MAX_HISTORY:
            raise UsageError(f"min_history is {min_history}; expected at least 1")
        self._coverage = coverage
        self.history = OutputHistory(coverage, MIN_HISTORY if min_history is None else min_history)

    @property
    def coverage(self) -> float:
        """Share of outputs that an interval is to hold."""
        return self._coverage

    @property
    def min_history(self) -> int:
        """Finished requests before a group is believed."""
        return self.history.min_history

    @property
    def n_groups(self) -> int:
        """Groups that are remembered."""
        return self.history.n_groups

    def copy(self) -> OutputLengths:
        """Return another one that knows as much, and learns for itself."""
        other = OutputLengths(coverage=self._coverage)
        other.history = self.history.copy()
        return other

    def interval(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> LengthInterval | None:
        """Return output tokens between which a request is expected to stop; None without history.

        Args:
            prompt_tokens: Tokens of the request's prompt.
            group: Its fields, the coarsest first: route, model, and whatever tells lengths.

        Raises:
            UsageError: The length is negative, or the group is no tuple.
        """
        _check(prompt_tokens, "prompt_tokens", group)
        found = self.history.foresee(prompt_tokens, group)
        if found is None:
            return None
        lower, upper, _, n_history, n_fields = found
        return LengthInterval(lower, upper, self._coverage, n_history, group[:n_fields])

    def upper(self, prompt_tokens: int, group: tuple[str, ...] = ()) -> int | None:
        """Return output tokens that a share of ``coverage`` does not exceed; None without history.

        Args:
            prompt_tokens: Tokens of the request's prompt.
            group: Its fields, as for ``interval``.

        Raises:
            UsageError: The length is negative, or the group is no tuple.
        """
        _check(prompt_tokens, "prompt_tokens", group)
        found = self.history.foresee(prompt_tokens, group)
        return None if found is None else found[2]

    def learn(self, prompt_tokens: int, output_tokens: int, group: tuple[str, ...] = ()) -> None:
        """Take a finished request into the history.

        Args:
            prompt_tokens: Tokens of its prompt.
            output_tokens: Tokens of its output.
            group: Its fields, as for ``interval``.

        Raises:
            UsageError: A length is negative, or the group is no tuple.
        """
        _check(output_tokens, "output_tokens", group)
        _check(prompt_tokens, "prompt_tokens", group)
        self.history.learn(prompt_tokens, output_tokens, group)

    def drifts(self) -> tuple[LengthDrift, ...]:
        """Return the groups, whatever their prompts' lengths, that have drifted of late.

        A group has drifted where more of its outputs are longer or shorter than its own window
        before would let expect by chance; the largest change comes first.
        """
        return tuple(LengthDrift(tuple(found[0]), *found[1:]) for found in self.history.drifts())


def _check(tokens: int, name: str, group: tuple[str, ...]) -> None:
    if not 0 <= tokens < _MAX_TOKENS:
        raise UsageError(f"{name} is {tokens}; expected at least 0")
    if type(group) is not tuple and not isinstance(group, tuple):
        raise UsageError(
            f"group is {group!r}; expected a tuple of fields\nhint: write ({group!r},)"
        )
