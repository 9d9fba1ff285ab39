"""Counts within a limit of memory: what has no room goes to disk, which may be full."""

from __future__ import annotations

import errno
import os
from typing import Any

from jeton._core import PretokenCounts
from jeton.errors import UsageError

MIN_MEMORY_BYTES = 16 << 20
"""16 MiB: below that, tables are so small that everything is on disk all the time."""


def limit_memory(
    counts: PretokenCounts,
    max_memory: int | None,
    temp_dir: str | os.PathLike[str] | None,
    *,
    shares: int = 1,
) -> None:
    """Bound the memory of counts, which get one of so many shares of it.

    Raises:
        UsageError: Less than 16 MiB in all.
    """
    if max_memory is None:
        return
    if max_memory < MIN_MEMORY_BYTES:
        raise UsageError(
            f"max_memory is {max_memory:,} bytes; expected at least {MIN_MEMORY_BYTES:,}"
        )
    folder = None if temp_dir is None else os.fspath(temp_dir)
    counts.limit_memory(max_memory // shares, temp_dir=folder)


class explained_full_disk:
    """Says of a full disk what was being written there."""

    def __init__(self, temp_dir: str | os.PathLike[str] | None) -> None:
        self._temp_dir = temp_dir

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if (
            isinstance(error, OSError)
            and error.errno == errno.ENOSPC
            and "temporary files" in str(error.filename)
        ):
            raise OSError(
                errno.ENOSPC,
                "the disk is full of counts that have no room in memory\n"
                "hint: name a folder with more room by temp_dir, or allow more memory by "
                "max_memory",
                error.filename,
            ) from error
