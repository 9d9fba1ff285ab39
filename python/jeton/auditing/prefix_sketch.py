"""Beginnings that documents of the whole workload share, counted in bounded memory.

Every document's beginning is cut into blocks, and each block has a key of all text up to its end:
equal keys are taken for equal beginnings. Of all keys the smallest are kept, with exact counts,
because whether a key is kept depends on nothing but itself. So the kept ones are an even draw of
all distinct beginnings, whatever the order, and the sketches of two shards make that of the whole.
A draw of *documents* could not tell: of a conversation that is sent again with every turn, it would
hold one turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch

__all__ = ["BLOCK_BYTES", "PrefixSketch", "SharedBlocks", "block_keys"]

BLOCK_BYTES = 2_048
"""Bytes of a block: about 500 tokens, half of what providers cache at least. Shorter documents cost
nothing here."""

MAX_BLOCKS = 128
"""Blocks of a document that are looked at: 256 KiB, about 64,000 tokens."""

MAX_KEPT = 50_000
"""Keys that are kept at least, once there are so many: 10 to 20 MB. A share of 5% of the blocks
is known to 2% of itself."""

_KEY_BITS = 64
_BLOCKS_AT_ONCE = 2_048
_FACTOR = 0x9E3779B97F4A7C15  # odd: 2^64 over the golden ratio (Knuth, TAOCP 6.4)


def _powers(factor: int) -> NDArray[np.uint64]:
    return np.array([pow(factor, d, 1 << 64) for d in range(MAX_BLOCKS)], dtype=np.uint64)


_POWERS = _powers(_FACTOR)
_INVERSE_POWERS = _powers(pow(_FACTOR, -1, 1 << 64))
_WORD_FACTORS = np.random.Generator(np.random.PCG64(0)).integers(
    0, 1 << 64, BLOCK_BYTES // 8, dtype=np.uint64
) | np.uint64(1)


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


def block_keys(batch: TextBatch) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """A key of each document's text up to the end of each of its blocks, and how many blocks it is.

    A block is a sum of its 64-bit words times random odd numbers, a beginning the polynomial of its
    blocks, all modulo 2^64, and a last step mixes the bits. The numbers are public: whoever wants
    two beginnings to be taken for one can have it, and gains a wrong estimate.

    Returns:
        uint64 (n,) and int64 (n,).
    """
    starts, ends = batch.offsets[:-1], batch.offsets[1:]
    n_blocks = np.minimum((ends - starts) // BLOCK_BYTES, MAX_BLOCKS)
    total = int(n_blocks.sum())
    if not total:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    before = np.cumsum(n_blocks) - n_blocks
    places = np.arange(total) - np.repeat(before, n_blocks)
    offsets = np.repeat(starts, n_blocks) + places * BLOCK_BYTES
    windows = np.lib.stride_tricks.sliding_window_view(batch.data, BLOCK_BYTES)
    sums = np.empty(total, dtype=np.uint64)
    for at in range(0, total, _BLOCKS_AT_ONCE):
        rows = windows[offsets[at : at + _BLOCKS_AT_ONCE]]
        sums[at : at + _BLOCKS_AT_ONCE] = rows.view("<u8") @ _WORD_FACTORS
    # sum of h(j) M^(d-j) = M^d x sum of h(j) M^-j: the running sum of the batch less that before.
    running = np.cumsum(sums * _INVERSE_POWERS[places])
    base = np.concatenate([np.zeros(1, dtype=np.uint64), running])[np.repeat(before, n_blocks)]
    keys = (running - base) * _POWERS[places]
    # The finalizer of MurmurHash3 (Appleby, public domain): every bit depends on every other.
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        keys ^= keys >> np.uint64(33)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(33)
    return keys, places + 1


class PrefixSketch:
    """Counts beginnings while documents pass by."""

    def __init__(self, *, max_kept: int = MAX_KEPT) -> None:
        self._max_kept = max_kept
        self._threshold = 1 << _KEY_BITS
        self._counts: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._n_documents = 0

    def add(self, batch: TextBatch) -> None:
        """Look at the documents of a batch."""
        self._n_documents += len(batch)
        keys, depths = block_keys(batch)
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
