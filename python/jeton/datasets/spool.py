"""Pieces of one unit between its worker and the writer: in memory, beyond a limit on the disk."""

from __future__ import annotations

import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from jeton.datasets.array_records import read_arrays, read_texts, text_arrays, write_arrays
from jeton.datasets.pieces import PieceCounts, TokenPiece

WAIT_SECONDS = 0.1
"""Between two looks whether the run was stopped."""


class SpoolStop(Exception):
    """The run was stopped: nobody takes pieces any more."""


def write_piece(stream: IO[bytes], piece: TokenPiece) -> None:
    """Append a piece to a file."""
    runs = np.array(piece.runs, np.int64).reshape(-1)
    counts = np.array([getattr(piece.counts, name) for name in PieceCounts.__slots__], np.int64)
    texts = [] if piece.texts is None else text_arrays(piece.texts)
    write_arrays(stream, [piece.ids, piece.offsets, runs, counts, *texts])


def read_piece(stream: IO[bytes], *, is_outline: bool = False) -> TokenPiece:
    """Read a piece that this program wrote.

    Args:
        stream: The file.
        is_outline: Leave ids and texts where they lie: the ids are zeros, and there are no texts.

    Raises:
        EOFError: There is no other.
        CorpusError: The bytes are no whole piece.
    """
    from jeton._core import TextBatch

    ids, offsets, runs, counts, *texts = read_arrays(stream, n_skipped=int(is_outline))
    if is_outline:
        texts = []
    pairs = tuple((file, n) for file, n in runs.reshape(-1, 2).tolist())
    batch = TextBatch.from_texts(read_texts(texts)) if texts else None
    return TokenPiece(ids, offsets, pairs, PieceCounts(*counts.tolist()), batch)


class PieceSpool:
    """A queue of the pieces of one unit.

    While it is this unit's turn to be written, the worker waits once the queue is full. Before,
    what has no room goes to a temporary file, so that a long unit is finished behind another one.
    """

    def __init__(self, folder: Path, max_bytes: int, stop: threading.Event) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._stop = stop
        self._condition = threading.Condition()
        # Pieces, and places in the file of those that had no room.
        self._waiting: deque[TokenPiece | int] = deque()
        self._n_bytes = 0
        self._is_turn = False
        self._is_done = False
        self._error: BaseException | None = None
        self._file: IO[bytes] | None = None

    def put(self, piece: TokenPiece) -> None:
        """Add a piece; wait while the queue is full and being read.

        Raises:
            SpoolStop: The run was stopped.
            OSError: There is no room on the disk.
        """
        with self._condition:
            while self._is_turn and self._n_bytes >= self._max_bytes:
                self._check()
                self._condition.wait(WAIT_SECONDS)
            self._check()
            if not self._is_turn and self._n_bytes + piece.n_bytes > self._max_bytes:
                if self._file is None:
                    self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
                self._file.seek(0, 2)
                place = self._file.tell()
                write_piece(self._file, piece)
                self._waiting.append(place)
            else:
                self._waiting.append(piece)
                self._n_bytes += piece.n_bytes
            self._condition.notify_all()

    def finish(self, error: BaseException | None = None) -> None:
        """Tell that no piece follows, or why."""
        with self._condition:
            self._is_done, self._error = True, error
            self._condition.notify_all()

    def take_all(self) -> Iterator[TokenPiece]:
        """Yield the pieces, as they come.

        Raises:
            BaseException: The error that ended the worker.
        """
        with self._condition:
            self._is_turn = True
        while True:
            with self._condition:
                while not self._waiting and not self._is_done:
                    self._condition.wait(WAIT_SECONDS)
                if not self._waiting:
                    break
                found = self._waiting.popleft()
                if isinstance(found, TokenPiece):
                    piece = found
                    self._n_bytes -= piece.n_bytes
                else:
                    assert self._file is not None
                    self._file.seek(found)
                    piece = read_piece(self._file)
                self._condition.notify_all()
            yield piece
        self.close()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Drop what waits."""
        with self._condition:
            self._waiting.clear()
            self._n_bytes = 0
            if self._file is not None:
                self._file.close()
                self._file = None

    def _check(self) -> None:
        if self._stop.is_set():
            raise SpoolStop
