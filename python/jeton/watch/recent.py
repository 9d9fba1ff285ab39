"""The requests of late, in bounded memory: what the causes of a change are looked for in."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import Final

__all__ = ["RecentRequest", "RecentRequests", "TextSample"]

_MAX_TEXT_CHARS: Final = 20_000
"""Longer texts are not kept for the causes: their features would take seconds to look for."""


@dataclass(frozen=True, slots=True)
class RecentRequest:
    """One request of late."""

    number: int
    text: str | None
    route: str
    source: str
    levels: dict[str, int]
    at: float | None
    n_tokens: int

    @property
    def domain(self) -> str:
        """Name of the mix of sources."""
        return self.source or self.route


class RecentRequests:
    """The last requests, at most ``max_requests`` and ``max_chars`` of text."""

    def __init__(self, *, max_requests: int, max_chars: int) -> None:
        self._requests: deque[RecentRequest] = deque()
        self._max_requests, self._max_chars = max_requests, max_chars
        self._n_chars = 0

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: RecentRequest) -> None:
        """Take a request; the oldest ones go."""
        self._requests.append(request)
        self._n_chars += len(request.text or "")
        while len(self._requests) > 1 and (
            len(self._requests) > self._max_requests or self._n_chars > self._max_chars
        ):
            self._n_chars -= len(self._requests.popleft().text or "")

    def since(self, number: int, *, route: str = "") -> list[RecentRequest]:
        """Return the kept requests from a number on, of one route or of all."""
        return [r for r in self._requests if r.number >= number and route in ("", r.route)]


class TextSample:
    """An even draw of texts, the same for the same stream."""

    def __init__(self, *, max_texts: int) -> None:
        self.texts: list[str] = []
        self.domains: list[str] = []
        self._max_texts = max_texts
        self._n = 0
        self._draw = random.Random(0)

    def add(self, text: str, domain: str) -> None:
        """Offer a text."""
        if len(text) > _MAX_TEXT_CHARS:
            return
        self._n += 1
        if len(self.texts) < self._max_texts:
            self.texts.append(text)
            self.domains.append(domain)
            return
        place = self._draw.randrange(self._n)
        if place < self._max_texts:
            self.texts[place], self.domains[place] = text, domain
