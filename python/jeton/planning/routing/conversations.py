"""Conversations that a router remembers: where each was sent, and what a prompt cache holds of it.

Memory is bounded: the conversations that were silent for the longest are forgotten.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

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
