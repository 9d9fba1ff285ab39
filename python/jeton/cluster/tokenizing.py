"""Units of a data set as tasks of Ray: a path goes in, a row of counts comes out.

A task reads its unit, tokenizes it, and writes the ids to a part in the folder of the data set,
which all nodes share. Ids never pass through Ray's object store or the driver. The driver reads the
lengths of the documents in the parts, in their order, and plans shards as one machine cuts them. A
further task writes each shard from its parts: so the bytes are equal. Parts and shards take their
names when they are whole, so that a task that died is done again, and a later run goes on with the
parts that are there.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from jeton.cluster.sessions import RaySession, RayTasks
from jeton.datasets.formats.base import FileRecord
from jeton.datasets.pieces import PieceCounts, TokenPiece
from jeton.datasets.shards import FinishedShard, ShardCut, ShardPosition
from jeton.datasets.spool import read_piece, write_piece
from jeton.datasets.working import TokenizeJob
from jeton.errors import CorpusError, UsageError

PARTS_NAME = ".jeton-parts"

PARTS_AHEAD = 16
"""Parts for each worker that may lie on the disk before their turn: behind a long unit (one large
compressed file) the others go on for as long as they have room."""


def write_part(job: TokenizeJob, number: int, folder: str, num_threads: int = 1) -> dict[str, int]:
    """Tokenize a unit into its part, unless that is there; return its counts.

    Raises:
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone, or the disk is full.
    """
    path = _part(Path(folder), number)
    if path.exists():
        return {"unit": number, "n_documents": 0, "n_tokens": 0, "was_there": 1}
    temporary = path.with_suffix(f".{socket.gethostname()}-{os.getpid()}.tmp")
    n_documents = n_tokens = 0
    try:
        with temporary.open("wb") as stream:
            for piece in job.pieces(number, num_threads=lambda: num_threads):
                write_piece(stream, piece)
                n_documents += len(piece)
                n_tokens += len(piece.ids)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return {"unit": number, "n_documents": n_documents, "n_tokens": n_tokens, "was_there": 0}


def write_shard(
    job: TokenizeJob, cut: ShardCut, planned: FinishedShard, start: ShardPosition, folder: str
) -> tuple[FileRecord, ...]:
    """Write a shard out of the parts of its units; return its files.

    The files are written in a folder of their own, since a task that was given up may still run.

    Raises:
        CorpusError: The parts hold other documents than planned.
        OSError: A part is gone, or the disk is full.
    """
    found: list[FinishedShard] = []
    name = f"shard-{planned.record.number}.{socket.gethostname()}-{os.getpid()}"
    place = Path(folder) / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        cutter = replace(cut, layout=replace(cut.layout, folder=place)).cutter(
            tuple(file.path for file in job.files),
            found.append,
            number=planned.record.number,
            position=start,
        )
        end = planned.following
        try:
            for unit in range(start.unit, end.unit + 1):
                first = start.document if unit == start.unit else 0
                last = end.document if unit == end.unit else None
                for piece in pieces_of_part(_part(Path(folder), unit), first, last):
                    cutter.add(unit, piece)
            cutter.finish()
        except BaseException:
            cutter.abandon()
            raise
        if [replace(shard.record, files=(), inputs=()) for shard in found] != [planned.record]:
            raise CorpusError(
                f"{folder}: the parts of shard {planned.record.number} hold other documents than "
                "planned\nhint: remove the output folder and start over"
            )
        files = found[0].record.files
        for file in files:
            (place / file.name).replace(cut.layout.folder / file.name)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return files


def pieces_on_ray(
    job: TokenizeJob,
    first_unit: int,
    first_document: int,
    workers: int | None,
    folder: Path,
    *,
    tasks: RayTasks | None = None,
) -> RayPieces:
    """Return ``(unit, piece)`` in the order of the documents, tokenized by tasks of Ray.

    Connects to the cluster that ``RAY_ADDRESS`` names, or else starts one on this machine.

    Args:
        job: The work.
        first_unit: The unit to begin with.
        first_document: Documents of it that are not wanted.
        workers: Tasks at a time; None: as many as the cluster has cores for.
        folder: The folder of the data set, which all nodes share.
        tasks: Demands of each task (``functools.partial`` sets them).

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: The inputs are on this machine's standard input or in its memory.
        ClusterError: The cluster cannot be used, or a task died again and again.
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone.

    Example:
        >>> import functools
        >>> from jeton.cluster import RayTasks, pieces_on_ray
        >>> on = functools.partial(pieces_on_ray, tasks=RayTasks(num_cpus=2, max_retries=10))
        >>> # jeton.tokenize_dataset("s3://bucket/*.jsonl", ..., on=on)
    """
    if any(state is None for state in job.states):
        raise UsageError(
            "a cluster cannot read standard input or Python objects\n"
            "hint: write the texts to files that all nodes share"
        )
    return RayPieces(job, (first_unit, first_document), workers, folder, tasks or RayTasks())


class RayPieces(Iterator[tuple[int, TokenPiece]]):
    """Pieces that tasks make, and shards that tasks write of them."""

    def __init__(
        self,
        job: TokenizeJob,
        first: tuple[int, int],
        workers: int | None,
        folder: Path,
        tasks: RayTasks,
    ) -> None:
        """Not for callers: see ``pieces_on_ray``."""
        self._job, self._first, self._workers, self._tasks = job, first, workers, tasks
        self._folder = folder.resolve()
        self._parts = self._folder / PARTS_NAME
        self._pieces = self._iterate()

    def __next__(self) -> tuple[int, TokenPiece]:
        """The next piece, read from its part."""
        return next(self._pieces)

    def close(self) -> None:
        """End the tasks."""
        self._pieces.close()

    def _iterate(self) -> Generator[tuple[int, TokenPiece], None, None]:
        with self._opened() as (_, run):
            for number in run:
                path = _part(self._parts, number)
                for piece in pieces_of_part(path, self._skipped(number)):
                    run.fill()
                    yield number, piece
                path.unlink()
        shutil.rmtree(self._parts, ignore_errors=True)

    def write_shards(
        self,
        cut: ShardCut,
        number: int,
        at: ShardPosition,
        *,
        through: Callable[[Iterator[tuple[int, TokenPiece]]], Iterator[tuple[int, TokenPiece]]],
        on_shard: Callable[[FinishedShard], None],
    ) -> PieceCounts:
        """Write the shards from a number and a place on; see ``ShardSource``."""
        cut = replace(cut, layout=replace(cut.layout, folder=self._folder))
        paths = tuple(file.path for file in self._job.files)
        planned: list[FinishedShard] = []
        cutter = cut.cutter(paths, planned.append, number=number, position=at, is_plan=True)
        with self._opened() as (session, run):
            shards = _Shards(session, cut, self._parts, at, on_shard)
            try:
                for unit, piece in through(self._outlines(run)):
                    cutter.add(unit, piece)
                    shards.begin(planned, n_waiting=max(2, run.n_slots))
            except Exception:
                # As on one machine: what comes before an error is written.
                shards.begin(planned, n_waiting=0)
                raise
            cutter.finish()
            shards.begin(planned, n_waiting=0)
        shutil.rmtree(self._parts, ignore_errors=True)
        return cutter.counts

    def _outlines(self, run: _Run) -> Iterator[tuple[int, TokenPiece]]:
        for number in run:
            path = _part(self._parts, number)
            for piece in pieces_of_part(path, self._skipped(number), is_outline=True):
                run.fill()
                yield number, piece

    def _skipped(self, number: int) -> int:
        return self._first[1] if number == self._first[0] else 0

    @contextmanager
    def _opened(self) -> Iterator[tuple[RaySession, _Run]]:
        with RaySession.open(
            self._tasks, self._job, workers=self._workers, what="--on ray"
        ) as session:
            self._parts.mkdir(exist_ok=True)
            units = range(self._first[0], len(self._job.units))
            yield session, _Run(session, self._parts, units, self._workers, self._tasks.num_cpus)


class _Shards:
    """Shards that tasks write, told of in their order."""

    def __init__(
        self,
        session: RaySession,
        cut: ShardCut,
        parts: Path,
        at: ShardPosition,
        on_shard: Callable[[FinishedShard], None],
    ) -> None:
        self._session, self._cut, self._parts = session, cut, parts
        self._start, self._on_shard = at, on_shard
        self._first_part = at.unit
        self._running: deque[tuple[object, FinishedShard]] = deque()

    def begin(self, planned: list[FinishedShard], *, n_waiting: int) -> None:
        """Begin a task for each planned shard; wait until so many at most are not written."""
        for shard in planned:
            # The list of a million inputs stays here.
            brief = replace(shard, record=replace(shard.record, inputs=()))
            reference = self._session.begin(
                write_shard, self._cut, brief, self._start, str(self._parts)
            )
            self._running.append((reference, shard))
            self._start = shard.following
        planned.clear()
        while self._running and (
            len(self._running) > n_waiting or self._session.wait([self._running[0][0]], seconds=0)
        ):
            reference, shard = self._running.popleft()
            files = self._session.result(reference)
            self._on_shard(replace(shard, record=replace(shard.record, files=files)))
            # Behind it, nobody asks for the parts before.
            for number in range(self._first_part, shard.following.unit):
                _part(self._parts, number).unlink(missing_ok=True)
            self._first_part = shard.following.unit


class _Run(Iterator[int]):
    """Numbers of units whose parts are written, in order; others are being written meanwhile."""

    def __init__(
        self, session: RaySession, parts: Path, units: range, workers: int | None, num_threads: int
    ) -> None:
        self._session, self._parts, self._num_threads = session, parts, num_threads
        self._workers = workers
        self._next, self._turn, self._end = units.start, units.start, units.stop
        self._running: dict[object, int] = {}
        self._written: set[int] = set()
        # An error waits for its turn, as on one machine: what comes before it is written.
        self._errors: dict[int, Exception] = {}

    @property
    def n_slots(self) -> int:
        """Tasks at a time; a cluster may grow while it works."""
        return self._workers or self._session.n_slots

    def __next__(self) -> int:
        if self._turn >= self._end:
            raise StopIteration
        while self._turn not in self._written:
            self._begin()
            self._note(self._session.wait(self._running))
        self.fill()
        number = self._turn
        self._written.remove(number)
        if number in self._errors:
            raise self._errors[number]
        self._turn += 1
        return number

    def fill(self) -> None:
        """Begin tasks in place of those that are done."""
        if self._running:
            self._note(self._session.wait(self._running, seconds=0))
        self._begin()

    def _note(self, references: list[object]) -> None:
        for reference in references:
            number = self._running.pop(reference)
            try:
                self._session.result(reference)
            except Exception as error:
                self._errors[number] = error
                self._end = min(self._end, number + 1)
            self._written.add(number)

    def _begin(self) -> None:
        slots = self.n_slots
        end = min(self._end, self._turn + slots * PARTS_AHEAD)
        while self._next < end and len(self._running) < slots:
            reference = self._session.begin(
                write_part, self._next, str(self._parts), self._num_threads
            )
            self._running[reference] = self._next
            self._next += 1


def _part(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.part"


def pieces_of_part(
    path: Path, first_document: int, end_document: int | None = None, *, is_outline: bool = False
) -> Iterator[TokenPiece]:
    """Yield the pieces of a part, from a document on.

    Args:
        path: The part.
        first_document: Documents that are not wanted.
        end_document: The first document behind those that are wanted; None: all are.
        is_outline: Leave ids and texts where they lie.

    Raises:
        CorpusError: It is damaged.
        OSError: It is gone.
    """
    n_before = 0
    with path.open("rb") as stream:
        while end_document is None or n_before < end_document:
            try:
                piece = read_piece(stream, is_outline=is_outline)
            except EOFError:
                return
            n = len(piece)
            if end_document is not None:
                piece = piece.until_document(end_document - n_before)
            if n_before + n > first_document or not first_document:
                yield piece.from_document(max(0, first_document - n_before))
            n_before += n
