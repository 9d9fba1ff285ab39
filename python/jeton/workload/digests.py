"""Documents by their 128-bit digest: exact duplicates in bounded memory.

Equal digests are taken for equal documents: with 4 million different documents the chance that
any two share a 128-bit digest is below 1e-25 (n^2 / 2^129). The digest is XXH3 of 128 bits, which
costs a tenth of a second for a gigabyte. It is not cryptographic: whoever writes two texts for it
can have them taken for one, and gains a wrong count of copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, pair_digests, text_digests

MAX_TRACKED_DOCUMENTS = 4_000_000
"""Documents whose digests are kept: 24 bytes each, 96 MB at the limit, as much again to sort."""

DIGEST = np.dtype([("high", ">u8"), ("low", ">u8")])
"""A digest as an element of an array. Its first eight bytes, read as a big-endian number, are the
key by which documents are drawn."""

Digests = NDArray[np.void]
"""`DIGEST` (n,)."""

_BLOCK_DOCUMENTS = 65_536
"""Blocks of digests from this many documents on are not put together with others."""


def digests_of(batch: TextBatch, *, num_threads: int | None = None) -> Digests:
    """The digest of every document of a batch, `DIGEST` (n_documents,)."""
    return packed_digests(*text_digests(batch, num_threads=num_threads))


def digests_of_pairs(digests: Digests, companions: TextBatch) -> Digests:
    """The digest of each document with its companion; `DIGEST` (n,)."""
    high, low = (digests[half].astype(np.uint64) for half in ("high", "low"))
    return packed_digests(*pair_digests(high, low, companions))


def packed_digests(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Digests:
    """Digests from their halves, each uint64 (n,); `DIGEST` (n,)."""
    digests = np.empty(len(high), dtype=DIGEST)
    digests["high"], digests["low"] = high, low
    return digests


@dataclass(frozen=True, slots=True)
class DuplicateSummary:
    """Exact copies among the documents that were tracked.

    Attributes:
        n_tracked_documents: Documents compared with one another; empty ones are not.
        is_complete: False when the limit was reached and later documents were not compared.
        n_duplicates: Documents that repeat an earlier one.
        n_duplicate_bytes: Their bytes.
        n_tracked_bytes: Bytes of all tracked documents.
        max_copies: How often the most frequent document occurs.
    """

    n_tracked_documents: int
    is_complete: bool
    n_duplicates: int
    n_duplicate_bytes: int
    n_tracked_bytes: int
    max_copies: int


class DuplicateTracker:
    """Collects digests and lengths; counts the copies at the end by sorting."""

    def __init__(self, *, max_documents: int = MAX_TRACKED_DOCUMENTS) -> None:
        self._max_documents = max_documents
        self._blocks: list[tuple[Digests, NDArray[np.int64]]] = []
        self._n_documents = 0
        self._is_complete = True

    def add(self, digests: Digests, lengths: NDArray[np.int64]) -> None:
        """Track documents; one without text is no duplicate of another.

        Args:
            digests: Digests of the documents, `DIGEST` (n,).
            lengths: Their bytes, int64 (n,).
        """
        has_text = lengths > 0
        if not has_text.all():
            digests, lengths = digests[has_text], lengths[has_text]
        room = self._max_documents - self._n_documents
        if len(lengths) > room:
            self._is_complete = False
            digests, lengths = digests[:room], lengths[:room]
        if not len(lengths):
            return
        self._n_documents += len(lengths)
        self._blocks.append((digests, lengths))
        if len(lengths) < _BLOCK_DOCUMENTS and len(self._blocks) > 1:
            # Small blocks are put together now and then: a million tiny arrays would weigh more
            # than what they hold. The last blocks at most double, so the work stays linear.
            while len(self._blocks) > 1 and len(self._blocks[-2][1]) <= len(self._blocks[-1][1]):
                self._put_last_two_together()

    def _put_last_two_together(self) -> None:
        (digests, lengths), (more_digests, more_lengths) = self._blocks[-2:]
        self._blocks[-2:] = [
            (
                np.concatenate([digests, more_digests]),
                np.concatenate([lengths, more_lengths]),
            )
        ]

    def merge(self, other: Self) -> DuplicateTracker:
        """The documents of both; beyond the limit, those of ``other`` are left out."""
        merged = DuplicateTracker(max_documents=self._max_documents)
        for digests, lengths in (*self._blocks, *other._blocks):
            merged.add(digests, lengths)
        merged._is_complete = merged._is_complete and self._is_complete and other._is_complete
        return merged

    def summary(self) -> DuplicateSummary:
        """Count the copies."""
        if not self._blocks:
            return DuplicateSummary(0, self._is_complete, 0, 0, 0, 0)
        digests = np.concatenate([block for block, _ in self._blocks])
        lengths = np.concatenate([block for _, block in self._blocks])
        # In the machine's byte order: NumPy sorts the other one slowly.
        native = np.empty(len(digests), dtype=[("high", np.uint64), ("low", np.uint64)])
        native["high"], native["low"] = digests["high"], digests["low"]
        _, first, copies = np.unique(native, return_index=True, return_counts=True)
        n_tracked_bytes = int(lengths.sum())
        return DuplicateSummary(
            n_tracked_documents=self._n_documents,
            is_complete=self._is_complete,
            n_duplicates=self._n_documents - len(first),
            n_duplicate_bytes=n_tracked_bytes - int(lengths[first].sum()),
            n_tracked_bytes=n_tracked_bytes,
            max_copies=int(copies.max()),
        )
