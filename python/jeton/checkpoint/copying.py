"""Bytes from one file to another: at the speed of the disk, in bounded memory, holes kept.

The kernel moves whole ranges; what a sparse file does not store is not written either.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from jeton.errors import FormatError

BLOCK_BYTES = 8 << 20
"""Bytes that are held in memory at once."""

_NOT_HERE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.EOPNOTSUPP, errno.EPERM})


class DiskQueue:
    """New files that are written one after another, while the disk stores those before.

    At the end of the ``with`` block all are on the disk, where a full disk shows.
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1)
        self._waiting: list[Future[None]] = []

    def __enter__(self) -> Self:
        """Returns the queue."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Waits for the disk, unless something failed before.

        Raises:
            OSError: The disk is full, or fails.
        """
        self._worker.shutdown(wait=True, cancel_futures=kind is not None)
        if kind is None:
            for one in self._waiting:
                one.result()

    @contextmanager
    def new_file(self, target: Path) -> Iterator[IO[bytes]]:
        """A new file to write.

        Raises:
            OSError: It is there already, or the disk is full.
        """
        with target.open("xb", buffering=0) as writing:
            yield writing
            descriptor = os.dup(writing.fileno())
        try:
            self._waiting.append(self._worker.submit(_stored, descriptor))
        except BaseException:
            os.close(descriptor)
            raise


def _stored(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_file(source: Path, target: Path, disk: DiskQueue) -> None:
    """Writes a new file with the bytes of another; a link is followed.

    Raises:
        OSError: The source cannot be read, the target is there, or the disk is full.
    """
    with source.open("rb") as reading, disk.new_file(target) as writing:
        n_bytes = os.fstat(reading.fileno()).st_size
        copy_range(reading, 0, writing, n_bytes)
        writing.truncate(n_bytes)


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
    for data_start, data_end in _data_of(reading, start, end):
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


def _data_of(reading: IO[bytes], start: int, end: int) -> Iterator[tuple[int, int]]:
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
