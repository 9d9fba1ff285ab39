"""The requests of late, in bounded memory: what the causes of a change are looked for in."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Final

_MAX_TEXT_CHARS: Final = 20_000
"""Longer texts are not kept for the causes: their features would take seconds to look for."""


@dataclass(frozen=True, slots=True)
class RequestBilling:
    """Facts that decide the bill of a request beside its numbers of tokens.

    Attributes:
        model: Model as logged; empty: not stated.
        provider: Provider as logged; empty: not stated.
        tariff: Tariff, such as ``batch``.
        n_cached: Input tokens read from a cache.
        n_written: Input tokens written to one.
        n_written_1h: Input tokens written to one for an hour; part of ``n_written``.
        n_reasoning: Output tokens of reasoning.
        blocks: Kind (`BlockKind`), first byte and end of each block of the text; empty: its parts
            are not known.
    """

    model: str = ""
    provider: str = ""
    tariff: str = "standard"
    n_cached: int = 0
    n_written: int = 0
    n_written_1h: int = 0
    n_reasoning: int = 0
    blocks: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RecentRequest:
    """One request of late; ``n_billed`` are its input tokens as billed, else as counted."""

    number: int
    text: str | None
    route: str
    source: str
    levels: dict[str, int]
    at: float | None
    n_tokens: int
    n_billed: int
    n_output: int = 0
    overhead_tokens: int = 0
    billing: RequestBilling = field(default_factory=RequestBilling)

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


class RequestSample:
    """An even draw of requests with text, the same for the same stream."""

    def __init__(self, *, max_texts: int) -> None:
        self.requests: list[RecentRequest] = []
        self._max_texts = max_texts
        self._n = 0
        self._draw = random.Random(0)

    def add(self, request: RecentRequest) -> None:
        """Offer a request."""
        if request.text is None or len(request.text) > _MAX_TEXT_CHARS:
            return
        self._n += 1
        if len(self.requests) < self._max_texts:
            self.requests.append(request)
            return
        place = self._draw.randrange(self._n)
        if place < self._max_texts:
            self.requests[place] = request
