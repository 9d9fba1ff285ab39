"""Units of a data set as tasks of Ray: a path goes in, a row of counts comes out.

A task reads its unit, tokenizes it, and writes the ids to a part in the folder of the data set,
which all nodes share. Ids never pass through Ray's object store. The driver reads the parts in
their order and cuts shards, as it does with the threads of one machine: so the bytes are equal. A
part takes its name when it is whole, so that a task that died is done again, and a later run goes
on with the parts that are there.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

from jeton.cluster.sessions import RaySession, RayTasks
from jeton.datasets.pieces import TokenPiece
from jeton.datasets.spool import read_piece, write_piece
from jeton.datasets.working import TokenizeJob
from jeton.errors import UsageError

__all__ = ["pieces_of_part", "pieces_on_ray", "write_part"]

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


def pieces_on_ray(
    job: TokenizeJob,
    first_unit: int,
    first_document: int,
    workers: int | None,
    folder: Path,
    *,
    tasks: RayTasks | None = None,
) -> Iterator[tuple[int, TokenPiece]]:
    """Yield ``(unit, piece)`` in the order of the documents, tokenized by tasks of Ray.

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
    tasks = tasks or RayTasks()
    with RaySession.open(tasks, job, workers=workers, what="--on ray") as session:
        parts = folder.resolve() / PARTS_NAME
        parts.mkdir(exist_ok=True)
        run = _Run(session, parts, range(first_unit, len(job.units)), workers, tasks.num_cpus)
        for number in run:
            path = _part(parts, number)
            skipped = first_document if number == first_unit else 0
            for piece in pieces_of_part(path, skipped):
                run.fill()
                yield number, piece
            path.unlink()
        shutil.rmtree(parts, ignore_errors=True)


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
        # A cluster may grow while it works.
        slots = self._workers or self._session.n_slots
        end = min(self._end, self._turn + slots * PARTS_AHEAD)
        while self._next < end and len(self._running) < slots:
            reference = self._session.begin(
                write_part, self._next, str(self._parts), self._num_threads
            )
            self._running[reference] = self._next
            self._next += 1


def _part(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.part"


def pieces_of_part(path: Path, first_document: int) -> Iterator[TokenPiece]:
    """Yield the pieces of a part, from a document on.

    Raises:
        CorpusError: It is damaged.
        OSError: It is gone.
    """
    n_before = 0
    with path.open("rb") as stream:
        while True:
            try:
                piece = read_piece(stream)
            except EOFError:
                return
            n = len(piece)
            if n_before + n > first_document or not first_document:
                yield piece.from_document(max(0, first_document - n_before))
            n_before += n
