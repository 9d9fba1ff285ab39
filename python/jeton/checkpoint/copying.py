"""Bytes from one file to another: at the speed of the disk, in bounded memory, holes kept.

The kernel moves whole ranges; what a sparse file does not store is not written either.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from jeton.errors import FormatError

__all__ = ["BLOCK_BYTES", "copy_file", "copy_range", "read_exactly", "synced"]

BLOCK_BYTES = 8 << 20
"""Bytes that are held in memory at once."""

_NOT_HERE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.EOPNOTSUPP, errno.EPERM})


def copy_file(source: Path, target: Path) -> None:
    """Writes a new file with the bytes of another; a link is followed.

    Raises:
        OSError: The source cannot be read, the target is there, or the disk is full.
    """
    with source.open("rb") as reading, synced(target) as writing:
        n_bytes = os.fstat(reading.fileno()).st_size
        copy_range(reading, 0, writing, n_bytes)
        writing.truncate(n_bytes)


@contextmanager
def synced(target: Path) -> Iterator[IO[bytes]]:
    """A new file to write; at the end it is on the disk, where a full disk shows."""
    with target.open("xb", buffering=0) as writing:
        yield writing
        os.fsync(writing.fileno())


def copy_range(reading: IO[bytes], start: int, writing: IO[bytes], n_bytes: int) -> None:
    """Copies ``n_bytes`` from ``start`` on to the place where ``writing`` stands.

    Raises:
        FormatError: The source became shorter.
        OSError: As of the disk.
    """
    to = writing.tell()
    end = start + n_bytes
    if os.fstat(reading.fileno()).st_size < end:
        raise _shorter(reading)
    at = start
    for data_start, data_end in _stored(reading, start, end):
        _copy(reading, data_start, writing, to + data_start - start, data_end - data_start)
        at = data_end
    writing.seek(to + n_bytes)
    if at < end and os.fstat(writing.fileno()).st_size < to + n_bytes:
        # A hole at the end has to be part of the file.
        writing.truncate(to + n_bytes)


def read_exactly(reading: IO[bytes], start: int, n_bytes: int) -> bytes:
    """Returns the bytes at a place.

    Raises:
        FormatError: The file has become shorter.
    """
    data = os.pread(reading.fileno(), n_bytes, start)
    while len(data) < n_bytes:
        more = os.pread(reading.fileno(), n_bytes - len(data), start + len(data))
        if not more:
            raise _shorter(reading)
        data += more
    return data


def _stored(reading: IO[bytes], start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a range that the disk stores; all of it where that cannot be told."""
    at = start
    while at < end:
        try:
            data = os.lseek(reading.fileno(), at, os.SEEK_DATA)
            hole = os.lseek(reading.fileno(), data, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            yield at, end
            return
        if data >= end:
            return
        yield data, min(hole, end)
        at = hole


def _copy(reading: IO[bytes], start: int, writing: IO[bytes], to: int, n_bytes: int) -> None:
    left = n_bytes
    while left:
        try:
            done = os.copy_file_range(
                reading.fileno(),
                writing.fileno(),
                min(left, 1 << 30),
                start + n_bytes - left,
                to + n_bytes - left,
            )
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            break
        if not done:
            break
        left -= done
    while left:
        block = read_exactly(reading, start + n_bytes - left, min(left, BLOCK_BYTES))
        place = to + n_bytes - left
        written = os.pwrite(writing.fileno(), block, place)
        left -= written


def _shorter(reading: IO[bytes]) -> FormatError:
    return FormatError(
        f"{reading.name} became shorter while it was read\nhint: is it still being written?",
        path=str(reading.name),
    )
