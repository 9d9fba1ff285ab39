"""State of a router: conversations and their caches, lengths of answers, limits a minute.

Memory is bounded: the conversations that were silent for the longest are forgotten.

Lengths are kept in tokens of the first endpoint, so that what one endpoint answered teaches of all.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from jeton.economics.prediction.output_lengths import OutputLengths

MAX_CONVERSATIONS: Final = 50_000
_MAX_TASKS: Final = 4096
_HALVE_AT: Final = 8192
_MOST_TURNS: Final = 50.0

_SILENCE_S: Final = 300.0
"""Seconds after which a conversation has ended: as long as providers keep prompts by default."""

_PRIOR_TURNS: Final = 2.0
"""Turns to come before anything is known of conversations. A judgement: a request that names its
conversation rarely stays alone."""

_MIN_REQUESTS: Final = 200
"""Requests without a second turn after which that is believed no more."""

_NOTHING: Final = (0.0, 0.0, 0.0, 0.0)


class Conversation:
    """One conversation.

    Attributes:
        last: Place of the endpoint that had its last request.
        length: Tokens of the last prompt, by the first endpoint.
        prompts: For each endpoint that had one: tokens of its last prompt there, and when.
    """

    __slots__ = ("last", "length", "prompts")

    def __init__(self) -> None:
        self.last = -1
        self.length = 0
        self.prompts: dict[int, tuple[int, float]] = {}

    def cached(self, place: int, n_tokens: int, now_s: float, ttl_s: float, least: int) -> int:
        """Return the tokens of a prompt that an endpoint's cache may still hold."""
        found = self.prompts.get(place)
        if found is None or now_s - found[1] > ttl_s or found[0] < least:
            return 0
        return min(found[0], n_tokens)


class Conversations:
    """The conversations of late.

    Args:
        most: Conversations that are remembered.
    """

    def __init__(self, *, most: int = MAX_CONVERSATIONS) -> None:
        self._most = most
        self._known: dict[object, Conversation] = {}

    def get(self, name: object) -> Conversation | None:
        """Return a conversation; None if it is not known, or has no name."""
        return self._known.get(name) if name else None

    def sent(self, name: object, place: int, n_tokens: int, now_s: float, length: int = 0) -> None:
        """Note that a request was sent."""
        if not name:
            return
        found = self._known.pop(name, None)
        if found is None:
            found = Conversation()
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
        self._known[name] = found
        found.last = place
        found.length = length
        found.prompts[place] = (n_tokens, now_s)


class TurnsToCome(NamedTuple):
    """Turns that a conversation is expected to have yet.

    Attributes:
        n_turns: Their expected number.
        growth_tokens: Tokens that a prompt grows by from turn to turn, by the first endpoint.
    """

    n_turns: float
    growth_tokens: float


class TurnStatistics:
    """Learns how long conversations are: a turn is followed by another with equal probability.

    Turns that come after ``_SILENCE_S`` find no cache, so they do not count: a conversation that
    was silent for so long has ended. With probability p of another turn, p / (1 - p) are to come.
    Conversations that are still open tell nothing yet.
    """

    __slots__ = ("_by_task", "_open", "_waiting")

    def __init__(self) -> None:
        self._by_task: dict[str, list[float]] = {}
        self._open: dict[object, int] = {}
        self._waiting: deque[tuple[float, object, int, str]] = deque()

    def to_come(self, task: str) -> TurnsToCome:
        """Return the turns to come of a conversation about a task."""
        n, continued, growth, ended = self._by_task.get(task, _NOTHING)
        growth = growth / continued if continued else 0.0
        if ended:
            turns = (continued + _PRIOR_TURNS) / (ended + 1)
        else:
            # No conversation has been silent for long enough: those that came back tell.
            turns = continued / (n - continued + 1)
            if continued or n < _MIN_REQUESTS:
                turns = max(turns, _PRIOR_TURNS)
        return TurnsToCome(min(turns, _MOST_TURNS), growth)

    def add(self, task: str, name: object, growth_tokens: int | None, now_s: float) -> None:
        """Take a request of a conversation; the growth is None for its first one."""
        sums = self._by_task.get(task)
        if sums is None:
            if len(self._by_task) >= _MAX_TASKS:
                del self._by_task[next(iter(self._by_task))]
            sums = self._by_task[task] = list(_NOTHING)
        sums[0] += 1
        if growth_tokens is not None and name in self._open:
            sums[1] += 1
            sums[2] += max(growth_tokens, 0)
        if sums[0] > _HALVE_AT:
            sums[:] = [value / 2 for value in sums]
        turn = self._open.get(name, 0) + 1
        self._open[name] = turn
        self._waiting.append((now_s, name, turn, task))
        while self._waiting and (
            now_s - self._waiting[0][0] > _SILENCE_S or len(self._waiting) > MAX_CONVERSATIONS
        ):
            _, old, number, about = self._waiting.popleft()
            if self._open.get(old) == number:
                del self._open[old]
                sums = self._by_task.get(about)
                if sums is not None:
                    sums[3] += 1


NO_TURNS: Final = TurnsToCome(0.0, 0.0)
"""No turn is expected to come."""


_MINUTE_S = 60.0


class RateLimit:
    """Room that an endpoint has left.

    A full bucket holds one minute's worth. Constant time; a clock that runs backwards refills
    nothing.

    Args:
        requests_per_minute: Requests of a minute; None: no limit.
        tokens_per_minute: Tokens of a minute; None: no limit.
    """

    __slots__ = ("_last_s", "_requests", "_requests_left", "_tokens", "_tokens_left")

    def __init__(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._requests_left = float(requests_per_minute or 0)
        self._tokens_left = float(tokens_per_minute or 0)
        self._last_s = float("-inf")

    def has_room(self, n_tokens: float, now_s: float) -> bool:
        """True if a request of `n_tokens` may be sent now."""
        self._refill(now_s)
        if self._requests is not None and self._requests_left < 1:
            return False
        return self._tokens is None or self._tokens_left >= min(n_tokens, self._tokens)

    def take(self, n_tokens: float, now_s: float) -> None:
        """Note that a request was sent."""
        self._refill(now_s)
        self._requests_left -= 1
        self._tokens_left -= n_tokens

    def _refill(self, now_s: float) -> None:
        passed = now_s - self._last_s
        if passed <= 0:
            return
        self._last_s = now_s
        if self._requests is not None:
            self._requests_left = min(
                self._requests, self._requests_left + passed / _MINUTE_S * self._requests
            )
        if self._tokens is not None:
            self._tokens_left = min(
                self._tokens, self._tokens_left + passed / _MINUTE_S * self._tokens
            )


_MIN_ANSWERS: Final = 8
"""Finished requests before the mean of a group is taken; fewer give a coarser group's."""

_HALVE_ANSWERS_AT: Final = 4096
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
            if sums is not None and sums[0] >= _MIN_ANSWERS:
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
            elif sums[0] >= _HALVE_ANSWERS_AT:
                sums[0] /= 2
                sums[1] /= 2
            sums[0] += 1
            sums[1] += output_tokens
        self._lengths.learn(prompt_tokens, round(output_tokens), (task,))
