"""BM25 over a few thousand texts: enough to rank chunks for a question."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+")


class Bm25:
    """Ranks texts for a question by BM25 (Robertson and Zaragoza, 2009; idf as in Lucene).

    Words are runs of letters and digits in lower case.

    Args:
        texts: Texts to rank.
        k1: How soon further occurrences of a word stop to count.
        b: How much long texts are marked down, 0 to 1.

    Example:
        >>> index = Bm25(["a cat sat", "dogs bark", "the cat and the cat"])
        >>> index.ranked("cat", 2)
        [2, 0]
    """

    def __init__(self, texts: Iterable[str], *, k1: float = 1.2, b: float = 0.75) -> None:
        bags = [Counter(_words(text)) for text in texts]
        lengths = [sum(bag.values()) for bag in bags]
        mean = sum(lengths) / len(lengths) if lengths else 0.0
        self._n_texts = len(bags)
        self._weights: dict[str, list[tuple[int, float]]] = defaultdict(list)
        n_with: Counter[str] = Counter()
        for bag in bags:
            n_with.update(bag.keys())
        for number, bag in enumerate(bags):
            norm = k1 * (1 - b + b * lengths[number] / mean) if mean else k1
            for word, n in bag.items():
                idf = math.log1p((self._n_texts - n_with[word] + 0.5) / (n_with[word] + 0.5))
                self._weights[word].append((number, idf * n * (k1 + 1) / (n + norm)))

    def scores(self, question: str) -> list[float]:
        """Returns the score of each text."""
        scores = [0.0] * self._n_texts
        for word in _words(question):
            for number, weight in self._weights.get(word, ()):
                scores[number] += weight
        return scores

    def ranked(self, question: str, k: int) -> list[int]:
        """Returns the numbers of the best ``k`` texts, the best first; of equal ones the first."""
        scores = self.scores(question)
        return sorted(range(self._n_texts), key=lambda number: (-scores[number], number))[:k]


def _words(text: str) -> Sequence[str]:
    return _WORD.findall(text.lower())
