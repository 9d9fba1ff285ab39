"""Pieces of one unit between its worker and the writer: in memory, beyond a limit on the disk."""

from __future__ import annotations

import itertools
import json
import os
import queue
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton._foreign import json_of
from jeton.datasets.pieces import PieceCounts, TokenPiece
from jeton.datasets.reading import TextPiece
from jeton.datasets.working import TokenizeJob
from jeton.errors import CorpusError

if TYPE_CHECKING:
    from jeton._core import TextBatch


# Records of arrays in a file, one behind the other: how a run keeps what waits on the disk.
#
# A record is a line of JSON (type and length of each array) and the bytes of the arrays. Nothing in
# it can run, unlike a pickle: the files lie in the output folder, where others may be able to
# write.

DTYPES = frozenset({"u1", "u2", "u4", "u8", "i4", "i8"})
MAX_HEADER_BYTES = 4_096
"""A header has some dozens of bytes; a longer line is none."""


def write_arrays(stream: IO[bytes], arrays: Sequence[NDArray[Any]]) -> None:
    """Append a record of one-dimensional arrays of integers."""
    little = [np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")) for array in arrays]
    header = [[f"{array.dtype.kind}{array.dtype.itemsize}", len(array)] for array in little]
    stream.write(json.dumps(header).encode() + b"\n")
    for array in little:
        stream.write(array.data)


def read_arrays(stream: IO[bytes], *, n_skipped: int = 0) -> list[NDArray[Any]]:
    """Read the next record.

    Args:
        stream: The file.
        n_skipped: First arrays that are passed over: they come as zeros that take no memory.

    Raises:
        EOFError: There is none.
        CorpusError: The bytes are no whole record.
    """
    line = stream.readline(MAX_HEADER_BYTES)
    if not line:
        raise EOFError
    arrays: list[NDArray[Any]] = []
    try:
        for dtype, length in json_of(line):
            if dtype not in DTYPES or length < 0:
                raise ValueError(dtype)
            n_bytes = int(dtype[1]) * int(length)
            if len(arrays) < n_skipped:
                stream.seek(n_bytes, os.SEEK_CUR)
                arrays.append(np.broadcast_to(np.zeros((), f"<{dtype}"), length))
                continue
            array = np.frombuffer(stream.read(n_bytes), dtype=f"<{dtype}")
            if len(array) != length:
                raise ValueError(length)
            arrays.append(array)
    except (ValueError, TypeError, OverflowError, MemoryError):
        name = getattr(stream, "name", "a temporary file")
        raise CorpusError(
            f"{name}: a record of arrays is damaged\nhint: remove the output folder and start over"
        ) from None
    return arrays


def text_arrays(texts: Sequence[str] | TextBatch) -> list[NDArray[Any]]:
    """Return texts as two arrays: UTF-8 uint8 (n_bytes,) and offsets int64 (n_texts + 1,)."""
    coded = [text.encode() for text in texts]
    offsets = np.zeros(len(coded) + 1, np.int64)
    np.cumsum([len(text) for text in coded], out=offsets[1:])
    return [np.frombuffer(b"".join(coded), np.uint8), offsets]


def read_texts(arrays: Sequence[NDArray[Any]]) -> list[str]:
    """Return the texts of ``text_arrays``."""
    data, offsets = arrays[0].tobytes(), arrays[1].tolist()
    return [data[a:b].decode() for a, b in itertools.pairwise(offsets)]


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


# Units on the threads of this process: tokenized in any order, handed out in theirs.
#
# The core lets go of Python's lock while it works, so threads share one tokenizer and its cache,
# and ids reach the writer without a copy. A unit that is alone (one large compressed file) is read
# ahead and uses all threads.

MEMORY_BYTES = 128 << 20
"""Pieces that wait in memory, of all units together."""

MIN_UNIT_MEMORY_BYTES = 8 << 20

UNITS_AHEAD = 2
"""Units for each worker that may be finished before their turn."""


def pieces_by_threads(
    job: TokenizeJob,
    *,
    first_unit: int,
    first_document: int,
    workers: int,
    folder: Path,
) -> Iterator[tuple[int, TokenPiece]]:
    """Yield ``(unit, piece)`` in the order of the documents.

    Args:
        job: The work.
        first_unit: The unit to begin with.
        first_document: Documents of it that are not wanted.
        workers: Threads.
        folder: Where pieces go that have no room in memory.

    Raises:
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone.
    """
    pool = _Pool(job, first_unit, first_document, workers, folder)
    try:
        for number in range(first_unit, len(job.units)):
            for piece in pool.spool(number).take_all():
                yield number, piece
            pool.done(number)
    finally:
        pool.stop()


class _Pool:
    def __init__(
        self, job: TokenizeJob, first_unit: int, first_document: int, workers: int, folder: Path
    ) -> None:
        self._job, self._workers, self._folder = job, workers, folder
        self._first = (first_unit, first_document)
        self._stop = threading.Event()
        self._condition = threading.Condition()
        self._next = self._turn = first_unit
        self._n_active = 0
        self._spools: dict[int, PieceSpool] = {}
        n_threads = max(1, min(workers, len(job.units) - first_unit))
        self._memory = max(MIN_UNIT_MEMORY_BYTES, MEMORY_BYTES // (n_threads * (UNITS_AHEAD + 1)))
        self._threads = [
            threading.Thread(target=self._work, name=f"jeton-tokenize-{i}", daemon=True)
            for i in range(n_threads)
        ]
        for thread in self._threads:
            thread.start()

    def spool(self, number: int) -> PieceSpool:
        """The queue of a unit."""
        with self._condition:
            if number not in self._spools:
                self._spools[number] = PieceSpool(self._folder, self._memory, self._stop)
            return self._spools[number]

    def done(self, number: int) -> None:
        """A unit was written: one more may begin."""
        with self._condition:
            self._spools.pop(number, None)
            self._turn = number + 1
            self._condition.notify_all()

    def stop(self) -> None:
        """End the threads; what they hold is dropped."""
        self._stop.set()
        with self._condition:
            self._condition.notify_all()
        for thread in self._threads:
            thread.join()
        for spool in self._spools.values():
            spool.close()

    def _take(self) -> int | None:
        with self._condition:
            while not self._stop.is_set():
                if self._next >= len(self._job.units):
                    return None
                if self._next < self._turn + self._workers * UNITS_AHEAD:
                    self._next += 1
                    self._n_active += 1
                    return self._next - 1
                self._condition.wait()
        return None

    def _work(self) -> None:
        while (number := self._take()) is not None:
            spool = self.spool(number)
            error: BaseException | None = None
            try:
                self._tokenize(number, spool)
            except SpoolStop:
                return
            except BaseException as raised:
                error = raised
            finally:
                with self._condition:
                    self._n_active -= 1
                spool.finish(error)
            if error is not None:
                return

    def _tokenize(self, number: int, spool: PieceSpool) -> None:
        first_unit, first_document = self._first
        pieces = self._job.pieces(
            number,
            first_document=first_document if number == first_unit else 0,
            num_threads=lambda: max(1, self._workers // max(1, self._n_active)),
            prefetch=self._read_ahead if self._has_spare_threads() else None,
        )
        for piece in pieces:
            spool.put(piece)

    def _has_spare_threads(self) -> bool:
        """True if no other unit could use a thread that reads ahead."""
        with self._condition:
            return self._n_active < self._workers and self._next >= len(self._job.units)

    def _read_ahead(self, texts: Iterator[TextPiece]) -> Iterator[TextPiece]:
        return _ahead_of(texts, self._stop)


def _ahead_of(texts: Iterator[TextPiece], stop: threading.Event) -> Iterator[TextPiece]:
    """The texts, one batch ahead of who takes them."""
    waiting: queue.Queue[TextPiece | BaseException | None] = queue.Queue(maxsize=1)
    is_over = threading.Event()

    def put(item: TextPiece | BaseException | None) -> bool:
        while not (stop.is_set() or is_over.is_set()):
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for text in texts:
                if not put(text):
                    return
        except BaseException as error:
            put(error)
        else:
            put(None)

    thread = threading.Thread(target=read, name="jeton-reader", daemon=True)
    thread.start()
    try:
        while not stop.is_set():
            try:
                item = waiting.get(timeout=0.1)
            except queue.Empty:
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
        raise SpoolStop
    finally:
        is_over.set()
        thread.join()
