"""A run: inputs to a folder of shards, in one go or taken up again."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from jeton._core import Tokenizer, available_threads
from jeton.corpus import Format, InputFile, require_text
from jeton.corpus.objects import local_folder
from jeton.datasets.boundaries import BoundaryTokens, find_boundaries
from jeton.datasets.formats import FORMATS, ShardFormat, ShardLayout
from jeton.datasets.manifest import (
    MANIFEST_NAME,
    DatasetManifest,
    RunJournal,
    RunPlan,
    units_digest,
)
from jeton.datasets.options import DataFormat, DatasetColumn, DatasetOptions
from jeton.datasets.pieces import PieceCounts, TokenPiece
from jeton.datasets.result import TokenizedDataset
from jeton.datasets.shards import FinishedShard, ShardCut, ShardPosition
from jeton.datasets.shuffling import shuffled
from jeton.datasets.spool import pieces_by_threads
from jeton.datasets.units import DatasetInputs, WorkUnit, find_inputs, plan_units
from jeton.datasets.working import TokenizeJob
from jeton.errors import JetonWarning, UsageError
from jeton.guard.policy import Policy
from jeton.progress import OnProgress, Progress
from jeton.registry.resolving import TokenizerLike, resolve

PieceSource: TypeAlias = Callable[
    [TokenizeJob, int, int, int | None, Path], Iterator[tuple[int, TokenPiece]]
]
"""Makes pieces of a job from a unit and a document of it on, by so many workers, in a folder.

Without a number of workers it takes all that there are.
"""


@runtime_checkable
class ShardSource(Protocol):
    """Pieces whose workers can write the shards, too."""

    def write_shards(
        self,
        cut: ShardCut,
        number: int,
        at: ShardPosition,
        *,
        through: Callable[[Iterator[tuple[int, TokenPiece]]], Iterator[tuple[int, TokenPiece]]],
        on_shard: Callable[[FinishedShard], None],
    ) -> PieceCounts:
        """Write the shards from a number and a place on.

        Args:
            cut: How documents become shards.
            number: Number of the first shard.
            at: Place in the inputs at which it begins.
            through: Wraps the outlines of the pieces, to tell how far the work has come.
            on_shard: Called with each shard, in order, when it is on the disk.

        Returns:
            Counts of all documents, those before the place included.
        """


@dataclass(frozen=True, slots=True)
class DatasetIdentity:
    """The tokenizer of a data set.

    Attributes:
        name: Its name; empty: it has none.
        fingerprint: SHA-256 of its canonical form.
        vocab_size: One past the largest id that can be emitted.
        around: The special tokens around each document.
        transcoded_from: The format from which ids were copied; empty: texts were tokenized.
    """

    name: str
    fingerprint: str
    vocab_size: int
    around: BoundaryTokens
    transcoded_from: str = ""

    @classmethod
    def of(cls, tokenizer: Tokenizer, around: BoundaryTokens) -> DatasetIdentity:
        """The identity of a tokenizer."""
        return cls(tokenizer.name or "", tokenizer.fingerprint, tokenizer.vocab_size, around)

    def to_dict(self) -> dict[str, Any]:
        """The identity as the manifest has it."""
        fields: dict[str, Any] = {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "vocab_size": self.vocab_size,
            "before": list(self.around.before),
            "behind": list(self.around.behind),
        }
        return (
            {**fields, "transcoded_from": self.transcoded_from} if self.transcoded_from else fields
        )

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> DatasetIdentity:
        """The identity of a manifest."""
        before, behind = tuple(fields["before"]), tuple(fields["behind"])
        return cls(
            name=str(fields["name"]),
            fingerprint=str(fields["fingerprint"]),
            vocab_size=int(fields["vocab_size"]),
            around=BoundaryTokens(
                before, behind, before[0] if before else None, behind[-1] if behind else None
            ),
            transcoded_from=str(fields.get("transcoded_from", "")),
        )


def tokenize_dataset(
    inputs: DatasetInputs,
    *,
    tokenizer: TokenizerLike,
    output: str | os.PathLike[str],
    format: DataFormat = "megatron",  # noqa: A002 - the option's name
    append_eos: bool = False,
    prepend_bos: bool = False,
    use_template: bool = True,
    eos_token: str = "",
    bos_token: str = "",
    shard_tokens: int | None = None,
    columns: Sequence[DatasetColumn] = (),
    label_mask: bool = False,
    shuffle: int | None = None,
    digest: Literal["crc32", "sha256"] = "crc32",
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    input_format: Format | None = None,
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    guard: str | os.PathLike[str] | Policy | None = None,
    keep: Sequence[str] = (),
    keep_all: bool = False,
    workers: int | None = None,
    resume: bool = False,
    on: Literal["local"] | PieceSource = "local",
    on_progress: OnProgress | None = None,
) -> TokenizedDataset:
    """Tokenize documents into a folder of files that a training program reads.

    The files depend on inputs, tokenizer and settings alone: not on the number of workers, and not
    on how often the run was interrupted. ``manifest.json`` is written last. Documents without a
    token of their own are left out and counted.

    Args:
        inputs: A path, or a list of paths, folders, globs, addresses (``s3://...``, with fsspec)
            and ``"-"``; or an iterator of texts.
        tokenizer: A name, a path or a tokenizer.
        output: The folder to write; it is made.
        format: ``megatron``, ``numpy``, ``parquet``, ``arrow``, ``mds``, ``litdata``,
            ``datatrove`` or ``nanochat``.
        append_eos: End each document with the end token, once.
        prepend_bos: Begin each document with the beginning token, once.
        use_template: Put the special tokens of the tokenizer's own template around documents.
        eos_token: The end token, where the tokenizer's own is not meant.
        bos_token: The beginning token, where the tokenizer's own is not meant.
        shard_tokens: Most tokens in a shard; a longer document has its own. By default as many as
            suit the format.
        columns: Parquet and Arrow: ``"attention_mask"``, ``"labels"`` beside ``input_ids``.
        label_mask: NumPy: write which tokens are labels: all but the first of each document.
        shuffle: Seed of an order of all documents; None: the order of the inputs.
        digest: Digest of the files in the manifest.
        field: Field of the text in JSON, CSV and Parquet.
        documents: Document of a text file: the whole file, or each line that is not empty.
        input_format: Overrides the format that the names tell.
        strict: Text that is not valid Unicode is an error.
        on_bad_record: ``"stop"`` or ``"skip"`` at records that cannot be used.
        guard: Policy of the guard: its name, a TOML file or a ``jeton.guard.Policy``. Documents
            are cleaned by it before they are tokenized, and counted; None: they are left alone.
        keep: Fields of records that are written beside their ids, with the file and the number of
            the record: columns of Parquet and Arrow, else ``shard_NNNNN.records.jsonl``.
        keep_all: All fields but the text are, as JSON in ``fields``.
        workers: Threads, or tasks of Ray at a time; all cores of the machine or cluster by default.
        resume: Go on with a run that was interrupted.
        on: ``"local"``, or ``jeton.cluster.pieces_on_ray``: the units are tasks on a cluster.
        on_progress: Told how far reading has come.

    Returns:
        Where the data set lies, and what is in it.

    Raises:
        UsageError: Settings contradict one another, the tokenizer lacks a token, or the folder
            holds something else.
        CorpusError: An input cannot be read as documents, holds none, or changed.
        MissingExtraError: An optional library is needed.
        GuardRejected: The policy rejects a document.
        OSError: A file cannot be read or written.

    Example:
        >>> import tempfile, jeton
        >>> folder = tempfile.mkdtemp()
        >>> made = jeton.tokenize_dataset(
        ...     iter(["Hello there", "", "Good morning"]),
        ...     tokenizer="jeton-general-32k",
        ...     output=folder + "/tokens",
        ...     append_eos=True,
        ... )
        >>> made.n_documents, made.read.n_empty_documents, made.dtype
        (2, 1, 'uint16')
    """
    options = DatasetOptions(
        format=format,
        append_eos=append_eos,
        prepend_bos=prepend_bos,
        use_template=use_template,
        eos_token=eos_token,
        bos_token=bos_token,
        shard_tokens=_shard_tokens(shard_tokens),
        columns=tuple(columns),
        label_mask=label_mask,
        shuffle_seed=shuffle,
        digest=digest,
        field=field,
        documents=documents,
        input_format=input_format or "",
        strict=strict,
        on_bad_record=on_bad_record,
        guard="" if guard is None else Policy.of(guard).to_json(),
        keep=tuple(keep),
        keep_all=keep_all,
    )
    options.check()
    if workers is not None and workers < 1:
        raise UsageError(f"workers is {workers}; expected at least 1")
    source = _piece_source(on)
    tokenizer = resolve(tokenizer)
    folder = local_folder(output)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(
            f"the output {output} is a file; expected a folder\nhint: name another place"
        )
    around = find_boundaries(tokenizer, options)
    kind = FORMATS[options.format]
    found = find_inputs(inputs, output=folder, field=options.field, input_format=input_format)
    files, skipped, texts = found.files, found.skipped, found.texts
    by_default = _default_shard_tokens(kind, files)
    options = replace(options, shard_tokens=options.shard_tokens or by_default)
    _warn_without_end(around, options)
    job = TokenizeJob(
        files=files,
        states=found.states,
        units=tuple(plan_units(files, options)) if texts is None else (WorkUnit((0,)),),
        tokenizer=around.frame(tokenizer),
        options=options,
        holds_text=kind.holds_text,
        texts=texts,
    )
    if resume and any(state is None for state in job.states):
        raise UsageError(
            "a run that reads standard input or Python objects cannot be resumed\n"
            "hint: write the texts to a file first"
        )
    manifest, n_resumed = run_job(
        job,
        kind=kind,
        identity=DatasetIdentity.of(tokenizer, around),
        folder=folder,
        workers=workers,
        resume=resume,
        source=source,
        on_progress=on_progress,
        skipped=skipped,
    )
    _warn_without_validation(manifest, options)
    return TokenizedDataset.of(
        folder,
        manifest,
        skipped=tuple((file.path, file.skipped_because) for file in skipped),
        n_resumed_shards=n_resumed,
        around=_words_around(tokenizer, around),
    )


def run_job(
    job: TokenizeJob,
    *,
    kind: ShardFormat,
    identity: DatasetIdentity,
    folder: Path,
    workers: int | None,
    resume: bool,
    source: PieceSource,
    on_progress: OnProgress | None,
    skipped: Sequence[InputFile] = (),
    n_special: int | None = None,
) -> tuple[DatasetManifest, int]:
    """Do the work of a plan; return the manifest and the shards that were there already.

    Raises:
        CorpusError: An input cannot be read, or there is no text.
        UsageError: The folder holds something else.
        OSError: A file cannot be read or written.
    """
    options = job.options
    dtype = kind.dtype(identity.vocab_size)
    largest = kind.largest_shard_tokens(dtype)
    if largest is not None and options.shard_tokens > largest:
        raise UsageError(
            f"shards of {options.shard_tokens:,} tokens are too large: {kind.name} has positions "
            f"of 32 bits\nhint: --shard-tokens {largest} is the most"
        )
    plan = RunPlan(
        options=options,
        tokenizer=identity.to_dict(),
        inputs=tuple(
            (file.path, *((file.n_bytes or 0, None) if state is None else state))
            for file, state in zip(job.files, job.states, strict=True)
        ),
        units=units_digest([unit.to_list() for unit in job.units]),
    )
    if resume and (folder / MANIFEST_NAME).exists():
        done = DatasetManifest.read(folder)
        RunJournal(folder, plan).check_same(done.plan)
        return done, len(done.shards)
    journal = RunJournal(folder, plan)
    journal.begin(resume=resume)
    n_resumed = len(journal.shards)
    at = journal.shards[-1].following if journal.shards else ShardPosition()
    layout = ShardLayout(folder, dtype, options, identity.name, identity.vocab_size)
    n_special = identity.around.n_tokens if n_special is None else n_special
    cut = ShardCut(kind, layout, options.shard_tokens, n_special)
    progress = _Reported(job, on_progress)
    try:
        pieces = source(job, *_beginning(options, at), workers, folder)
        if options.shuffle_seed is None and isinstance(pieces, ShardSource):
            counts = pieces.write_shards(
                cut, n_resumed, at, through=progress.through, on_shard=journal.add
            )
        else:
            ordered = _in_order(pieces, at, options.shuffle_seed, folder, n_special, progress)
            counts = _write_shards(job, cut, n_resumed, at, ordered, journal.add)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{len(journal.shards):,} shards are finished; --resume goes on"
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)}; {len(journal.shards):,} shards are finished\n"
            "hint: make room there, then --resume (resume=True) goes on",
            error.filename or str(folder),
        ) from error
    try:
        require_text(
            n_documents=counts.n_documents,
            n_bytes=1 if journal.shards else 0,
            skipped=skipped,
            n_null_documents=counts.n_null_documents,
            n_bad_records=counts.n_bad_records,
        )
    except BaseException:
        journal.end()
        raise
    shards = tuple(shard.record for shard in journal.shards)
    manifest = DatasetManifest(
        plan=plan.to_dict(),
        dtype=dtype.name,
        counts=counts,
        shards=shards,
        other_files=kind.finish(layout, shards),
    )
    manifest.write(folder)
    journal.end()
    return manifest, n_resumed


def _write_shards(
    job: TokenizeJob,
    cut: ShardCut,
    number: int,
    at: ShardPosition,
    pieces: Generator[tuple[int, TokenPiece], None, None],
    on_shard: Callable[[FinishedShard], None],
) -> PieceCounts:
    paths = tuple(file.path for file in job.files)
    cutter = cut.cutter(paths, on_shard, number=number, position=at)
    try:
        with closing(pieces):
            for unit, piece in pieces:
                cutter.add(unit, piece)
            cutter.finish()
    except BaseException:
        cutter.abandon()
        raise
    return cutter.counts


def _beginning(options: DatasetOptions, at: ShardPosition) -> tuple[int, int]:
    """Unit and document that are read first: of a shuffled set all are read again."""
    return (at.unit, at.document) if options.shuffle_seed is None else (0, 0)


def _in_order(
    pieces: Iterator[tuple[int, TokenPiece]],
    at: ShardPosition,
    seed: int | None,
    folder: Path,
    n_special: int,
    progress: _Reported,
) -> Generator[tuple[int, TokenPiece], None, None]:
    """The pieces from a place on, in the order of the inputs or in a drawn one."""
    reported = progress.through(pieces)
    if seed is None:
        yield from reported
        return
    yield from shuffled(
        reported,
        seed=seed,
        n_special=n_special,
        folder=folder,
        first_document=at.document,
    )


class _Reported:
    """Tells how far reading has come, by the units that are done."""

    def __init__(self, job: TokenizeJob, on_progress: OnProgress | None) -> None:
        self._tell = on_progress
        sizes = [file.n_bytes for file in job.files]
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        self._sizes = [self._size(job, unit) for unit in job.units]

    @staticmethod
    def _size(job: TokenizeJob, unit: WorkUnit) -> int:
        if unit.end >= 0:
            return unit.end - unit.start
        n_bytes = sum(job.files[number].n_bytes or 0 for number in unit.files)
        if unit.row_groups:
            n_units = sum(1 for other in job.units if other.files == unit.files)
            return n_bytes // max(1, n_units)
        return n_bytes

    def through(self, pieces: Iterator[tuple[int, TokenPiece]]) -> Iterator[tuple[int, TokenPiece]]:
        """Yield the pieces, and tell before each."""
        if self._tell is None:
            yield from pieces
            return
        n_documents, before, done = 0, -1, 0
        for unit, piece in pieces:
            if unit != before:
                done, before = sum(self._sizes[:unit]), unit
            n_documents += len(piece)
            self._tell(Progress("read", done, self._total, "bytes", n_documents=n_documents))
            yield unit, piece


def _piece_source(on: Literal["local"] | PieceSource) -> PieceSource:
    if callable(on):
        return on
    if on != "local":
        raise UsageError(
            f"on is {on!r}; expected 'local' or a function\n"
            "hint: jeton.cluster.pieces_on_ray is the function for Ray"
        )

    def threads(
        job: TokenizeJob, unit: int, document: int, workers: int | None, folder: Path
    ) -> Iterator[tuple[int, TokenPiece]]:
        return pieces_by_threads(
            job,
            first_unit=unit,
            first_document=document,
            workers=workers or available_threads(),
            folder=folder,
        )

    return threads


def _shard_tokens(given: int | None) -> int:
    if given is None:
        return 0
    if given < 1:
        raise UsageError(f"shard_tokens is {given:,}; expected at least 1")
    return given


_BYTES_PER_SHARD_TOKEN = 64
"""Bytes of the inputs for each token of a shard: far more than a token has, so that there are two
shards at least."""


def _default_shard_tokens(kind: ShardFormat, files: Sequence[InputFile]) -> int:
    """Tokens of a shard where nobody chose: few enough for a format that needs two shards."""
    sizes = [file.n_bytes for file in files]
    if kind.name != "nanochat" or None in sizes:
        return kind.default_shard_tokens
    n_bytes = sum(size or 0 for size in sizes)
    return max(1, min(kind.default_shard_tokens, n_bytes // _BYTES_PER_SHARD_TOKEN))


def _warn_without_validation(manifest: DatasetManifest, options: DatasetOptions) -> None:
    if options.format == "nanochat" and len(manifest.shards) < 2:
        warnings.warn(
            "there is one shard, and nanochat takes the last one for validation: nothing is left "
            "to train on\n"
            "hint: --shard-tokens (shard_tokens=), about a tenth of the tokens that there are",
            JetonWarning,
            stacklevel=3,
        )


def _warn_without_end(around: BoundaryTokens, options: DatasetOptions) -> None:
    if around.eos_id is None and not FORMATS[options.format].marks_documents:
        warnings.warn(
            f"documents have no end token, and files of the format {options.format} have no other "
            "mark between documents: a reader sees one long document\n"
            "hint: --append-eos (append_eos=True)",
            JetonWarning,
            stacklevel=3,
        )


def _words_around(
    tokenizer: Tokenizer, around: BoundaryTokens
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (
        tuple(tokenizer.id_to_token(i) or "" for i in around.before),
        tuple(tokenizer.id_to_token(i) or "" for i in around.behind),
    )
