"""Sentences whose subject changes: by their words, or by an embedder of the user."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._foreign import json_of
from jeton.chunking.boundaries import SENTENCE_COST, Boundaries, structure_boundaries
from jeton.errors import FormatError, UsageError
from jeton.registry import TokenizerLike, resolve

Embed = Callable[[list[str]], Any]
"""Embeds texts: a list of n texts to an array (n, dimensions)."""

_WINDOW = 3
"""Sentences on each side that are compared."""

_MAX_EXTRA = 24
"""Price that a cut between parts of one subject has on top."""

_WORD = re.compile(r"\w{3,}")
_STEM_CHARS = 6


class StaticEmbedder:
    """Embeds a text as the mean of its tokens' vectors, as model2vec does.

    Example:
        >>> import numpy as np
        >>> import jeton
        >>> tokenizer = jeton.load("jeton-general-32k")
        >>> embedder = StaticEmbedder(tokenizer, np.eye(tokenizer.vocab_size, 4))
        >>> embedder(["Hello", "Hello there"]).shape
        (2, 4)
    """

    def __init__(self, tokenizer: TokenizerLike, vectors: NDArray[Any]) -> None:
        self._tokenizer = resolve(tokenizer)
        self._vectors = vectors

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns a vector for each text, float32 (n_texts, dimensions); zeros for no token."""
        rows = np.zeros((len(texts), self._vectors.shape[1]), dtype=np.float32)
        for row, ids in zip(rows, self._tokenizer.encode_batch(texts), strict=True):
            known = ids[ids < len(self._vectors)]
            if len(known):
                row[:] = self._vectors[known].mean(axis=0)
        return rows


def load_static_embedder(folder: str | Path) -> StaticEmbedder:
    """Load the folder of a model2vec model: its tokenizer, and a vector for each token.

    Args:
        folder: Folder with ``tokenizer.json`` and ``model.safetensors``.

    Returns:
        A callable from a list of texts to rows.

    Raises:
        FormatError: The weights are no table of vectors.
        OSError: A file is missing.
    """
    from jeton.registry import load

    path = Path(folder) / "model.safetensors"
    data = path.read_bytes()
    try:
        size = int.from_bytes(data[:8], "little")
        header = json_of(data[8 : 8 + size])
        header.pop("__metadata__", None)
        name = "embeddings" if "embeddings" in header else next(iter(header))
        entry = header[name]
        dtype = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}[entry["dtype"]]
        start, end = entry["data_offsets"]
        table = np.frombuffer(data[8 + size + start : 8 + size + end], dtype=dtype)
        vectors = table.reshape(entry["shape"]).astype(np.float32)
        if vectors.ndim != 2:
            raise ValueError(entry["shape"])
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise FormatError(
            f"{path}: no table of vectors ({type(error).__name__}: {error}); expected one tensor "
            "with a row for each token\nhint: name the folder of a model2vec model",
            path=str(path),
        ) from None
    return StaticEmbedder(load(str(Path(folder) / "tokenizer.json")), vectors)


def semantic_boundaries(text: str, language: str, embed: Embed | None) -> Boundaries:
    """The boundaries of a text's structure, dearer where the subject stays.

    Raises:
        UsageError: ``embed`` does not return a row for each text.
    """
    found = structure_boundaries(text, language)
    data = text.encode()
    edges = [0, *found.places.tolist(), len(data)]
    parts = [data[start:end].decode() for start, end in pairwise(edges)]
    if len(parts) < 2:
        return found
    alike = _lexical(parts) if embed is None else _embedded(parts, embed)
    # Likeness is relative to that of the text: its ranks spread over the whole range.
    ranks = np.argsort(np.argsort(alike, kind="stable"), kind="stable")
    extra = (ranks * _MAX_EXTRA // max(len(ranks) - 1, 1)).astype(np.uint32)
    costs = found.costs + extra
    dearest = SENTENCE_COST + _MAX_EXTRA - 1
    return Boundaries(found.places, costs, found.headings, dearest, found.tables)


def _lexical(parts: Sequence[str]) -> NDArray[np.float64]:
    """Likeness of the words on both sides of each boundary: cosine, rare words count more."""
    bags = [Counter(word[:_STEM_CHARS] for word in _WORD.findall(part.lower())) for part in parts]
    spread: Counter[str] = Counter()
    for bag in bags:
        spread.update(bag.keys())
    weight = {word: math.log((1 + len(bags)) / n) for word, n in spread.items()}
    alike = np.zeros(len(parts) - 1)
    for at in range(len(alike)):
        left: Counter[str] = sum(bags[max(at + 1 - _WINDOW, 0) : at + 1], Counter())
        right: Counter[str] = sum(bags[at + 1 : at + 1 + _WINDOW], Counter())
        shared = sum(left[word] * right[word] * weight[word] ** 2 for word in left & right)
        alike[at] = shared / (_length(left, weight) * _length(right, weight))
    return alike


def _length(bag: Counter[str], weight: dict[str, float]) -> float:
    return math.sqrt(sum((n * weight[word]) ** 2 for word, n in bag.items())) or 1.0


def _embedded(parts: list[str], embed: Embed) -> NDArray[np.float64]:
    rows = np.asarray(embed(parts), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(parts):
        raise UsageError(
            f"embed returned an array of shape {rows.shape} for {len(parts)} texts; expected a "
            "row for each"
        )
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    at = np.arange(1, len(parts))
    left = sums[at] - sums[np.maximum(at - _WINDOW, 0)]
    right = sums[np.minimum(at + _WINDOW, len(parts))] - sums[at]
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines: NDArray[np.float64] = (left * right).sum(axis=1) / np.where(lengths, lengths, 1.0)
    return cosines


# BM25 over a few thousand texts: enough to rank chunks for a question.

_TERM = re.compile(r"\w+")


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
    return _TERM.findall(text.lower())
