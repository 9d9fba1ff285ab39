"""Lengths of the documents of a shard, in a temporary file: an index needs them after the ids."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton.datasets.formats.base import BLOCK_DOCUMENTS


class LengthSpool:
    """Numbers that are written once and read several times, in bounded memory."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self.n = 0

    def append(self, lengths: NDArray[np.int64]) -> None:
        """Add numbers.

        Raises:
            OSError: The disk is full.
        """
        self._file.write(np.ascontiguousarray(lengths, dtype="<i8").tobytes())
        self.n += len(lengths)

    def blocks(self) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers from the first on."""
        self._file.flush()
        self._file.seek(0)
        left = self.n
        while left:
            n = min(left, BLOCK_DOCUMENTS)
            yield np.frombuffer(self._file.read(8 * n), dtype="<i8")
            left -= n

    def ends(self) -> Iterator[NDArray[np.int64]]:
        """Yield where each document ends, in tokens from the beginning of the shard."""
        total = 0
        for block in self.blocks():
            ends = total + np.cumsum(block)
            total = int(ends[-1])
            yield ends

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()
