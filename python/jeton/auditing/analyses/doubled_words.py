"""Words and sentences that a program wrote several times in a row."""

from __future__ import annotations

import re

import numpy as np

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

MAX_WORDS = 40
"""Words of the longest stretch; longer ones are passages (`repetition`)."""

MIN_SHARE = 0.2
"""Part of the words that come again at once. In ordinary text it is far below."""

MIN_DOUBLED = 4

_WORD = re.compile(r"\S+")


def without_doubled_words(text: str) -> tuple[str, int]:
    """Keep the first of equal stretches in a row (a `rewriting.Rewrite`)."""
    found = [(match.group(), match.start()) for match in _WORD.finditer(text)]
    n = len(found)
    if n < 2 * MIN_DOUBLED:
        return text, 0
    numbers: dict[str, int] = {}
    words = np.array([numbers.setdefault(word, len(numbers)) for word, _ in found])
    # At most this many words can be copies: the rest stand there for the first time.
    if n - len(numbers) < max(MIN_DOUBLED, MIN_SHARE * n):
        return text, 0
    is_again = np.zeros(n, dtype=np.bool_)
    for period in range(1, min(MAX_WORDS, n // 2) + 1):
        is_equal = words[period:] == words[:-period]
        # A copy of a stretch has as many words as the stretch.
        if np.count_nonzero(is_equal) < period:
            continue
        edges = np.zeros(n + 2, dtype=np.int8)
        edges[period + 1 : n + 1] = is_equal
        changes = np.flatnonzero(np.diff(edges))
        for start, end in zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True):
            is_again[start : start + (end - start) // period * period] = True
    n_again = int(is_again.sum())
    if n_again < max(MIN_DOUBLED, MIN_SHARE * n):
        return text, 0
    starts = [*(start for _, start in found), len(text)]
    kept = [text[: starts[0]]]
    kept += [text[starts[i] : starts[i + 1]] for i in np.flatnonzero(~is_again).tolist()]
    new = "".join(kept)
    return new, MAX_UTF8_BYTES * (len(text) - len(new))
