"""Items whose header stands before them in the file: they wait in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.errors import LimitError

COPY_BYTES = 4 << 20


class BodySpool:
    """The bytes of items, and the size of each."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self._sizes: list[NDArray[np.int64]] = []
        self.n_bytes = 0

    def write(self, data: bytes | NDArray[Any]) -> None:
        """Add bytes.

        Raises:
            OSError: The disk is full.
        """
        self._file.write(data.tobytes() if isinstance(data, np.ndarray) else data)
        self.n_bytes += data.nbytes if isinstance(data, np.ndarray) else len(data)

    def add_sizes(self, sizes: NDArray[np.int64]) -> None:
        """Tell the sizes of the items that were added."""
        self._sizes.append(np.asarray(sizes, dtype=np.int64))

    def sizes(self) -> NDArray[np.int64]:
        """Return the size of each item in bytes."""
        return np.concatenate([np.zeros(0, np.int64), *self._sizes])

    def check(self, n_header_bytes: int, limit: int, what: str) -> None:
        """Refuse a file whose positions do not fit.

        Raises:
            LimitError: It is too large.
        """
        if n_header_bytes + self.n_bytes > limit:
            raise LimitError(
                f"a document of {int(self.sizes().max()):,} bytes of ids is too large: {what} "
                f"hold up to {limit:,} bytes\nhint: cut it, or take the format numpy or megatron",
                what="document",
                limit=limit,
            )

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes from the first on."""
        self._file.flush()
        self._file.seek(0)
        while block := self._file.read(COPY_BYTES):
            yield block

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()
