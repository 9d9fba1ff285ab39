"""A part of a corpus that speaks for the whole, and how far it may be off.

Documents are drawn by the digest of their text: those with the smallest are kept. So the draw is
even over the distinct texts, is the same for any order of the inputs, any machine and any number
of shards (``DocumentSampler.merge``), and a larger draw contains every smaller one. Copies of a
text are drawn together and counted.

A figure measured on the sample (tokens, say) is carried over to the whole by bytes, whose sum is
known exactly. This is the ratio estimator, with its error by the jackknife and a finite population
correction (Cochran, Sampling Techniques, 3rd ed. 1977, chapters 2 and 6; the distinct texts are the
units). Its bias falls with the number of texts; the error with its square root.

Cost: one read and one BLAKE2b of everything; memory of the sample.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton._core import TextBatch
from jeton.errors import UsageError

DEFAULT_SAMPLE_BYTES: Final = 256 << 20
"""256 MiB of text are kept where nothing else bounds the sample: at 2 kB a document 130,000 of
them, which put the tokens of most corpora within 0.5%."""

MIN_TEXTS: Final = 30
"""Texts below which no error is stated; the usual least number for a normal approximation of a mean
(Cochran, chapter 2, warns that skewed data want more)."""

_KEY_BYTES: Final = 8
_FIRST_PORTION_TEXTS: Final = 256
"""Texts measured before the error is looked at for the first time; then twice as many each time, so
that an early stop by chance has few occasions."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much of a corpus to measure; without any limit all of it.

    Attributes:
        max_documents: At most so many distinct texts.
        max_bytes: At most so many bytes of distinct texts.
        error: Measure until the estimate is known to this relative half-width of its interval
            (0.01: within 1%), within the other limits.
        confidence: Confidence of the interval.
    """

    max_documents: int | None = None
    max_bytes: int | None = None
    error: float | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("max_documents", "max_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}; expected at least 1")
        if self.error is not None and not 0 < self.error < 1:
            raise UsageError(f"error is {self.error}; expected a share between 0 and 1")
        if not 0 < self.confidence < 1:
            raise UsageError(
                f"confidence is {self.confidence}; expected a share between 0 and 1, such as 0.95"
            )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A sum over the whole corpus, carried over from the sample.

    Attributes:
        value: The estimate; exact if the sample is the whole.
        low: Lower end of the interval.
        high: Upper end of the interval.
        confidence: Confidence of the interval.
        n_texts: Distinct texts that were measured.
        n_bytes: Bytes of the documents that they stand for.
        is_exact: True if everything was measured.
        method: How it was made, in words.
    """

    value: float
    low: float
    high: float
    confidence: float
    n_texts: int
    n_bytes: int
    is_exact: bool
    method: str

    @property
    def relative_error(self) -> float:
        """Half the interval over the value; infinite where no error can be stated."""
        if self.is_exact:
            return 0.0
        if not self.value:
            return math.inf
        return (self.high - self.low) / 2 / self.value


@dataclass(frozen=True, slots=True, eq=False)
class DocumentSample:
    """Distinct texts in the order of their digests, and the size of what they stand for.

    Attributes:
        texts: The texts.
        n_copies: int64 (n_texts,), how often each occurs in the corpus.
        sources: The input that each was first met in.
        n_documents: Documents of the corpus.
        n_bytes: Their bytes.
        is_whole: True if the sample has every text of the corpus.
    """

    texts: TextBatch
    n_copies: NDArray[np.int64]
    sources: tuple[str, ...]
    n_documents: int
    n_bytes: int
    is_whole: bool

    def __len__(self) -> int:
        """Number of distinct texts."""
        return len(self.texts)

    def portion(self, start: int, end: int) -> TextBatch:
        """The texts from ``start`` to ``end``."""
        data, offsets = self.texts.data.data, self.texts.offsets[start : end + 1].tolist()
        return TextBatch.from_texts([bytes(data[a:b]) for a, b in pairwise(offsets)])

    def estimate(self, counts: ArrayLike, *, confidence: float = 0.95) -> Estimate:
        """Carry a count over to the whole corpus.

        Args:
            counts: Number (n,), the count of each of the first n texts of the sample.
            confidence: Confidence of the interval.

        Raises:
            UsageError: There are more counts than texts, or none for a corpus that has texts.
        """
        values = np.asarray(counts, dtype=np.float64)
        n = len(values)
        if n > len(self) or (n == 0 and len(self)):
            raise UsageError(f"{n:,} counts for {len(self):,} texts of the sample")
        copies = self.n_copies[:n].astype(np.float64)
        n_bytes = copies * np.diff(self.texts.offsets[: n + 1])
        total, bytes_sampled = float(copies @ values), float(n_bytes.sum())
        is_exact = self.is_whole and n == len(self)
        if is_exact or not bytes_sampled:
            value, half, method = total, 0.0 if is_exact else math.inf, "counted"
        else:
            ratio = total / bytes_sampled
            value = ratio * self.n_bytes
            # Each residual as it would be had its text not shaped the ratio: the jackknife, which
            # keeps intervals wide enough where a few long texts rule.
            with np.errstate(divide="ignore", invalid="ignore"):
                residuals = (copies * values - ratio * n_bytes) / (1 - n_bytes / bytes_sampled)
            half = self._half_width(residuals, copies, confidence)
            method = (
                f"{ratio:.6g} per byte of {n:,} texts drawn by digest, times "
                f"{self.n_bytes:,} bytes; error of a ratio by the jackknife"
            )
        return Estimate(
            value=value,
            low=max(0.0, value - half),
            high=value + half,
            confidence=confidence,
            n_texts=n,
            n_bytes=int(bytes_sampled),
            is_exact=is_exact,
            method=method,
        )

    def _half_width(
        self, residuals: NDArray[np.float64], copies: NDArray[np.float64], confidence: float
    ) -> float:
        """Half the interval of the total, from what the ratio leaves unexplained of each text."""
        n = len(residuals)
        if n < MIN_TEXTS or not np.isfinite(residuals).all():
            return math.inf
        share = float(copies.sum()) / self.n_documents
        variance = float(residuals @ residuals) / (n - 1) * max(0.0, 1 - share)
        # The total is N/n times a sum of n: the number of distinct texts is not known, so the
        # documents that are not in the sample stand for it through their share.
        scale = n / share
        return _student_quantile(confidence, n - 1) * scale * math.sqrt(variance / n)

    def measure(
        self, count: Callable[[TextBatch], ArrayLike], *, sampling: Sampling
    ) -> tuple[Estimate, NDArray[np.float64]]:
        """Count portion by portion, until the error is as small as wanted or the sample ends.

        Args:
            count: Counts the texts of a batch: a tokenizer's ``count_batch``.
            sampling: The error wanted, and the confidence.

        Returns:
            The estimate and the counts of the texts that were measured.
        """
        counts = np.zeros(0, dtype=np.float64)
        step = _FIRST_PORTION_TEXTS if sampling.error is not None else max(1, len(self))
        while True:
            end = min(len(self), max(step, 2 * len(counts)))
            portion = self.portion(len(counts), end)
            counts = np.concatenate([counts, np.asarray(count(portion), dtype=np.float64)])
            estimate = self.estimate(counts, confidence=sampling.confidence)
            is_enough = sampling.error is not None and estimate.relative_error <= sampling.error
            if is_enough or end == len(self):
                return estimate, counts


class DocumentSampler:
    """Keeps the texts with the smallest digests, within limits; at least one."""

    def __init__(self, *, max_documents: int | None = None, max_bytes: int | None = None) -> None:
        self._max_documents = max_documents
        self._max_bytes = max_bytes
        # By key: text, copies, and the first source by name, so that no order matters.
        self._texts: dict[int, tuple[bytes, int, str]] = {}
        self._largest: list[int] = []
        self._n_bytes_kept = 0
        self._threshold = 1 << (8 * _KEY_BYTES)
        self._n_documents = 0
        self._n_bytes = 0

    def add(self, batch: TextBatch, *, source: str = "") -> None:
        """Offer the documents of a batch."""
        data = batch.data.data
        self._n_documents += len(batch)
        self._n_bytes += batch.n_bytes
        for start, end in pairwise(batch.offsets.tolist()):
            text = data[start:end]
            key = int.from_bytes(blake2b(text, digest_size=_KEY_BYTES).digest(), "big")
            if key < self._threshold:
                self._keep(key, bytes(text), 1, source)

    def merge(self, other: DocumentSampler) -> DocumentSampler:
        """The sampler that has seen what both have; neither is changed.

        Raises:
            UsageError: Their limits differ.
        """
        mine = (self._max_documents, self._max_bytes)
        theirs = (other._max_documents, other._max_bytes)
        if mine != theirs:
            raise UsageError(f"samples with different limits cannot be merged: {mine}, {theirs}")
        merged = DocumentSampler(max_documents=mine[0], max_bytes=mine[1])
        merged._threshold = min(self._threshold, other._threshold)
        for part in (self, other):
            merged._n_documents += part._n_documents
            merged._n_bytes += part._n_bytes
            for key, (text, n_copies, source) in part._texts.items():
                if key < merged._threshold:
                    merged._keep(key, text, n_copies, source)
        return merged

    def sample(self) -> DocumentSample:
        """Sample that is kept now."""
        keys = sorted(self._texts)
        return DocumentSample(
            texts=TextBatch.from_texts([self._texts[key][0] for key in keys]),
            n_copies=np.asarray([self._texts[key][1] for key in keys], dtype=np.int64),
            sources=tuple(self._texts[key][2] for key in keys),
            n_documents=self._n_documents,
            n_bytes=self._n_bytes,
            is_whole=self._threshold == 1 << (8 * _KEY_BYTES),
        )

    def _keep(self, key: int, text: bytes, n_copies: int, source: str) -> None:
        known = self._texts.get(key)
        if known is not None:
            self._texts[key] = (known[0], known[1] + n_copies, min(known[2], source))
            return
        self._texts[key] = (text, n_copies, source)
        heapq.heappush(self._largest, -key)
        self._n_bytes_kept += len(text)
        while len(self._texts) > 1 and self._is_full():
            self._threshold = -heapq.heappop(self._largest)
            self._n_bytes_kept -= len(self._texts.pop(self._threshold)[0])

    def _is_full(self) -> bool:
        return (self._max_documents is not None and len(self._texts) > self._max_documents) or (
            self._max_bytes is not None and self._n_bytes_kept > self._max_bytes
        )


def sample_documents(
    documents: Iterable[tuple[Any, TextBatch]] | Iterator[TextBatch], *, sampling: Sampling
) -> DocumentSample:
    """Read everything once and keep what is drawn.

    Args:
        documents: A stream that ``open_documents`` gave, or batches.
        sampling: The limits; with an ``error`` and no other limit, 256 MiB are kept to measure.
    """
    max_bytes = sampling.max_bytes
    if max_bytes is None and sampling.max_documents is None and sampling.error is not None:
        max_bytes = DEFAULT_SAMPLE_BYTES
    sampler = DocumentSampler(max_documents=sampling.max_documents, max_bytes=max_bytes)
    for item in documents:
        if isinstance(item, TextBatch):
            sampler.add(item)
        else:
            file, batch = item
            sampler.add(batch, source=str(file.path))
    return sampler.sample()


def _student_quantile(confidence: float, freedom: int) -> float:
    """Two-sided quantile of Student's t (Abramowitz and Stegun, 26.7.5, two terms).

    Off by less than 0.001 from 29 degrees of freedom on.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
