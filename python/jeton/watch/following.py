"""Log files that grow: new lines, through rotation, truncation and half lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from jeton.corpus.json_records import parse_line

_READ_BYTES: Final = 1 << 20
_HEAD_BYTES: Final = 256
MAX_LINE_BYTES: Final = 32 << 20


class FollowedFile:
    """One log of JSON lines that is read as it grows.

    A file that another takes the place of is read to its end first. One that became shorter, or
    begins with other bytes than before, is read anew from its start. A line counts once its line
    end is written. A line above 32 MiB is left out.

    Args:
        path: The file; it may come into being later.
        from_end: True to leave out what is in it now.
    """

    def __init__(self, path: str | os.PathLike[str], *, from_end: bool = False) -> None:
        self.path = Path(path)
        self.n_rotations = 0
        self.n_truncations = 0
        self.n_bad_lines = 0
        self.n_long_lines = 0
        self._file: BinaryIO | None = None
        self._head = b""
        self._half = bytearray()
        self._is_dropping = False
        if from_end:
            self._skip_to_end()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def poll(self) -> Iterator[Any]:
        """Yield the records that were written since the last time; bad lines are counted."""
        while True:
            if self._file is None and not self._open():
                return
            yield from self._new_records()
            if not self._was_replaced():
                return
            # All of the old file was read: what has no line end is a line, too, by now.
            yield from self._records(self._take_half())
            self.close()
            self.n_rotations += 1

    def _open(self) -> bool:
        try:
            # Held open between polls, so that a file that is moved away is read to its end.
            self._file = self.path.open("rb")
        except FileNotFoundError:
            return False
        self._head = b""
        return True

    def _new_records(self) -> Iterator[Any]:
        file = self._file
        assert file is not None
        if self._is_other_text(file):
            self.n_truncations += 1
            self._half.clear()
            self._is_dropping = False
            self._head = b""
            file.seek(0)
        while data := file.read(_READ_BYTES):
            *lines, rest = data.split(b"\n")
            if lines and self._is_dropping:
                self._is_dropping = False
                lines = lines[1:]
            elif lines:
                lines[0] = self._take_half() + lines[0]
            self._keep_half(rest)
            for line in lines:
                yield from self._records(line)
        if len(self._head) < _HEAD_BYTES:
            self._head = os.pread(file.fileno(), _HEAD_BYTES, 0)

    def _is_other_text(self, file: BinaryIO) -> bool:
        if os.fstat(file.fileno()).st_size < file.tell():
            return True
        return os.pread(file.fileno(), len(self._head), 0) != self._head

    def _was_replaced(self) -> bool:
        assert self._file is not None
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False  # between two names: wait
        mine = os.fstat(self._file.fileno())
        return (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev)

    def _keep_half(self, rest: bytes) -> None:
        if self._is_dropping:
            return
        self._half += rest
        if len(self._half) > MAX_LINE_BYTES:
            self._half.clear()
            self._is_dropping = True
            self.n_long_lines += 1

    def _take_half(self) -> bytes:
        half = bytes(self._half)
        self._half.clear()
        return half

    def _skip_to_end(self) -> None:
        if not self._open() or (file := self._file) is None:
            return
        size = file.seek(0, os.SEEK_END)
        # The half line there is left out, too.
        self._is_dropping = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"

    def _records(self, line: bytes) -> Iterator[Any]:
        line = line.strip()
        if not line:
            return
        try:
            record = parse_line(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield record
        else:
            self.n_bad_lines += 1
