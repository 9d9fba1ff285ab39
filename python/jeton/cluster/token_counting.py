"""Tokens counted by tasks of Ray: sums by file, as one machine has them.

Request logs counted by tasks of Ray, part by part, with the counts of one machine.

A task reads a part of a log and counts it as if nothing came before. The driver looks which
answers, traces and sessions parts share, and what their files stated before them. A part that
should have known more is counted again with that (``jeton.corpus.requests.seams``). Counts are
whole numbers and draws of texts by their digests. Further tasks add them up in the order of parts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from jeton._core import Tokenizer
from jeton.auditing import Audit
from jeton.auditing.log_counting import LogJob
from jeton.cluster.sessions import RaySession, RayTasks
from jeton.corpus import Format, InputFile
from jeton.corpus.documents import MAX_DOCUMENT_BYTES
from jeton.corpus.objects import FileState
from jeton.corpus.requests.seams import (
    PartEntry,
    PartExit,
    PartState,
    PartSummary,
    can_be_apart,
    entries,
)
from jeton.corpus.requests.summary import empty_log
from jeton.datasets.options import DatasetOptions
from jeton.datasets.reading import read_unit
from jeton.datasets.units import WorkUnit, find_inputs, plan_units
from jeton.errors import UsageError
from jeton.progress import OnProgress, Progress
from jeton.registry import TokenizerLike, resolve
from jeton.workload.counting.counts import Counts


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


MERGED_PARTS = 16
"""Counts that one task adds up, and the most that are left to the driver."""

MAX_ROUNDS = 3
"""Rounds in which all parts that should have known more are counted at once. From then on they are
counted one after another: what each should know is then final."""


def count_part(
    job: LogJob, number: int, entry: PartEntry, num_threads: int
) -> tuple[PartSummary, PartExit, Counts]:
    """Count a part.

    Raises:
        RecordError: A file is unreadable, or, under strict reading, a record.
        OSError: A file is gone.
    """
    left, counts = job.count(number, entry, num_threads=num_threads)
    return left.summary, left, counts


def state_of(job: LogJob, left: PartExit, keys: list[int], traces: list[int]) -> PartState:
    """Return what a part knew of some ids and traces in the end."""
    return left.state_of(keys, traces)


def add_up(job: LogJob, *counts: Counts) -> Counts:
    """Add the counts of parts that follow one another."""
    first, *others = (one.with_setup(job.setup) for one in counts)
    for other in others:
        first = first.merge(other)
    return first


def count_logs_on_ray(
    audit: Audit,
    inputs: Any,
    *,
    workers: int | None = None,
    tasks: RayTasks | None = None,
    on_progress: OnProgress | None = None,
) -> Counts:
    """Count request logs by tasks of Ray; the counts are those of ``audit.count(inputs)``.

    Connects to the cluster that ``RAY_ADDRESS`` names, or else starts one on this machine.

    Args:
        audit: The audit, of logs.
        inputs: Paths, folders, globs and addresses that all nodes can read.
        workers: Tasks at a time; None: as many as the cluster has cores for.
        tasks: Demands of each task.
        on_progress: Called after each part, with stage ``"count"``.

    Raises:
        EmptyCorpusError: There is no request.
        MissingExtraError: Ray is not installed.
        UsageError: The inputs are no logs in files, or something looks at all texts.
        ClusterError: The cluster cannot be used, or a task died again and again.
        RecordError: A file is unreadable, or, under strict reading, a record.
        OSError: A file is gone.

    Example:
        >>> from jeton.auditing import Audit
        >>> from jeton.cluster import count_logs_on_ray
        >>> # audit = Audit(tokenizers=["o200k_base"], logs=True)
        >>> # report = audit.report(count_logs_on_ray(audit, "/shared/gateway/"))
    """
    job = audit.log_job(inputs)
    tasks = tasks or RayTasks()
    counts = None
    while counts is None:
        with RaySession.open(tasks, job, workers=workers, what="--on ray") as session:
            made = _Parts(session, job, workers, tasks.num_cpus, on_progress).count()
            if made is None:
                job = replace(job, parts=(tuple(shard for part in job.parts for shard in part),))
            else:
                counts = _sum(session, job, made, workers)
    counts.n_skipped_files += len(job.skipped)
    facts = None if counts.requests is None else counts.requests.facts
    if facts is not None and not facts.tally.n_requests:
        raise empty_log(facts, n_skipped=len(job.skipped))
    return counts


class _Parts:
    """Parts that are counted, again where they should have known more of one another."""

    def __init__(
        self,
        session: RaySession,
        job: LogJob,
        workers: int | None,
        num_threads: int,
        on_progress: OnProgress | None,
    ) -> None:
        self._session, self._job, self._workers = session, job, workers
        self._num_threads, self._on_progress = num_threads, on_progress
        self._known = [PartEntry(part=number) for number in range(len(job.parts))]
        self._summaries: dict[int, PartSummary] = {}
        self._exits: dict[int, Any] = {}
        self._counts: dict[int, Any] = {}
        self._n_bytes = 0

    def count(self) -> list[Any] | None:
        """Return references to the counts of all parts, in order; None: it must be one part."""
        waiting = list(range(len(self._known)))
        n_rounds = 0
        while waiting:
            self._count(waiting)
            n_rounds += 1
            summaries = [self._summaries[number] for number in range(len(self._known))]
            if not can_be_apart(self._job.parts, summaries):
                return None
            wanted = entries(self._job.parts, summaries, self._states)
            waiting = [
                number
                for number, (entry, one) in enumerate(zip(wanted, summaries, strict=True))
                if not entry.is_like(self._known[number], one.n_tickets, one.n_spans)
            ]
            waiting = waiting if n_rounds <= MAX_ROUNDS else waiting[:1]
            for number in waiting:
                self._known[number] = wanted[number]
        return [self._counts[number] for number in range(len(self._known))]

    def _count(self, numbers: list[int]) -> None:
        calls = [(number, self._known[number], self._num_threads) for number in numbers]
        found = self._session.results(count_part, calls, self._workers, n_kept=2)
        for place, (summary, left, counts) in found:
            number = numbers[place]
            self._summaries[number], self._exits[number] = summary, left
            self._counts[number] = counts
            self._n_bytes += sum(shard.n_bytes for shard in self._job.parts[number])
            self._report()

    def _states(self, wanted: Mapping[int, tuple[list[int], list[int]]]) -> Mapping[int, PartState]:
        numbers = list(wanted)
        calls = [(self._exits[number], *wanted[number]) for number in numbers]
        found = self._session.results(state_of, calls, self._workers)
        return {numbers[place]: state for place, state in found}

    def _report(self) -> None:
        if self._on_progress is not None:
            total = sum(shard.n_bytes for part in self._job.parts for shard in part)
            done = min(self._n_bytes, total)
            self._on_progress(Progress("count", done, total, "bytes", n_documents=0))


def _sum(session: RaySession, job: LogJob, parts: list[Any], workers: int | None) -> Counts:
    """Add up the counts of parts, in their order."""
    while len(parts) > MERGED_PARTS:
        groups = [tuple(parts[i : i + MERGED_PARTS]) for i in range(0, len(parts), MERGED_PARTS)]
        added: dict[int, Any] = {}
        for place, (_, counts) in session.results(_add_up_apart, groups, workers, n_kept=1):
            added[place] = counts
        parts = [added[place] for place in range(len(groups))]
    return add_up(job, *(session.result(part) for part in parts))


def _add_up_apart(job: LogJob, *counts: Counts) -> tuple[None, Counts]:
    return None, add_up(job, *counts)
