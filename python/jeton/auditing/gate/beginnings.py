"""Length of the beginning that requests share, and the first place at which today's differ.

A prompt cache serves what a request has in common with one before it. The longest beginning that a
request shares with any other is that with its neighbour in the order of the alphabet. Cost:
O(n log n) comparisons of the first requests seen.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from jeton._core import TextBatch, Tokenizer

_MAX_REQUESTS: Final = 512
_HEAD_BYTES: Final = 32_768
_SHOWN_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class SharedBeginning:
    """Tokens that requests have in common with another one at their beginning: sums that merge.

    Attributes:
        n_requests: Requests that were looked at.
        n_tokens: Tokens of their shared beginnings, all together.
    """

    n_requests: int = 0
    n_tokens: int = 0

    @property
    def mean_tokens(self) -> float:
        """Tokens of a request's shared beginning."""
        return self.n_tokens / self.n_requests if self.n_requests else 0.0

    def merge(self, other: SharedBeginning) -> SharedBeginning:
        """The sums of both."""
        return SharedBeginning(self.n_requests + other.n_requests, self.n_tokens + other.n_tokens)


@dataclass(frozen=True, slots=True)
class Divergence:
    """The place at which two requests begin to differ.

    Attributes:
        n_tokens: Tokens that they share.
        before: End of what they share.
        first: Beginning of what follows in one request.
        second: Beginning of what follows in the other.
    """

    n_tokens: int
    before: str
    first: str
    second: str


@dataclass(slots=True)
class Beginnings:
    """The beginnings of the first requests seen."""

    _heads: list[bytes] = field(default_factory=list)

    def add(self, batch: TextBatch) -> None:
        """Take requests, up to a limit."""
        data, offsets = batch.data.data, batch.offsets.tolist()
        for start, end in itertools.pairwise(offsets):
            if len(self._heads) == _MAX_REQUESTS:
                return
            self._heads.append(bytes(data[start : min(end, start + _HEAD_BYTES)]))

    def _shared(self) -> list[tuple[int, bytes, bytes]]:
        """For each request the bytes that it shares with its nearest one, and both."""
        ordered = sorted(set(self._heads))
        lengths = [_common(a, b) for a, b in itertools.pairwise(ordered)]
        found = []
        for i, head in enumerate(ordered):
            ways = [(lengths[i - 1], ordered[i - 1])] if i else []
            if i < len(lengths):
                ways.append((lengths[i], ordered[i + 1]))
            if ways:
                n, other = max(ways)
                found.append((n, head, other))
        return found

    def shared(self, tokenizer: Tokenizer) -> SharedBeginning:
        """Return the sums over the requests seen; equal requests count once."""
        texts = [_text(head[:n]) for n, head, _ in self._shared()]
        if not texts:
            return SharedBeginning()
        return SharedBeginning(len(texts), int(np.sum(tokenizer.count_batch(texts))))

    def divergence(self, tokenizer: Tokenizer) -> Divergence | None:
        """Return where the pair in the middle differs, by the length of what it shares."""
        pairs = sorted(self._shared())
        if not pairs:
            return None
        n, first, second = pairs[len(pairs) // 2]
        return Divergence(
            tokenizer.count(_text(first[:n])),
            _text(first[:n])[-_SHOWN_CHARS:],
            _text(first[n : n + 4 * _SHOWN_CHARS])[:_SHOWN_CHARS],
            _text(second[n : n + 4 * _SHOWN_CHARS])[:_SHOWN_CHARS],
        )


def _common(first: bytes, second: bytes) -> int:
    n = min(len(first), len(second))
    a = np.frombuffer(first, dtype=np.uint8, count=n)
    b = np.frombuffer(second, dtype=np.uint8, count=n)
    differ = np.flatnonzero(a != b)
    length = int(differ[0]) if len(differ) else n
    # A character is not cut.
    while length and length < n and first[length] & 0xC0 == 0x80:
        length -= 1
    return length


def _text(data: bytes) -> str:
    return data.decode("utf-8", "ignore")
