"""Documents of many inputs as one stream of batches.

Files come from the core's reader, Parquet from pyarrow, Python iterables from ``TextBatch``: the
same batches in each case, in the order of the inputs. Control returns to Python between batches,
so Ctrl-C works there. Cost: O(bytes); memory of one batch and the longest document.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton._core import DocumentReader, TextBatch
from jeton.corpus import parquet
from jeton.corpus.core_batches import LeftOut, batches_ahead, batches_of
from jeton.corpus.inputs import (
    STANDARD_INPUT,
    DomainsBy,
    Format,
    InputFile,
    domain_of_file,
    files_of,
    warn_of_lists,
)
from jeton.corpus.line_documents import LineDocuments
from jeton.corpus.names import Names
from jeton.corpus.objects import is_address, local_copy
from jeton.corpus.places import KeptFields, OnLeftOut, RecordPlaces
from jeton.corpus.record_documents import (
    OnBadRecord,
    RecordDocuments,
    check_on_bad_record,
    decoded_pieces,
    has_field,
    with_hint,
)
from jeton.errors import (
    EmptyCorpusError,
    EndlessInputWarning,
    RecordError,
    UsageError,
)
from jeton.progress import OnProgress, Progress

__all__ = [
    "DEFAULT_BATCH_BYTES",
    "DocumentStream",
    "are_paths",
    "files_of",
    "open_documents",
    "read_progress",
    "require_text",
]

DEFAULT_BATCH_BYTES = 8 << 20
"""8 MiB: enough work to keep many threads busy, small beside any memory; as in the core."""

MAX_TEXTS_PER_BATCH = 65_536
"""Texts of a batch from an iterable, so that batches of empty texts end too."""

MIN_BATCHES_AHEAD = 2
"""Batches of a file from which reading ahead pays: a thread has to be started for it."""

MAX_DOCUMENT_BYTES = 64 << 20
"""64 MiB: a longer document is cut, as in the core."""

MEMORY = "<texts>"
"""The path of texts that were given as Python objects."""

Inputs: TypeAlias = str | os.PathLike[str] | Iterable[Any]


def read_progress(files: Sequence[InputFile], *, n_bytes: int, n_documents: int) -> Progress:
    """Return the progress of reading; the total is known where the size of every file is."""
    sizes = [file.n_bytes for file in files]
    known = [size for size in sizes if size is not None]
    total = sum(known) if len(known) == len(sizes) else None
    return Progress("read", n_bytes, total, "bytes", n_documents=n_documents)


class DocumentStream(Iterator[tuple[InputFile, TextBatch]]):
    """Batches of documents with the input that each comes from. Made by ``open_documents``.

    The counts below cover what has been handed out so far; after the last batch they are final.
    """

    def __init__(
        self,
        files: Sequence[InputFile],
        batches: Callable[[DocumentStream, InputFile], Iterator[TextBatch]],
        on_progress: OnProgress | None,
        *,
        domains_by: DomainsBy | None = None,
        has_domain_field: bool = False,
    ) -> None:
        """Not for callers: see ``open_documents``."""
        self.files: tuple[InputFile, ...] = tuple(f for f in files if not f.skipped_because)
        """The inputs that are read, in order."""
        self.skipped: tuple[InputFile, ...] = tuple(f for f in files if f.skipped_because)
        """The inputs that are not read; each says why."""
        self.n_documents = 0
        """Documents; each piece of a cut document is one."""
        self.n_bytes = 0
        """Bytes of text, UTF-8."""
        self.n_cut_documents = 0
        """Text documents above the size limit, which came in pieces cut at line ends."""
        self.n_null_documents = 0
        """Records (or rows) whose text is null, which were skipped."""
        self.n_bad_records = 0
        """Records that cannot be used and were left out, as ``on_bad_record`` has it."""
        self.first_bad_record = ""
        """The first of them, in words."""
        self.n_record_replacements = 0
        """Stretches of bytes that are not UTF-8 in records that were parsed in Python; batches of
        the core's reader tell of their own."""
        self.n_replaced_records = 0
        """Documents of such records that hold one."""
        self.n_documents_without_domain = 0
        """Documents that lack the field of the domain, where one was named."""
        self.batch_domains: NDArray[np.int32] | None = None
        """int32 (n_documents,): the domain of each document of the batch handed out last, as an
        index into ``domains``; -1: in none. None: no domains were asked for."""
        self.batch_places: RecordPlaces | None = None
        """Lines and ids of the records of the batch handed out last; None where they are not known
        (whole files, memory) or not asked for."""
        self._domains = Names()
        self._domains_by = domains_by
        self._has_domain_field = has_domain_field
        self._bytes_before = 0
        self._bytes_of_file = 0
        self._on_progress = on_progress
        self._iterator = self._iterate(batches)

    def __iter__(self) -> DocumentStream:
        """The stream itself: it can be read once."""
        return self

    def __next__(self) -> tuple[InputFile, TextBatch]:
        """The next batch; it has at least one document."""
        return next(self._iterator)

    @property
    def domains(self) -> list[str]:
        """Names of the domains met so far, by number; beyond 1,000 they are ``(other)``."""
        return self._domains.names

    @property
    def progress(self) -> Progress:
        """How far reading has come."""
        done = self._bytes_before + self._bytes_of_file
        return read_progress(self.files, n_bytes=done, n_documents=self.n_documents)

    def require_text(self) -> None:
        """Refuse inputs in which there was nothing to measure; to be asked after the last batch.

        Raises:
            EmptyCorpusError: There was no document, or there were only empty ones.
        """
        require_text(
            n_documents=self.n_documents,
            n_bytes=self.n_bytes,
            skipped=self.skipped,
            n_null_documents=self.n_null_documents,
            n_bad_records=self.n_bad_records,
            first_bad_record=self.first_bad_record,
        )

    def close(self) -> None:
        """Close the open file, where one is open; the stream has ended."""
        self._iterator.close()

    def set_bytes_of_file(self, n_bytes: int) -> None:
        """Used by the readers: bytes taken from the current file so far."""
        self._bytes_of_file = n_bytes

    def set_batch_domains(self, names: Sequence[str | None]) -> None:
        """Used by the readers: the domains of the documents of the batch that comes next."""
        numbers = [self._domains.number(name)[0] if name else -1 for name in names]
        self.n_documents_without_domain += numbers.count(-1)
        self.batch_domains = np.asarray(numbers, dtype=np.int32)

    def _iterate(
        self, batches: Callable[[DocumentStream, InputFile], Iterator[TextBatch]]
    ) -> Generator[tuple[InputFile, TextBatch], None, None]:
        for file in self.files:
            for batch in _watched(file, batches(self, file)):
                if self._domains_by:
                    number, _ = self._domains.number(domain_of_file(file, self._domains_by))
                    self.batch_domains = np.full(len(batch), number, dtype=np.int32)
                elif self._has_domain_field and self.batch_domains is None:
                    self.set_batch_domains([None] * len(batch))
                self.n_documents += len(batch)
                self.n_bytes += batch.n_bytes
                self._report()
                yield file, batch
                self.batch_domains = self.batch_places = None
            self._bytes_before += self._bytes_of_file if file.n_bytes is None else file.n_bytes
            self._bytes_of_file = 0
            self._report()

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)


WAIT_SECONDS = 5.0
"""So long an input without a known end may take before a warning says that it is being read."""

LONG_WAIT_SECONDS, HUGE_BYTES = 30.0, 1 << 30
"""Seconds for a file of more bytes than `HUGE_BYTES`, a sparse one say."""


def _watched(file: InputFile, batches: Iterator[TextBatch]) -> Generator[TextBatch, None, None]:
    """The batches of a file; of a pipe or device that goes on and on, somebody is told."""
    # A file that the system writes on demand has no bytes by its own account.
    n_bytes = file.n_bytes or 0
    if file.path == STANDARD_INPUT:
        os.read(0, 0)  # the core takes a closed one for an empty one; this is an error
    if file.format == "memory" or 0 < n_bytes <= HUGE_BYTES:
        yield from batches
        return
    seconds = LONG_WAIT_SECONDS if n_bytes else WAIT_SECONDS

    def tell() -> None:
        name = "standard input" if file.path == STANDARD_INPUT else file.path
        size = f"it has {n_bytes:,} bytes" if n_bytes else "it is no file with a known end"
        if file.path != STANDARD_INPUT and Path(file.path).is_fifo():
            size = "it is a pipe, and ends where its writer closes it"
        warnings.warn(
            f"{name} is still being read after {seconds:.0f} seconds: {size}; Ctrl-C stops",
            EndlessInputWarning,
            stacklevel=2,
        )

    timer = threading.Timer(seconds, tell)
    timer.daemon = True
    timer.start()
    try:
        yield from batches
    finally:
        timer.cancel()


def open_documents(
    inputs: Inputs,
    *,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    format: Format | None = None,  # noqa: A002 - the field's name in the documentation
    strict: bool = False,
    on_bad_record: OnBadRecord = "stop",
    domain_field: str = "",
    domains_by: DomainsBy | None = None,
    with_places: bool = False,
    keep: KeptFields | None = None,
    on_left_out: OnLeftOut | None = None,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    max_decompressed_bytes: int | None = None,
    on_progress: OnProgress | None = None,
    read_ahead: bool = False,
    row_groups: Sequence[int] | None = None,
) -> DocumentStream:
    """Stream the documents of files or of Python objects as ``(input, batch)`` pairs.

    Args:
        inputs: A path, or a list, tuple or set of paths, folders, globs and ``"-"`` (or of
            ``InputFile``, as ``expand_inputs`` gives them). Anything else that can be iterated is
            taken as texts: a generator of ``str`` or ``bytes``, a list of ``bytes``, a
            ``TextBatch``, an Arrow string array. To pass a list of ``str``, pass ``iter(texts)``.
        field: JSONL, JSON arrays, CSV and Parquet: where the text is; dots descend
            (``message.content``), ``[]`` joins a list (``messages[].content``), and a key that has
            dots itself goes first.
        documents: Text files: the whole file is one document, or each line that is not empty.
        format: Overrides the format that the names tell; needed for JSONL on standard input.
        strict: Text that is not valid Unicode is an error instead of being replaced and counted.
        on_bad_record: ``"stop"``: a record that does not parse or has no text is an error;
            ``"skip"``: it is left out and counted. A text that is null is always left out.
        domain_field: JSONL and Parquet: where the domain's name is (a service, a language); text
            files are in no domain then. See ``DocumentStream.batch_domains``.
        domains_by: The domain is the ``file`` or the ``folder`` of a document instead.
        with_places: Say the line (row of Parquet), the number and the id of each record, and the
            line of each line that is a document, see ``DocumentStream.batch_places``; reading is
            slower then.
        keep: Fields of records that go with their texts, in ``batch_places.kept``.
        on_left_out: Called with each record that is no document: null, or not to be used.
        batch_bytes: Batches are about this large.
        max_document_bytes: A text file of more is cut into several documents.
        max_decompressed_bytes: A compressed file that becomes larger is an error.
        on_progress: Called after each batch and each file.
        read_ahead: Read the next batch of a large file in another thread while the caller works on
            this one: a batch more in memory. A third thread decompresses.
        row_groups: Parquet: read these row groups only.

    Raises:
        FileNotFoundError: An input is missing; the nearest existing name is offered.
        RecordError: A record does not parse or has no text (path and line), while iterating.
        InvalidTextError: Under ``strict``, while iterating.
        LimitError: A file is larger than a limit against hostile files, while iterating.
        MissingExtraError: Parquet without pyarrow, while iterating.
        UsageError: Arguments that cannot be meant.
    """
    with_places = with_places or bool(keep) or on_left_out is not None
    if batch_bytes < 1:
        raise UsageError(f"batch_bytes is {batch_bytes}; it should be at least 1")
    if not field:
        raise UsageError("the field has no name; expected one like 'text' or 'message.content'")
    check_on_bad_record(on_bad_record)
    if domain_field and domains_by:
        raise UsageError(
            "domain_field and domains_by contradict one another\n"
            "hint: a domain is named by a field, or it is the file or folder"
        )
    if are_paths(inputs):
        paths: Iterable[Any] = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
        if isinstance(paths, set | frozenset):
            paths = sorted(paths, key=str)  # a set has no order that would be the same next time
        files = [
            _if_usable(file, field) if format is None else file
            for file in files_of(paths, format=format)
        ]
        warn_of_lists(files)
    else:
        files = [InputFile(MEMORY, "memory")]

    def batches(stream: DocumentStream, file: InputFile) -> Iterator[TextBatch]:
        if file.format == "memory":
            yield from _batches_of_texts(inputs, strict=strict, batch_bytes=batch_bytes)
        elif is_address(file.path):
            with local_copy(file.path) as copy:
                yield from batches(stream, replace(file, path=copy))
        elif file.format == "parquet":
            reader = parquet.ParquetDocuments(
                file.path,
                field=field,
                domain_field=domain_field,
                strict=strict,
                batch_bytes=batch_bytes,
                max_decompressed_bytes=max_decompressed_bytes,
                with_places=with_places,
                keep=keep,
                on_left_out=on_left_out,
                row_groups=row_groups,
            )
            for batch, n_nulls in reader:
                stream.n_null_documents += n_nulls
                stream.set_bytes_of_file(reader.n_bytes_read)
                if len(batch):
                    if domain_field:
                        stream.set_batch_domains(reader.batch_domains)
                    stream.batch_places = reader.batch_places
                    yield batch
        elif file.format in ("json", "csv") or (
            file.format == "jsonl"
            and (domain_field or with_places or file.encoding or "[]" in field)
        ):
            yield from records(stream, file, 0)
        elif file.encoding:
            pieces = decoded_pieces(file.path, file.encoding, strict=strict)
            yield from _batches_of_pieces(
                stream, pieces, documents, batch_bytes, max_document_bytes
            )
        elif with_places and documents == "line" and file.format == "text":
            line_reader = LineDocuments(
                file.path,
                strict=strict,
                batch_bytes=batch_bytes,
                max_decompressed_bytes=max_decompressed_bytes,
            )
            for batch in line_reader:
                stream.batch_places = line_reader.batch_places
                stream.set_bytes_of_file(line_reader.n_bytes_read)
                yield batch
        else:
            is_skipping = on_bad_record == "skip"
            core_reader = DocumentReader(
                file.path,
                format="jsonl" if file.format == "jsonl" else "text",
                field=field,
                documents=documents,
                strict=strict,
                batch_bytes=batch_bytes,
                max_document_bytes=max_document_bytes,
                max_decompressed_bytes=max_decompressed_bytes,
                # Below dots, records are looked into more closely than the core does.
                skip_bad_records=is_skipping and "." not in field,
                decompress_ahead=read_ahead,
            )
            before = _left_out(stream)
            is_worth_it = read_ahead and (file.n_bytes or 0) > MIN_BATCHES_AHEAD * batch_bytes
            n_read = 0
            try:
                read = batches_ahead(core_reader) if is_worth_it else batches_of(core_reader)
                for batch, left_out, n_bytes_read in read:
                    _set(stream, before + left_out)
                    stream.set_bytes_of_file(n_bytes_read)
                    n_read += len(batch)
                    yield batch
            except RecordError as error:
                # A pipe cannot be read again.
                if file.n_bytes is None or not is_skipping or error.line is None:
                    raise with_hint(error) from None
                _set(stream, before)
                yield from records(stream, file, n_read)
                return
            _set(stream, before + LeftOut.of_reader(core_reader))
            stream.set_bytes_of_file(core_reader.n_bytes_read)

    def records(stream: DocumentStream, file: InputFile, n_read: int) -> Iterator[TextBatch]:
        """Records parsed here, without the first ones, which were handed out already."""
        reader = RecordDocuments(
            file.path,
            format=file.format,
            field=field,
            domain_field=domain_field,
            encoding=file.encoding,
            strict=strict,
            on_bad_record=on_bad_record,
            batch_bytes=batch_bytes,
            max_decompressed_bytes=max_decompressed_bytes,
            keep=keep,
            on_left_out=on_left_out,
        )
        try:
            for batch, names in reader:
                if n_read >= len(batch):
                    n_read -= len(batch)
                    continue
                if n_read:
                    batch = TextBatch.from_texts([*batch][n_read:])
                    n_read = 0
                if domain_field:
                    stream.set_batch_domains(names)
                if with_places:
                    stream.batch_places = reader.batch_places
                stream.set_bytes_of_file(reader.n_bytes_read)
                yield batch
        finally:
            stream.n_record_replacements += reader.n_replacements
            stream.n_replaced_records += reader.n_replaced
            stream.n_null_documents += reader.n_nulls
            stream.n_bad_records += reader.n_bad
            stream.first_bad_record = stream.first_bad_record or reader.first_bad

    return DocumentStream(
        files, batches, on_progress, domains_by=domains_by, has_domain_field=bool(domain_field)
    )


def _left_out(stream: DocumentStream) -> LeftOut:
    return LeftOut(
        stream.n_cut_documents,
        stream.n_null_documents,
        stream.n_bad_records,
        stream.first_bad_record,
    )


def _set(stream: DocumentStream, counts: LeftOut) -> None:
    stream.n_cut_documents = counts.n_cut
    stream.n_null_documents = counts.n_nulls
    stream.n_bad_records = counts.n_bad
    stream.first_bad_record = counts.first_bad


def _if_usable(file: InputFile, field: str) -> InputFile:
    """A file found in a folder whose records lack the field is skipped: it may be anything."""
    is_table = file.format == "csv" or (
        file.format in ("json", "jsonl") and ".json" in file.path.lower().split("/")[-1]
    )
    is_jsonl = ".jsonl" in file.path.lower()
    if not file.was_found or file.skipped_because or not is_table or is_jsonl:
        return file
    with local_copy(file.path) as path:
        if has_field(path, format=file.format, encoding=file.encoding, field=field):
            return file
    reason = f"its records have no text in the field {field!r} (name one with field=, --field)"
    return replace(file, skipped_because=reason)


def _batches_of_pieces(
    stream: DocumentStream,
    pieces: Iterator[bytes],
    documents: str,
    batch_bytes: int,
    max_document_bytes: int,
) -> Iterator[TextBatch]:
    """Documents of text that was decoded here: the whole, or its lines."""
    if documents == "file":
        whole = b"".join(pieces)
        if len(whole) <= max_document_bytes:
            yield TextBatch.from_texts([whole])
            return
        stream.n_cut_documents += 1
        lines = whole.splitlines(keepends=True)
    else:
        lines = [line for line in b"".join(pieces).replace(b"\r\n", b"\n").split(b"\n") if line]
    waiting: list[bytes] = []
    n_bytes = 0
    for line in lines:
        waiting.append(line)
        n_bytes += len(line)
        if n_bytes >= batch_bytes:
            yield TextBatch.from_texts(waiting)
            waiting, n_bytes = [], 0
    if waiting:
        yield TextBatch.from_texts(waiting)


def require_text(
    *,
    n_documents: int,
    n_bytes: int,
    skipped: Sequence[InputFile] = (),
    n_null_documents: int = 0,
    n_bad_records: int = 0,
    first_bad_record: str = "",
) -> None:
    """Refuse a corpus in which there is nothing to measure.

    Args:
        n_documents: Documents that were read.
        n_bytes: Bytes of their text.
        skipped: Inputs that were not read, for the message.
        n_null_documents: Records whose text is null, for the message.
        n_bad_records: Records that cannot be used, for the message.
        first_bad_record: The first of them.

    Raises:
        EmptyCorpusError: There is no document, or there are only empty ones.
    """
    if n_documents > 0 and n_bytes > 0:
        return
    found = "no document" if n_documents == 0 else f"{n_documents:,} documents, all empty"
    details = []
    if skipped:
        details.append(
            f"{len(skipped):,} files were skipped, the first is {skipped[0].path!r}: "
            f"{skipped[0].skipped_because}"
        )
    if n_null_documents:
        details.append(f"the text of {n_null_documents:,} records is null")
    if n_bad_records:
        details.append(f"{n_bad_records:,} records cannot be used, the first: {first_bad_record}")
    message = f"the inputs hold no text: {'; '.join([found, *details])}"
    raise EmptyCorpusError(f"{message}\nhint: check the inputs, the field and the format")


def are_paths(inputs: Inputs) -> bool:
    """Return True for paths, False for texts given as Python objects."""
    if isinstance(inputs, str | os.PathLike):
        return True
    if isinstance(inputs, bytes | bytearray | memoryview):
        raise UsageError(
            "inputs is one bytes object; expected paths or an iterable of texts\n"
            "hint: pass [data] to read it as one document"
        )
    if not isinstance(inputs, list | tuple | set | frozenset):
        return False
    return not inputs or any(isinstance(item, str | os.PathLike | InputFile) for item in inputs)


def _batches_of_texts(texts: Any, *, strict: bool, batch_bytes: int) -> Iterator[TextBatch]:
    if isinstance(texts, TextBatch):
        if len(texts):
            yield texts
        return
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
        batch = TextBatch.from_texts(texts, strict=strict)
        if len(batch):
            yield batch
        return
    if not isinstance(texts, Iterable):
        raise UsageError(
            f"inputs is of type {type(texts).__name__}; expected paths or an iterable of texts"
        )
    pending: list[str | bytes] = []
    n_pending = 0
    for i, text in enumerate(texts):
        if not isinstance(text, str | bytes):
            raise UsageError(
                f"document {i} is of type {type(text).__name__}; expected str or bytes"
            )
        pending.append(text)
        # Characters of a str stand in for its bytes: batches need only be about as large.
        n_pending += len(text)
        if n_pending >= batch_bytes or len(pending) >= MAX_TEXTS_PER_BATCH:
            yield TextBatch.from_texts(pending, strict=strict)
            pending, n_pending = [], 0
    if pending:
        yield TextBatch.from_texts(pending, strict=strict)
