"""Text that documents share: a system prompt in front of all, a footer, lines of a template.

It is learnt from the documents that are looked at together, and what was learnt once stays known:
the beginning (and the end) that enough different documents have in common, and long lines that
stand in as many. Each document then loses what it shares.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Sequence

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
