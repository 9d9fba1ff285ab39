"""Text that requests share: beginnings by digest, a system prompt, a footer, lines of a template.

Shared text is learnt from the documents that are looked at together, and what was learnt once stays
known: the beginning (and the end) that enough different documents have in common, and long lines
that stand in as many. Each document then loses what it shares.

A prompt cache serves what a request has in common with one before it. The longest beginning that a
request shares with any other is that with its neighbour in the order of the alphabet. Cost:
O(n log n) comparisons of the first requests seen.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from jeton._core import TextBatch, Tokenizer

MIN_CHARS = 40
"""Characters of a beginning or a line that is no coincidence. A heading or greeting is shorter."""

MIN_DOCUMENTS = 2
"""Different documents that share it. Our choice: both sides of a comparison lose it alike."""

MIN_SHARE = 0.05
"""Part of the documents, too: one in twenty is a template's."""

_MAX_KNOWN = 10_000
"""Beginnings, ends and lines that are remembered of earlier documents."""


class SharedText:
    """Text that the documents seen so far share."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._heads = _Edges()
        self._tails = _Edges()

    def without(self, texts: Sequence[str]) -> list[str]:
        """Learn from these texts, and take from each what it shares with others."""
        different = list(dict.fromkeys(texts))
        least = max(MIN_DOCUMENTS, math.ceil(MIN_SHARE * len(different)))
        if len(different) >= least:
            self._heads.learn(different, least)
            self._tails.learn([text[::-1] for text in different], least)
        bodies = {text: self._body(text) for text in different}
        if len(different) >= least:
            self._learn_lines(list(bodies.values()), least)
        return [self._without_lines(bodies[text]) for text in texts]

    def _body(self, text: str) -> str:
        start = self._heads.length_in(text)
        rest = text[start:]
        return rest[: len(rest) - self._tails.length_in(rest[::-1])]

    def _learn_lines(self, texts: Sequence[str], least: int) -> None:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update({line for line in text.split("\n") if len(line) >= MIN_CHARS})
        for line, n in counts.items():
            if n >= least and len(self._lines) < _MAX_KNOWN:
                self._lines[line] = None

    def _without_lines(self, text: str) -> str:
        if not self._lines:
            return text
        lines = text.split("\n")
        kept = [line for line in lines if line not in self._lines]
        return text if len(kept) == len(lines) else "\n".join(kept)


class _Edges:
    """Beginnings that enough texts have in common, the longest of each."""

    def __init__(self) -> None:
        self._known: list[str] = []

    def learn(self, texts: Sequence[str], least: int) -> None:
        """Find what every ``least`` neighbours in the order of the alphabet begin with."""
        ordered = sorted(texts)
        found = set(self._known)
        for first, last in zip(ordered, ordered[least - 1 :], strict=False):
            # All between them begin with it too.
            common = _common(first, last)
            # A word that goes on differently is not cut.
            common = common[: _end_of_word(common)]
            if len(common) >= MIN_CHARS:
                found.add(common)
        if len(found) <= _MAX_KNOWN:
            self._known = sorted(found)

    def length_in(self, text: str) -> int:
        """Characters of the longest known beginning that a text has."""
        # Among all its beginnings, the longest is the last one that is not behind it.
        place = bisect.bisect_right(self._known, text)
        while place and not text.startswith(self._known[place - 1]):
            shared = _common(self._known[place - 1], text)
            if len(shared) < MIN_CHARS:
                return 0
            place = bisect.bisect_right(self._known, shared, 0, place - 1)
        return len(self._known[place - 1]) if place else 0


def _common(first: str, second: str) -> str:
    """The beginning of both, by halving: comparing slices is far faster than characters."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]


def _end_of_word(text: str) -> int:
    end = len(text)
    while end and not text[end - 1].isspace():
        end -= 1
    return end or len(text)


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
        lengths = [_common_length(a, b) for a, b in itertools.pairwise(ordered)]
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


def _common_length(first: bytes, second: bytes) -> int:
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
