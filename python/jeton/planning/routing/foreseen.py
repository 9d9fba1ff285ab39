"""Output lengths as a router foresees them: an interval, and a mean, learned from what finished.

Lengths are kept in tokens of the first endpoint, so that what one endpoint answered teaches of all.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from jeton.economics.prediction.output_lengths import OutputLengths

_MIN_REQUESTS: Final = 8
"""Finished requests before the mean of a group is taken; fewer give a coarser group's."""

_HALVE_AT: Final = 4096
"""Requests after which a mean's sums are halved, so that it follows the traffic."""

_MAX_GROUPS: Final = 8192


class ForeseenOutput(NamedTuple):
    """Output tokens of a request.

    Attributes:
        lower: Fewest that the interval holds.
        expected: Mean.
        upper: Most that the interval holds; without history the mean.
        n_history: Finished requests that the interval was made of; 0: an assumption.
    """

    lower: float
    expected: float
    upper: float
    n_history: int


class OutputForesight:
    """Foresees output lengths by task and prompt length.

    Args:
        coverage: Share of outputs that the interval is to hold.
        assumed_tokens: Output tokens before there is any history.
        lengths: History to begin with; None: none.
    """

    def __init__(
        self, *, coverage: float, assumed_tokens: int, lengths: OutputLengths | None = None
    ) -> None:
        self._lengths = OutputLengths(coverage=coverage) if lengths is None else lengths
        self._assumed = float(assumed_tokens)
        self._sums: dict[tuple[str, int], list[float]] = {}

    def of(self, prompt_tokens: int, task: str) -> ForeseenOutput:
        """Return the output of a request with such a prompt, in tokens of the first endpoint."""
        expected = -1.0
        for key in ((task, prompt_tokens.bit_length()), (task, -1), ("", -2)):
            sums = self._sums.get(key)
            if sums is not None and sums[0] >= _MIN_REQUESTS:
                expected = sums[1] / sums[0]
                break
        # The bare numbers: a choice has no time for an object of them.
        found = self._lengths.history.foresee(prompt_tokens, (task,))
        if found is None:
            assumed = self._assumed if expected < 0 else expected
            return ForeseenOutput(0.0, assumed, assumed, 0)
        lower, upper, _, n_history, _ = found
        if expected < 0:
            expected = (lower + upper) / 2
        # The mean of a skewed group may lie beyond its interval; the interval stays as it is.
        return ForeseenOutput(float(lower), expected, float(upper), n_history)

    def learn(self, prompt_tokens: int, output_tokens: float, task: str) -> None:
        """Take a finished request, in tokens of the first endpoint."""
        for key in ((task, prompt_tokens.bit_length()), (task, -1), ("", -2)):
            sums = self._sums.get(key)
            if sums is None:
                if len(self._sums) >= _MAX_GROUPS:
                    del self._sums[next(iter(self._sums))]
                sums = self._sums[key] = [0.0, 0.0]
            elif sums[0] >= _HALVE_AT:
                sums[0] /= 2
                sums[1] /= 2
            sums[0] += 1
            sums[1] += output_tokens
        self._lengths.learn(prompt_tokens, round(output_tokens), (task,))
