"""A text on which two tokenizers differ: searched for, then made as small as it gets.

Delta debugging (A. Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input,
IEEE TSE 28(2), 2002) over characters: parts of the text alone, then the text without one part, with
ever smaller parts. The remaining text is locally minimal: without any one character there is no
difference. Then characters are replaced by simpler ones, and the text is shortened again, until
neither helps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from jeton._core import Tokenizer
from jeton.edge_texts import edge_texts
from jeton.errors import UnknownTokenIdError
from jeton.explaining.result import Pair, Source
from jeton.probe import probe_texts
from jeton.progress import OnProgress, Progress


def batches(
    texts: Iterable[str], *, max_chars: int, max_texts: int = sys.maxsize
) -> Iterator[list[str]]:
    """Yield lists of texts; each ends with the text that reaches one of the limits.

    Args:
        texts: Any number of texts.
        max_chars: Code points of a batch, all texts together.
        max_texts: Texts of a batch.
    """
    batch: list[str] = []
    n_chars = 0
    for text in texts:
        batch.append(text)
        n_chars += len(text)
        if len(batch) >= max_texts or n_chars >= max_chars:
            yield batch
            batch, n_chars = [], 0
    if batch:
        yield batch


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


_BATCH_TEXTS = 2048
_BATCH_OF_SEARCH_CHARS = 4_000_000
"""Characters that are compared at once: many short texts, or few long ones."""


@dataclass(frozen=True, slots=True)
class Found:
    """Texts on which the two differ, all from one source; empty where the search found none."""

    source: Source
    pair: Pair
    texts: list[str]
    n_texts: int  # that were compared until then, in all sources


def search(
    ordinary: Pair,
    special: Pair,
    texts: Iterable[str],
    *,
    n_cases: int,
    seed: int,
    on_progress: OnProgress | None = None,
) -> Found:
    """Compare until a batch of texts shows differences.

    Args:
        ordinary: The two tokenizers, special tokens being text.
        special: Texts with special tokens added and allowed; looked at last.
        texts: The caller's own texts, which come first.
        n_cases: How many of ``edge_texts`` to try.
        seed: Their seed.
        on_progress: Called after each batch.
    """
    n_texts = 0
    for source, pair, found_texts, total in _sources(
        ordinary, special, texts, n_cases=n_cases, seed=seed
    ):
        done = 0
        for batch in batches(found_texts, max_texts=_BATCH_TEXTS, max_chars=_BATCH_OF_SEARCH_CHARS):
            places = pair.differing(batch)
            done += len(batch)
            n_texts += len(batch)
            if on_progress is not None:
                on_progress(Progress("search", done, total, "texts", detail=source))
            if places:
                return Found(source, pair, [batch[place] for place in places], n_texts)
    return Found("special_tokens", special, [], n_texts)


def _sources(
    ordinary: Pair, special: Pair, texts: Iterable[str], *, n_cases: int, seed: int
) -> Iterator[tuple[Source, Pair, Iterable[str], int | None]]:
    a, b = ordinary.a, ordinary.b
    yield "texts", ordinary, texts, None
    probe = probe_texts()
    yield "probe", ordinary, probe, len(probe)
    cases = islice(edge_texts(seed=seed, tokenizers=(a, b)), n_cases)
    yield "edge_texts", ordinary, cases, n_cases
    tokens = _token_texts(a, b)
    yield "vocabulary", ordinary, tokens, len(tokens)
    with_special = [*_special_texts(a, b), *probe]
    yield "special_tokens", special, with_special, len(with_special)


def _token_texts(a: Tokenizer, b: Tokenizer) -> list[str]:
    """Each token of either vocabulary that is text by itself, short ones first."""
    found: set[str] = set()
    for tokenizer in (a, b):
        for token_id in range(tokenizer.vocab_size):
            try:
                found.add(tokenizer.id_to_bytes(token_id).decode("utf-8"))
            except (UnknownTokenIdError, UnicodeDecodeError):  # a hole; a part of a character
                continue
    return sorted(found, key=lambda text: (len(text), text))


def _special_texts(a: Tokenizer, b: Tokenizer) -> list[str]:
    """Nothing at all, which shows what is put around a text, and added tokens in several places."""
    contents = sorted({token.content for t in (a, b) for token in t.added_tokens})
    texts = ["", "a"]
    for content in contents:
        texts += [content, f"a{content}a", f" {content} ", f"a {content} a", content + content]
    return texts
