"""Pretokens counted by tasks of Ray: each writes the counts of some units, others add them up.

Counts are sums of whole numbers, so that neither the tasks nor their order show in the result: the
file of counts is that of one machine, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jeton._core import PretokenCounts
from jeton._files import write_whole
from jeton.cluster.sessions import RaySession, RayTasks
from jeton.corpus import CorpusCare, Format, InputFile, require_text
from jeton.corpus.care import CareTally, CorpusCarer
from jeton.corpus.documents import MAX_DOCUMENT_BYTES
from jeton.corpus.objects import FileState
from jeton.corpus.weights import integer_weights
from jeton.datasets.options import DatasetOptions
from jeton.datasets.pieces import PieceCounts
from jeton.datasets.reading import TextPiece, read_unit
from jeton.datasets.units import DatasetInputs, FoundInputs, WorkUnit, find_inputs, plan_units
from jeton.errors import EmptyCorpusError, UsageError
from jeton.progress import OnProgress, Progress
from jeton.registry import TokenizerLike, resolve
from jeton.training import CountedCorpus, TrainingSource, TrainSettings
from jeton.training.checkpoints import sha256_of
from jeton.training.counted import explained_full_disk, limit_memory
from jeton.training.counting import add_between_levels, counts_like

PLAN_NAME = "plan.json"

MAX_GROUP_UNITS = 16
"""Units of one task of a large corpus: 256 MiB of text, whose counts take 10 MB."""

MERGED_FILES = 16
"""Files of counts that one task adds up, and the most that are left to the driver."""

DIGEST_BYTES = 1 << 30
"""Bytes of files of which one task takes the digests."""


@dataclass(frozen=True, slots=True)
class _CountJob:
    """Everything that a task has to know."""

    files: tuple[InputFile, ...]
    states: tuple[FileState | None, ...]
    units: tuple[WorkUnit, ...]
    options: DatasetOptions
    cutting: str
    indents: bool
    whole: tuple[int, ...]
    """By number of the file: how often each of its documents counts."""
    quality: tuple[Any, ...]

    def texts(self, number: int) -> Iterator[tuple[int, TextPiece]]:
        """Yield the texts of a unit, those of each file apart, with the number of the file."""
        unit = self.units[number]
        parts = [unit] if len(unit.files) == 1 else [WorkUnit((file,)) for file in unit.files]
        for part in parts:
            for piece in read_unit(
                part, self.files, self.states, self.options, max_document_bytes=MAX_DOCUMENT_BYTES
            ):
                yield part.files[0], piece


@dataclass(slots=True)
class _Row:
    """Facts about the documents of a part."""

    sources: dict[int, list[int]]
    """By number of the file: documents, bytes, replaced documents, documents left out."""
    tally: dict[str, Any]
    read: PieceCounts
    n_cut_documents: int

    def to_json(self) -> str:
        return json.dumps(
            [list(self.sources.items()), self.tally, asdict(self.read), self.n_cut_documents]
        )

    @classmethod
    def from_json(cls, text: str) -> _Row:
        sources, tally, read, n_cut = json.loads(text)
        return cls(dict(sources), tally, PieceCounts(**read), n_cut)


def count_units(job: _CountJob, first: int, end: int, path: str, num_threads: int) -> str:
    """Write the counts of units ``first`` to ``end`` to a file, unless it is there; return a row.

    Raises:
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone, or the disk is full.
    """
    if Path(path).exists():
        return PretokenCounts.describe_file(path).info
    counts = PretokenCounts.cut_by(job.cutting)
    numbers = sorted({file for unit in job.units[first:end] for file in unit.files})
    carer = CorpusCarer(CorpusCare(quality=job.quality), [job.files[n] for n in numbers])
    sources: dict[int, list[int]] = {}
    read, n_cut, n_weightless = PieceCounts(), 0, 0
    for unit in range(first, end):
        for file, piece in job.texts(unit):
            batch = piece.texts
            read += PieceCounts(n_documents=len(batch)) + piece.counts
            n_cut += piece.n_cut_documents
            if not len(batch):
                continue
            if job.whole[file]:
                weights = carer.care(job.files[file], batch, num_threads=num_threads).weights
                weights *= np.uint64(job.whole[file])
            else:
                weights = np.zeros(len(batch), np.uint64)
                n_weightless += len(batch)
            if job.indents:
                add_between_levels(counts, batch, weights, num_threads)
            else:
                counts.add(batch, weights=weights, num_threads=num_threads)
            is_counted = weights > 0
            n_counted = int(is_counted.sum())
            row = sources.setdefault(file, [0, 0, 0, 0])
            row[0] += n_counted
            row[1] += int(np.diff(batch.offsets)[is_counted].sum())
            row[2] += batch.n_replaced_documents
            row[3] += len(batch) - n_counted
    tally = asdict(carer.tally())
    tally["n_weightless"] += n_weightless
    row_of_part = _Row(sources, tally, read, n_cut).to_json()
    counts.save(path, info=row_of_part)
    return row_of_part


def merge_counts(job: _CountJob, paths: Sequence[str], target: str) -> None:
    """Write the sum of files of counts to another one, unless that is there.

    Raises:
        OSError: The disk is full ...
    """
    if Path(target).exists():
        return
    counts = PretokenCounts.cut_by(job.cutting)
    for path in paths:
        counts.add_file(path)
    counts.save(target)


def digests_of(job: _CountJob, first: int, end: int) -> list[str]:
    """SHA-256 of files ``first`` to ``end`` as they are stored."""
    return [sha256_of(file) for file in job.files[first:end]]


def count_pretokens_on_ray(
    inputs: DatasetInputs,
    *,
    folder: str | os.PathLike[str],
    settings: TrainSettings | None = None,
    base: TokenizerLike | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    input_format: Format | None = None,
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    care: CorpusCare | None = None,
    max_memory: int | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
    digests: bool = False,
    resume: bool = False,
    workers: int | None = None,
    tasks: RayTasks | None = None,
    on_progress: OnProgress | None = None,
) -> CountedCorpus:
    """Count pretokens by tasks of Ray; the result is that of ``jeton.count_pretokens``.

    Connects to the cluster that ``RAY_ADDRESS`` names, or else starts one on this machine.

    Args:
        inputs: Paths, folders, globs and addresses that all nodes can read.
        folder: Where the counts of parts go, on a file system that all nodes share. It is removed
            when all is counted.
        settings: Only the settings that decide how text is cut matter here.
        base: Cut text as this tokenizer does, to continue it; settings do not matter then.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        input_format: Overrides the format that the names tell.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: A record that does not parse or has no text: ``"stop"`` or ``"skip"``.
        care: Weights and quality. Copies and what is held out depend on documents of other tasks.
        max_memory: Bytes of memory for the sum on this machine; None: as many as it takes.
        temp_dir: Where the sum goes that has no room in memory.
        digests: Take the SHA-256 of each file, too.
        resume: Go on with the parts in ``folder``.
        workers: Tasks at a time; None: as many as the cluster has cores for.
        tasks: Demands of each task.
        on_progress: Called after each part, with stage ``"count"``.

    Raises:
        EmptyCorpusError: There is no text.
        MissingExtraError: Ray is not installed.
        UsageError: The care needs all documents in one place, the algorithm counts by language, or
            the folder holds something else.
        ClusterError: The cluster cannot be used, or a task died again and again.
        CorpusError: A file cannot be read as documents, or changed.
        OSError: A file is gone, or the disk is full.

    Example:
        >>> from jeton.cluster import count_pretokens_on_ray
        >>> # corpus = count_pretokens_on_ray("web/", folder="web.parts")
        >>> # jeton.training.save_counts("web.counts", corpus)
    """
    settings, care = settings or TrainSettings(), care or CorpusCare()
    settings.check()
    _check_care(care)
    if base is None and settings.method.languages(settings) is not None:
        raise UsageError(
            f"{settings.algorithm} counts each language apart, which tasks on a cluster do not\n"
            "hint: count the files of each language by themselves"
        )
    sums = (
        settings.method.new_counts(settings)
        if base is None
        else counts_like(resolve(base, argument="base"))
    )
    reading: dict[str, Any] = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    options = DatasetOptions(**reading, input_format=input_format or "")
    place = Path(folder)
    found = find_inputs(inputs, output=place, field=field, input_format=input_format)
    if any(state is None for state in found.states):
        raise UsageError(
            "a cluster cannot read standard input or Python objects\n"
            "hint: write the texts to files that all nodes share"
        )
    # The files that it weighs, and the unit that makes all weights whole.
    carer = CorpusCarer(care, found.files)
    whole, _ = integer_weights({**carer.weights, "": Fraction(1)})
    job = _CountJob(
        files=found.files,
        states=found.states,
        units=tuple(plan_units(found.files, options)),
        options=options,
        cutting=sums.cutting,
        indents=settings.indents and base is None,
        whole=tuple(int(whole.get(file.path, carer.unit)) for file in found.files),
        quality=tuple(care.quality),
    )
    limit_memory(sums, max_memory, temp_dir)
    _begin(place, job, resume=resume)
    tasks = tasks or RayTasks()
    with RaySession.open(tasks, job, workers=workers, what="--on ray") as session:
        rows, parts = _count(session, job, place, workers, tasks.num_cpus, on_progress)
        hashes = _digests(session, job, workers) if digests else [""] * len(job.files)
        level = 0
        while len(parts) > MERGED_FILES:
            level += 1
            parts = _merged(session, parts, place, level, workers)
    with explained_full_disk(temp_dir):
        for part in parts:
            sums.add_file(part)
    corpus = _corpus(job, found, rows, hashes, sums, carer)
    shutil.rmtree(place, ignore_errors=True)
    return CountedCorpus(
        **corpus,
        pattern=settings.pattern if base is None and "pattern" in settings.method.takes else "",
        reading=reading,
        care=care.to_dict(),
    )


def _check_care(care: CorpusCare) -> None:
    for given, name in (
        (care.temperature is not None, "balance"),
        (care.exact_duplicates, "duplicates"),
        (care.near_duplicates is not None, "near duplicates"),
        (care.holdout is not None, "hold-out"),
    ):
        if given:
            raise UsageError(
                f"{name} needs all documents in one place, and each task on a cluster sees some\n"
                "hint: count on one machine, or give weights and quality alone"
            )


def _begin(place: Path, job: _CountJob, *, resume: bool) -> None:
    """Make the folder of parts, or go on from it."""
    told = [
        job.cutting,
        job.indents,
        job.options.to_dict(),
        [file.path for file in job.files],
        job.states,
        job.whole,
        [repr(rule) for rule in job.quality],
        [unit.to_list() for unit in job.units],
    ]
    plan = hashlib.sha256(json.dumps(told).encode()).hexdigest()
    path = place / PLAN_NAME
    if path.exists():
        if not resume:
            raise UsageError(
                f"{place} holds counts of a run that was not finished\n"
                "hint: resume goes on; to start over, remove the folder"
            )
        if json.loads(path.read_text(encoding="utf-8")) != plan:
            raise UsageError(
                f"{place} cannot be resumed: inputs or settings are not those that it began with\n"
                "hint: to start over, remove the folder"
            )
        return
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        raise UsageError(f"{place} holds something else\nhint: name another folder")
    write_whole(path, json.dumps(plan))


def _count(
    session: RaySession,
    job: _CountJob,
    place: Path,
    workers: int | None,
    num_threads: int,
    on_progress: OnProgress | None,
) -> tuple[list[_Row], list[str]]:
    n = len(job.units)
    step = max(1, min(MAX_GROUP_UNITS, n // 256))
    folder = place.resolve()
    calls = [
        (first, min(n, first + step), str(folder / f"{first:08d}.counts"), num_threads)
        for first in range(0, n, step)
    ]
    rows: dict[int, _Row] = {}
    total = sum(file.n_bytes or 0 for file in job.files)
    n_bytes = n_documents = 0
    for number, row in session.results(count_units, calls, workers):
        rows[number] = _Row.from_json(row)
        n_bytes += rows[number].read.n_text_bytes
        n_documents += rows[number].read.n_documents
        if on_progress is not None:
            on_progress(
                Progress("count", min(n_bytes, total), total, "bytes", n_documents=n_documents)
            )
    return [rows[number] for number in range(len(calls))], [str(call[2]) for call in calls]


def _merged(
    session: RaySession, parts: list[str], place: Path, level: int, workers: int | None
) -> list[str]:
    folder = place.resolve()
    groups = [parts[i : i + MERGED_FILES] for i in range(0, len(parts), MERGED_FILES)]
    targets = [str(folder / f"sum-{level}-{number:08d}.counts") for number in range(len(groups))]
    calls = list(zip(groups, targets, strict=True))
    for _ in session.results(merge_counts, calls, workers):
        pass
    return targets


def _digests(session: RaySession, job: _CountJob, workers: int | None) -> list[str]:
    calls: list[tuple[int, int]] = []
    first = n_bytes = 0
    for number, file in enumerate(job.files):
        n_bytes += file.n_bytes or 0
        if n_bytes >= DIGEST_BYTES or number + 1 == len(job.files):
            calls.append((first, number + 1))
            first, n_bytes = number + 1, 0
    found = dict(session.results(digests_of, calls, workers))
    return [digest for number in range(len(calls)) for digest in found[number]]


def _corpus(
    job: _CountJob,
    found: FoundInputs,
    rows: Sequence[_Row],
    hashes: Sequence[str],
    sums: PretokenCounts,
    carer: CorpusCarer,
) -> dict[str, Any]:
    """The fields of the result that come from the parts."""
    sources: dict[int, list[int]] = {}
    read = PieceCounts()
    for row in rows:
        read += row.read
        for file, figures in row.sources.items():
            before = sources.get(file, [0, 0, 0, 0])
            sources[file] = [a + b for a, b in zip(before, figures, strict=True)]
    tally = _tally(rows)
    require_text(
        n_documents=read.n_documents,
        n_bytes=read.n_text_bytes,
        skipped=found.skipped,
        n_null_documents=read.n_null_documents,
        n_bad_records=read.n_bad_records,
    )
    if not sums.n_pretokens:
        raise EmptyCorpusError(tally.why_nothing_is_left(read.n_documents))
    return {
        "counts": sums,
        "sources": tuple(
            TrainingSource(
                name=job.files[file].path,
                n_documents=n_documents,
                n_bytes=n_bytes,
                n_replaced_documents=n_replaced,
                weight=str(carer.weights.get(job.files[file].path, 1)),
                n_left_out_documents=n_left_out,
                sha256=hashes[file],
            )
            for file, (n_documents, n_bytes, n_replaced, n_left_out) in sources.items()
        ),
        "skipped": found.skipped,
        "unit": carer.unit,
        "left_out": tally,
        "n_cut_documents": sum(row.n_cut_documents for row in rows),
        "indents": job.indents,
        "n_null_documents": read.n_null_documents,
        "n_bad_records": read.n_bad_records,
    }


def _tally(rows: Sequence[_Row]) -> CareTally:
    names = [part.name for part in fields(CareTally) if part.name != "n_broken"]
    broken = Counter[str]()
    for row in rows:
        broken.update(row.tally["n_broken"])
    return CareTally(
        **{name: sum(row.tally[name] for row in rows) for name in names}, n_broken=dict(broken)
    )
