"""Conversations that a router remembers: where each was sent, and what a prompt cache holds of it.

Memory is bounded: the conversations that were silent for the longest are forgotten.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_CONVERSATIONS", "Conversation", "Conversations"]

MAX_CONVERSATIONS: Final = 50_000


class Conversation:
    """One conversation.

    Attributes:
        last: Place of the endpoint that had its last request.
        prompts: For each endpoint that had one: tokens of its last prompt there, and when.
    """

    __slots__ = ("last", "prompts")

    def __init__(self) -> None:
        self.last = -1
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

    def sent(self, name: object, place: int, n_tokens: int, now_s: float) -> None:
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
        found.prompts[place] = (n_tokens, now_s)
