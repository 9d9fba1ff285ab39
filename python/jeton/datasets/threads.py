"""Units on the threads of this process: tokenized in any order, handed out in theirs.

The core lets go of Python's lock while it works, so threads share one tokenizer and its cache, and
ids reach the writer without a copy. A unit that is alone (one large compressed file) is read ahead
and uses all threads.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

from jeton.datasets.pieces import TokenPiece
from jeton.datasets.reading import TextPiece
from jeton.datasets.spool import PieceSpool, SpoolStop
from jeton.datasets.working import TokenizeJob

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
