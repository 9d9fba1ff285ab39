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
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jeton.datasets.pieces import TokenPiece
from jeton.datasets.spool import read_piece, write_piece
from jeton.datasets.working import TokenizeJob
from jeton.errors import MissingExtraError, UsageError

__all__ = ["pieces_on_ray", "write_part"]

PARTS_NAME = ".jeton-parts"

MEMORY_BYTES = 512 << 20
"""Memory that a task asks for: a unit of text, its ids, and the tokenizer."""

MAX_RETRIES = 5
"""A task whose process or node died is done again so often; errors of the data are final."""

TASKS_AHEAD = 2
"""Tasks for each worker that may be finished before their turn."""


def write_part(job: TokenizeJob, number: int, folder: str) -> dict[str, int]:
    """Tokenize a unit into its part, unless that is there; return its counts.

    Raises:
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone, or the disk is full.
    """
    path = Path(folder) / f"{number:08d}.part"
    if path.exists():
        return {"unit": number, "n_documents": 0, "n_tokens": 0, "was_there": 1}
    temporary = path.with_suffix(f".{socket.gethostname()}-{os.getpid()}.tmp")
    n_documents = n_tokens = 0
    try:
        with temporary.open("wb") as stream:
            for piece in job.pieces(number):
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
    job: TokenizeJob, first_unit: int, first_document: int, workers: int, folder: Path
) -> Iterator[tuple[int, TokenPiece]]:
    """Yield ``(unit, piece)`` in the order of the documents, tokenized by tasks of Ray.

    Connects to the cluster that ``RAY_ADDRESS`` names, or else starts one on this machine.

    Args:
        job: The work.
        first_unit: The unit to begin with.
        first_document: Documents of it that are not wanted.
        workers: Tasks at a time.
        folder: The folder of the data set, which all nodes share.

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: The inputs are on this machine's standard input or in its memory.
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("--on ray", extra="ray") from error
    if any(state is None for state in job.states):
        raise UsageError(
            "a cluster cannot read standard input or Python objects\n"
            "hint: write the texts to files that all nodes share"
        )
    parts = folder.resolve() / PARTS_NAME
    parts.mkdir(exist_ok=True)
    is_ours = not ray.is_initialized()
    if is_ours:
        address = os.environ.get("RAY_ADDRESS")
        options: dict[str, Any] = {} if address else {"num_cpus": workers}
        ray.init(address=address, log_to_driver=False, include_dashboard=False, **options)
    try:
        yield from _in_order(ray, job, first_unit, first_document, workers, parts)
        shutil.rmtree(parts, ignore_errors=True)
    finally:
        if is_ours:
            ray.shutdown()


def _in_order(
    ray: Any, job: TokenizeJob, first_unit: int, first_document: int, workers: int, parts: Path
) -> Iterator[tuple[int, TokenPiece]]:
    task = ray.remote(num_cpus=1, memory=MEMORY_BYTES, max_retries=MAX_RETRIES)(write_part)
    # Once in the store: each node fetches it once.
    shared = ray.put(job)
    units = iter(range(first_unit, len(job.units)))
    running: deque[tuple[int, Any]] = deque()

    def begin() -> None:
        number = next(units, None)
        if number is not None:
            running.append((number, task.remote(shared, number, str(parts))))

    for _ in range(workers * TASKS_AHEAD):
        begin()
    while running:
        number, reference = running.popleft()
        try:
            ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        path = parts / f"{number:08d}.part"
        skipped = first_document if number == first_unit else 0
        for piece in _pieces_of(path, skipped):
            yield number, piece
        path.unlink()
        begin()


def _pieces_of(path: Path, first_document: int) -> Iterator[TokenPiece]:
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
