"""Tokens counted by tasks of Ray: sums by file, as one machine has them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from jeton._core import Tokenizer
from jeton.cluster.sessions import RaySession, RayTasks
from jeton.corpus import Format, InputFile
from jeton.corpus.documents import MAX_DOCUMENT_BYTES
from jeton.corpus.objects import FileState
from jeton.datasets.options import DatasetOptions
from jeton.datasets.reading import read_unit
from jeton.datasets.units import WorkUnit, find_inputs, plan_units
from jeton.errors import UsageError
from jeton.progress import OnProgress, Progress
from jeton.registry import TokenizerLike, resolve


@dataclass(frozen=True, slots=True)
class FileTokens:
    """Sums over a file.

    Attributes:
        n_documents: Documents.
        n_bytes: Their bytes, UTF-8.
        n_tokens: Their tokens.
        n_replacements: U+FFFD written in place of bytes that are not UTF-8.
        n_replaced_documents: Documents with such bytes.
    """

    n_documents: int = 0
    n_bytes: int = 0
    n_tokens: int = 0
    n_replacements: int = 0
    n_replaced_documents: int = 0

    def __add__(self, other: FileTokens) -> FileTokens:
        """The sums of both."""
        return FileTokens(
            self.n_documents + other.n_documents,
            self.n_bytes + other.n_bytes,
            self.n_tokens + other.n_tokens,
            self.n_replacements + other.n_replacements,
            self.n_replaced_documents + other.n_replaced_documents,
        )


@dataclass(frozen=True, slots=True)
class CountedTokens:
    """Sums by file.

    Attributes:
        files: By path, in the order of the inputs.
        skipped: Files that are not read.
        n_null_documents: Records whose text is null.
        n_bad_records: Records that cannot be used, where these are left out.
    """

    files: dict[str, FileTokens]
    skipped: tuple[InputFile, ...]
    n_null_documents: int
    n_bad_records: int


@dataclass(frozen=True, slots=True)
class _TokenJob:
    """Everything that a task has to know."""

    tokenizer: Tokenizer
    allow_special: tuple[str, ...] | Literal["all"]
    files: tuple[InputFile, ...]
    states: tuple[FileState | None, ...]
    units: tuple[WorkUnit, ...]
    options: DatasetOptions


def count_unit(
    job: _TokenJob, number: int, num_threads: int
) -> tuple[list[tuple[int, FileTokens]], int, int]:
    """Count a unit: sums by number of the file, null documents and bad records.

    Raises:
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone.
    """
    unit = job.units[number]
    found, n_null, n_bad = [], 0, 0
    for file in unit.files:
        own = unit if len(unit.files) == 1 else replace(unit, files=(file,))
        sums = FileTokens()
        for piece in read_unit(
            own, job.files, job.states, job.options, max_document_bytes=MAX_DOCUMENT_BYTES
        ):
            batch = piece.texts
            lengths = job.tokenizer.count_batch(
                batch, num_threads=num_threads, allow_special=job.allow_special
            )
            sums += FileTokens(
                len(batch),
                batch.n_bytes,
                int(lengths.sum()),
                batch.n_replacements,
                batch.n_replaced_documents,
            )
            n_null += piece.counts.n_null_documents
            n_bad += piece.counts.n_bad_records
        found.append((file, sums))
    return found, n_null, n_bad


def count_tokens_on_ray(
    inputs: Sequence[str | os.PathLike[str]],
    tokenizer: TokenizerLike,
    *,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    input_format: Format | None = None,
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    allow_special: tuple[str, ...] | Literal["all"] = (),
    workers: int | None = None,
    tasks: RayTasks | None = None,
    on_progress: OnProgress | None = None,
) -> CountedTokens:
    """Count the tokens of files by tasks of Ray; the sums are those of one machine.

    Args:
        inputs: Files, folders, globs and addresses that all nodes can read.
        tokenizer: The tokenizer (an object, a name or a path), which is sent to the tasks.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        input_format: Overrides the format that the names tell.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: A record that does not parse or has no text: ``"stop"`` or ``"skip"``.
        allow_special: Special tokens that text may spell; ``all`` of them.
        workers: Tasks at a time; None: as many as the cluster has cores for.
        tasks: Demands of each task.
        on_progress: Called after each unit, with stage ``"count"``.

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: There are no files, or the input is standard input.
        ClusterError: The cluster cannot be used, or a task died again and again.
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone.

    Example:
        >>> from jeton.cluster import count_tokens_on_ray
        >>> # count_tokens_on_ray(["/shared/web/"], "o200k_base").files
    """
    tokenizer = resolve(tokenizer)
    reading: dict[str, Any] = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    found = find_inputs(
        list(inputs), output=Path(os.devnull), field=field, input_format=input_format
    )
    if any(state is None for state in found.states):
        raise UsageError(
            "a cluster cannot read standard input or Python objects\n"
            "hint: write the texts to files that all nodes share"
        )
    options = DatasetOptions(**reading, input_format=input_format or "")
    job = _TokenJob(
        tokenizer=tokenizer,
        allow_special=allow_special,
        files=found.files,
        states=found.states,
        units=tuple(plan_units(found.files, options)),
        options=options,
    )
    tasks = tasks or RayTasks()
    sums = [FileTokens() for _ in job.files]
    total = sum(file.n_bytes or 0 for file in job.files)
    n_null = n_bad = n_bytes = n_documents = 0
    with RaySession.open(tasks, job, workers=workers, what="--on ray") as session:
        calls = [(number, tasks.num_cpus) for number in range(len(job.units))]
        for _, (own, null, bad) in session.results(count_unit, calls, workers):
            for file, added in own:
                sums[file] += added
                n_bytes += added.n_bytes
                n_documents += added.n_documents
            n_null += null
            n_bad += bad
            if on_progress is not None:
                done = min(n_bytes, total)
                on_progress(Progress("count", done, total, "bytes", n_documents=n_documents))
    files = {file.path: own for file, own in zip(job.files, sums, strict=True)}
    return CountedTokens(files, found.skipped, n_null, n_bad)
