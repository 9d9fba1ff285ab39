"""Processes that read a large log beside this one, chunk by chunk, with the same result.

Reading a record takes most of the time of a log, and Python reads on one core. Here the lines are
cut into chunks, the processes read them, and what they say is taken in the order of the lines. A
process that does not start or that ends costs time only: its chunk is read here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import local
from typing import Any, BinaryIO, Final, cast

from jeton.corpus.json_records import without_collector
from jeton.corpus.requests.chunks import LineChunk, Note, line_chunks, records_of_chunk
from jeton.corpus.requests.reading import ReadOptions
from jeton.corpus.requests.worker import packed_options

MAX_PROCESSES: Final = 16
"""More of them would wait for the one that takes what they read."""

DEFAULT_PROCESSES: Final = 2
"""Joining and counting go on in this process, which two or three keep busy."""

MIN_LOG_BYTES: Final = 32 << 20
"""32 MiB of files, from which on processes save more time than they take to start."""

_CHUNKS_AHEAD: Final = 2
"""Chunks that wait for each process, so that it never waits."""

_MAX_AHEAD_BYTES: Final = 16 << 20
"""Bytes of all chunks on the way: lines of many MiB are read one after another."""

_START: Final = (
    "import sys; sys.path[:] = {path!r}; from jeton.corpus.requests.worker import main; main()"
)
_END_SECONDS: Final = 10.0

Report = Callable[[str, int, str], None]


def processes_for(n_bytes: Iterable[int]) -> int:
    """How many processes are worth it for files of a size; 0: none."""
    if not sys.executable or sum(n_bytes) < MIN_LOG_BYTES:
        return 0
    try:
        n_cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        n_cores = os.cpu_count() or 1
    return DEFAULT_PROCESSES if n_cores > 1 else 0


class _Process:
    """One reading process and its pipes."""

    def __init__(self, options: bytes) -> None:
        path = [str(Path(entry).absolute()) for entry in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START.format(path=path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._owner = os.getpid()
        self._stdin = cast("BinaryIO", self._process.stdin)
        self._stdout = cast("BinaryIO", self._process.stdout)
        self._send(0, options)

    def ask(self, first_line: int, data: bytes) -> bytes:
        """Returns the content of the lines.

        Raises:
            OSError: The process has ended.
        """
        self._send(first_line, data)
        head = self._stdout.read(8)
        size = int.from_bytes(head, "little")
        answer = self._stdout.read(size)
        if len(head) < 8 or len(answer) < size:
            raise BrokenPipeError("the reading process has ended")
        return answer

    def _send(self, first_line: int, data: bytes) -> None:
        self._stdin.write(first_line.to_bytes(8, "little") + len(data).to_bytes(8, "little"))
        self._stdin.write(data)
        self._stdin.flush()

    def end(self) -> None:
        """End the process; in a fork of this one only the pipes are ours."""
        if self._owner == os.getpid():
            with suppress(OSError):
                self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_END_SECONDS)
        else:
            self._process.returncode = 0
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()


class ReadingPool:
    """Reads the lines of files in processes that live until it is closed.

    Args:
        options: How records are read.
        max_record_bytes: A longer line is reported and left out.
        n_processes: How many; they are started when they are needed.
    """

    def __init__(self, options: ReadOptions, *, max_record_bytes: int, n_processes: int) -> None:
        self._options = packed_options(options, max_record_bytes)
        self._max_record_bytes = max_record_bytes
        self._n_processes = n_processes
        # Each thread has a process: writing to it and reading from it wait for one another.
        self._threads: ThreadPoolExecutor | None = None
        self._own = local()
        self._processes: list[_Process] = []
        self._is_broken = False

    def records(
        self,
        pieces: Iterable[bytes],
        *,
        take_notes: Callable[[], tuple[Note, ...]],
        report: Report,
        first_line: int = 1,
    ) -> Iterator[tuple[int, Any]]:
        """Line and what ``RecordParser.take`` takes, in the order of the lines.

        Args:
            pieces: The text of a file, cut anywhere.
            take_notes: Returns what was reported of the pieces since it was called before.
            report: Called for what is left out, in the order of the lines.
            first_line: Number of the first line.
        """
        waiting: deque[tuple[LineChunk, Future[bytes] | None]] = deque()
        n_ahead = _CHUNKS_AHEAD * self._n_processes
        n_bytes = 0
        chunks = line_chunks(
            pieces,
            max_record_bytes=self._max_record_bytes,
            take_notes=take_notes,
            first_line=first_line,
        )
        failure: Exception | None = None
        while True:
            try:
                chunk = next(chunks)
            except StopIteration:
                break
            except Exception as error:  # after the records before it
                failure = error
                break
            waiting.append((chunk, self._ask(chunk) if n_ahead else None))
            n_bytes += len(chunk.data)
            while waiting and (len(waiting) > n_ahead or n_bytes > _MAX_AHEAD_BYTES):
                first, answer = waiting.popleft()
                n_bytes -= len(first.data)
                if not (yield from self._taken(first, answer, report)):
                    n_ahead = 0
        for first, answer in waiting:
            yield from self._taken(first, answer, report)
        if failure is not None:
            raise failure

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.end()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self._threads, self._processes, self._own = None, [], local()

    def _taken(
        self, chunk: LineChunk, future: Future[bytes] | None, report: Report
    ) -> Generator[tuple[int, Any], None, bool]:
        """The records of a chunk; returns whether asking was worth it.

        It is not for a file whose records depend on one another.
        """
        for note in chunk.notes:
            report(*note)
        answer = b""
        if future is not None:
            try:
                answer = future.result()
            except (OSError, ValueError, CancelledError):
                self._is_broken, future = True, None
        with without_collector():
            records, n_unread = records_of_chunk(
                chunk, answer, max_record_bytes=self._max_record_bytes, report=report
            )
        yield from records
        return future is None or n_unread * 2 <= chunk.data.count(b"\n")

    def _ask(self, chunk: LineChunk) -> Future[bytes] | None:
        if self._is_broken or chunk.is_long or not chunk.data:
            return None
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._n_processes, thread_name_prefix="jeton-log")
        return self._threads.submit(self._answer, chunk)

    def _answer(self, chunk: LineChunk) -> bytes:
        process: _Process | None = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = _Process(self._options)
            self._processes.append(process)
        return process.ask(chunk.first_line, chunk.data)
