"""Beginnings that documents of the whole workload share, counted in bounded memory.

Every document's beginning is cut into blocks, and each block has a key of all text up to its end:
equal keys are taken for equal beginnings. The smallest of all keys are kept, with exact counts,
because a key's place depends on nothing but itself. So the kept ones are an even draw of all
distinct beginnings, whatever the order, and the sketches of two shards make that of the whole. A
draw of *documents* could not tell: of a conversation that is sent again with every turn, it would
hold one turn.

The core makes the keys while it looks at the texts (`jeton._core.Surveyor`): XXH3 of 64 bits of
each block, seeded with the key before it. An attacker can make two beginnings look like one, and
gains a wrong estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import Survey

BLOCK_BYTES = 2_048
"""Bytes of a block: about 500 tokens, half of what providers cache at least. Shorter documents cost
nothing here."""

MAX_BLOCKS = 128
"""Blocks of a document that are looked at: 256 KiB, about 64,000 tokens."""

MAX_KEPT = 50_000
"""Keys that are kept at least, once there are so many: 10 to 20 MB. A share of 5% of the blocks
is known to 2% of itself."""

_KEY_BITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class SharedBlocks:
    """The kept blocks.

    Attributes:
        depths: int64 (n,), blocks up to the end of each, from 1.
        counts: int64 (n,), documents that begin with it.
        weight: Blocks of the workload for each kept one.
        n_documents: Documents that were looked at, those shorter than a block too.
    """

    depths: NDArray[np.int64]
    counts: NDArray[np.int64]
    weight: float
    n_documents: int


def first_block_keys(survey: Survey, n_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A key of the first block of each document; 0 for those that are shorter.

    Args:
        survey: Survey of the documents, with blocks of `BLOCK_BYTES`.
        n_bytes: int64 (n,), their bytes.
    """
    keys = np.zeros(len(n_bytes), dtype=np.int64)
    first = survey.block_keys[survey.block_depths == 1].astype(np.int64)
    keys[np.flatnonzero(n_bytes >= BLOCK_BYTES)[: len(first)]] = first
    return keys


class PrefixSketch:
    """Counts beginnings while documents pass by."""

    def __init__(self, *, max_kept: int = MAX_KEPT) -> None:
        self._max_kept = max_kept
        self._threshold = 1 << _KEY_BITS
        self._counts: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._n_documents = 0

    def add(self, survey: Survey) -> None:
        """Count the beginnings of one batch."""
        self._n_documents += survey.stats.n_documents
        keys, depths = survey.block_keys, survey.block_depths
        wanted = keys <= np.uint64(self._threshold - 1)
        different, first, counts = np.unique(keys[wanted], return_index=True, return_counts=True)
        for key, depth, count in zip(
            different.tolist(), depths[wanted][first].tolist(), counts.tolist(), strict=True
        ):
            self._counts[key] = self._counts.get(key, 0) + count
            self._depths[key] = depth
        self._shrink()

    def merge(self, other: Self) -> PrefixSketch:
        """The sketch of the documents of both."""
        merged = PrefixSketch(max_kept=self._max_kept)
        merged._threshold = min(self._threshold, other._threshold)
        merged._n_documents = self._n_documents + other._n_documents
        for part in (self, other):
            for key, count in part._counts.items():
                if key < merged._threshold:
                    merged._counts[key] = merged._counts.get(key, 0) + count
                    merged._depths[key] = part._depths[key]
        merged._shrink()
        return merged

    def _shrink(self) -> None:
        # Halving keeps the threshold a power of two, so that shards meet at the same one.
        while len(self._counts) > 2 * self._max_kept:
            self._threshold >>= 1
            gone = [key for key in self._counts if key >= self._threshold]
            for key in gone:
                del self._counts[key], self._depths[key]

    def shared(self) -> SharedBlocks:
        """The kept blocks that two or more documents share."""
        keys = sorted(key for key, count in self._counts.items() if count >= 2)
        return SharedBlocks(
            depths=np.array([self._depths[key] for key in keys], dtype=np.int64),
            counts=np.array([self._counts[key] for key in keys], dtype=np.int64),
            weight=2.0**_KEY_BITS / self._threshold,
            n_documents=self._n_documents,
        )
