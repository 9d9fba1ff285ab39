"""Make a text smaller as long as it still shows a difference.

Delta debugging (A. Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input,
IEEE TSE 28(2), 2002) over characters: parts of the text alone, then the text without one part, with
ever smaller parts. The remaining text is locally minimal: without any one character there is no
difference. Then characters are replaced by simpler ones, and the text is shortened again, until
neither helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from jeton.explaining.batching import batches

Differing = Callable[[Sequence[str]], list[int]]
"""Which of these texts show a difference, as places in ascending order."""

MAX_CHARS = 32_000_000
"""Characters that are tried, all candidates together, before it is left at that: a few seconds."""

_BATCH_CHARS = 200_000
"""Characters of candidates that are tried at once: enough to be worth a call, not much to waste,
since the first that shows a difference ends the batch."""

_SIMPLE = "a "
"""Replacements of other characters, simplest first."""


def size(text: str) -> tuple[int, int, int, str]:
    """Order of texts by size: fewer characters, then fewer bytes, then simpler characters."""
    return (len(text), len(text.encode("utf-8")), sum(map(_complexity, text)), text)


def shrink(text: str, differing: Differing, *, max_chars: int = MAX_CHARS) -> tuple[str, bool]:
    """Find a small text that shows a difference, starting from one that does.

    Args:
        text: A text that shows one.
        differing: Which texts do.
        max_chars: How many characters may be tried, all candidates together.

    Returns:
        The text, and whether it is locally minimal: False where ``max_chars`` came first.
    """
    search = _Search(differing, max_chars)
    best = text
    try:
        while True:
            best = _last(search.shorter(best), best)
            simpler = _last(search.simpler(best), best)
            if simpler == best:
                return best, True
            best = simpler
    except _ExhaustedError as end:
        return end.best, False


def _last(texts: Iterable[str], default: str) -> str:
    """The last of the texts, or ``default`` where there is none."""
    last = default
    for text in texts:
        last = text
    return last


class _ExhaustedError(Exception):
    def __init__(self, best: str) -> None:
        super().__init__("too many characters were tried")
        self.best = best


class _Search:
    def __init__(self, differing: Differing, max_chars: int) -> None:
        self._differing = differing
        self._chars_left = max_chars

    def shorter(self, text: str) -> Iterator[str]:
        """Yield ever shorter texts; the last is locally minimal."""
        n_parts = 2
        while text:
            n_parts = min(n_parts, len(text))
            bounds = [len(text) * part // n_parts for part in range(n_parts + 1)]
            parts = list(pairwise(bounds))
            alone = self._first((text[start:end] for start, end in parts), text)
            if alone is not None and n_parts > 1:
                text, n_parts = alone, 2
                yield text
                continue
            rest = self._first((text[:start] + text[end:] for start, end in parts), text)
            if rest is not None:
                text, n_parts = rest, max(n_parts - 1, 2)
                yield text
            elif n_parts == len(text):
                return
            else:
                n_parts *= 2

    def simpler(self, text: str) -> Iterator[str]:
        """Yield texts of the same length and of ever simpler characters."""
        place = 0
        while place < len(text):
            replaced = (
                text[:place] + char + text[place + 1 :]
                for char in _SIMPLE
                if _complexity(char) < _complexity(text[place])
            )
            found = self._first(replaced, text)
            if found is not None:
                text = found
                yield text
            place += 1

    def _first(self, candidates: Iterable[str], best: str) -> str | None:
        """The first candidate that shows a difference."""
        for batch in batches(candidates, max_chars=_BATCH_CHARS):
            self._chars_left -= sum(len(text) + 1 for text in batch)
            if self._chars_left < 0:
                raise _ExhaustedError(best)
            found = self._differing(batch)
            if found:
                return batch[found[0]]
        return None


def _complexity(char: str) -> int:
    if char in _SIMPLE:
        return _SIMPLE.index(char)
    return len(_SIMPLE)
