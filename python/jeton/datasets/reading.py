"""Texts of a unit of work, as batches with the files that they come from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from jeton._core import TextBatch
from jeton._plain import strict_json
from jeton.corpus import InputFile, open_documents
from jeton.corpus.objects import (
    FileState,
    local_copy,
    named_in_errors,
    read_range,
    state_of,
)
from jeton.corpus.places import KeptFields, RecordPlaces
from jeton.datasets.options import DatasetOptions
from jeton.datasets.pieces import PieceCounts
from jeton.datasets.units import WorkUnit
from jeton.errors import CorpusError, LimitError, RecordError

BATCH_BYTES = 4 << 20
"""4 MiB of text at a time: enough work for several threads."""

MAX_DOCUMENT_BYTES = 1 << 40
"""Documents are never cut: their ends would get tokens of their own."""

MAX_LINE_BYTES = 1 << 30
"""The longest line, as in the core's reader."""

MIN_SCAN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Texts of consecutive documents, with the files that they come from and counts.

    ``records``: for each document its file, its record's number and fields, as JSON; None: not
    asked for.
    """

    texts: TextBatch
    runs: tuple[tuple[int, int], ...]
    counts: PieceCounts
    n_cut_documents: int = 0
    records: TextBatch | None = None


def read_unit(
    unit: WorkUnit,
    files: Sequence[InputFile],
    states: Sequence[FileState | None],
    options: DatasetOptions,
    *,
    texts: Any = None,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    read_ahead: bool = False,
) -> Iterator[TextPiece]:
    """Yield the texts of a unit; ``texts`` are Python objects instead of files.

    A text document (or line) of more than ``max_document_bytes`` comes in pieces. With
    ``read_ahead`` a file that is a unit of its own is decompressed and parsed by two threads.

    Raises:
        CorpusError: A file changed since the run began, a record is unusable, ...
        OSError: A file is gone, or cannot be read.
    """
    if texts is not None:
        yield from _documents(texts, 0, options, None, max_document_bytes)
        return
    if unit.end >= 0:
        number = unit.files[0]
        yield from _range_of_lines(unit, files[number], number, options, max_document_bytes)
        _check_unchanged(files[number].path, states[number])
        return
    if len(unit.files) == 1:
        number = unit.files[0]
        yield from _whole_file(
            files[number],
            number,
            options,
            unit.row_groups or None,
            max_document_bytes,
            read_ahead=read_ahead,
        )
        _check_unchanged(files[number].path, states[number])
        return
    yield from _joined(unit, files, states, options, max_document_bytes)


def _check_unchanged(path: str, state: FileState | None) -> None:
    if state is None:
        return
    now = state_of(path)
    if now != state:
        raise CorpusError(
            f"{path} changed while it was read: it had {state[0]:,} bytes, now it has {now[0]:,}\n"
            "hint: start over in an empty folder when nobody writes to it any more"
        )


def _joined(
    unit: WorkUnit,
    files: Sequence[InputFile],
    states: Sequence[FileState | None],
    options: DatasetOptions,
    max_document_bytes: int,
) -> Iterator[TextPiece]:
    """Small files as common batches: thousands of tiny ones would cost more than their text."""
    texts: list[bytes] = []
    records: list[str] = []
    runs: list[tuple[int, int]] = []
    counts = PieceCounts()
    n_bytes = 0
    for number in unit.files:
        for piece in _whole_file(files[number], number, options, None, max_document_bytes):
            data, offsets = piece.texts.data, piece.texts.offsets.tolist()
            if piece.texts.n_bytes >= BATCH_BYTES and not texts:
                yield piece
                continue
            texts += [data[a:b].tobytes() for a, b in pairwise(offsets)]
            records += piece.records or ()
            runs += piece.runs
            counts += piece.counts
            n_bytes += piece.texts.n_bytes
            if n_bytes >= BATCH_BYTES:
                yield _joined_piece(texts, runs, counts, records, options)
                texts, runs, counts, n_bytes, records = [], [], PieceCounts(), 0, []
        _check_unchanged(files[number].path, states[number])
    if texts or counts != PieceCounts():
        yield _joined_piece(texts, runs, counts, records, options)


def _joined_piece(
    texts: list[bytes],
    runs: list[tuple[int, int]],
    counts: PieceCounts,
    records: list[str],
    options: DatasetOptions,
) -> TextPiece:
    told = TextBatch.from_texts(records) if options.keeps_records else None
    return TextPiece(TextBatch.from_texts(texts), tuple(runs), counts, records=told)


def _whole_file(
    file: InputFile,
    number: int,
    options: DatasetOptions,
    row_groups: Sequence[int] | None,
    max_document_bytes: int,
    *,
    read_ahead: bool = False,
) -> Iterator[TextPiece]:
    with local_copy(file.path) as copy:
        copied = replace(file, path=copy)
        yield from _documents(
            copied,
            number,
            options,
            row_groups,
            max_document_bytes,
            read_ahead=read_ahead,
            name=file.path,
        )


def _documents(
    source: Any,
    number: int,
    options: DatasetOptions,
    row_groups: Sequence[int] | None,
    max_document_bytes: int,
    *,
    read_ahead: bool = False,
    name: str = "",
) -> Iterator[TextPiece]:
    stream = open_documents(
        [source] if isinstance(source, InputFile) else source,
        field=options.field,
        documents=options.documents,
        strict=options.strict,
        on_bad_record=options.on_bad_record,
        batch_bytes=BATCH_BYTES,
        max_document_bytes=max_document_bytes,
        row_groups=row_groups,
        read_ahead=read_ahead,
        with_places=options.keeps_records and options.documents == "file",
        keep=KeptFields(options.keep, options.keep_all),
    )
    n_done = 0
    n_nulls = n_bad = n_cut = 0
    for _, batch in stream:
        counts = PieceCounts(
            n_null_documents=stream.n_null_documents - n_nulls,
            n_bad_records=stream.n_bad_records - n_bad,
            n_replaced_documents=batch.n_replaced_documents,
            n_text_bytes=batch.n_bytes,
        )
        n_nulls, n_bad = stream.n_null_documents, stream.n_bad_records
        n_more, n_cut = stream.n_cut_documents - n_cut, stream.n_cut_documents
        records = None
        if options.keeps_records:
            records = TextBatch.from_texts(
                _records(name, stream.batch_places, n_done, len(batch), options)
            )
        n_done += len(batch)
        yield TextPiece(batch, ((number, len(batch)),), counts, n_more, records)
    rest = PieceCounts(
        n_replaced_documents=stream.n_replaced_records,
        n_null_documents=stream.n_null_documents - n_nulls,
        n_bad_records=stream.n_bad_records - n_bad,
    )
    if rest != PieceCounts():
        none = TextBatch.from_texts([])
        yield TextPiece(none, (), rest, records=none if options.keeps_records else None)


def _records(
    name: str, places: RecordPlaces | None, n_before: int, n: int, options: DatasetOptions
) -> list[str]:
    """The file, record number and kept fields of each document, as JSON."""
    numbers = (
        places.numbers if places is not None and places.numbers else range(n_before, n_before + n)
    )
    kept = places.kept if places is not None and places.kept else [{}] * n
    nothing = dict.fromkeys(options.keep)
    found = []
    for number, fields in zip(numbers, kept, strict=True):
        own = {key: fields.get(key) for key in options.keep} if fields else nothing
        told = {"source": name, "record": number, **own}
        if options.keep_all:
            told["fields"] = dict(fields)
        found.append(strict_json(told))
    return found


def _range_of_lines(
    unit: WorkUnit, file: InputFile, number: int, options: DatasetOptions, max_document_bytes: int
) -> Iterator[TextPiece]:
    data = _lines_of_range(file.path, unit.start, unit.end, file.n_bytes or unit.end)
    if not data:
        return
    with _as_file(data) as path:
        part = InputFile(path, file.format, len(data))
        del data
        with _counted_lines(file.path, unit.start), named_in_errors(path, file.path):
            yield from _documents(part, number, options, None, max_document_bytes)


def _lines_of_range(path: str, start: int, end: int, n_bytes: int) -> bytes:
    """The lines that begin in a range, the last one up to its end."""
    data = read_range(path, max(0, start - 1), end)
    if start:
        first = data.find(b"\n")
        if first < 0 or first + 1 >= len(data):
            # No line begins here: a longer one passes by, or ends with the range.
            return b""
        data = data[first + 1 :]
    if data.endswith(b"\n") or end >= n_bytes:
        return data
    parts, at, step, n_more = [data], end, MIN_SCAN_BYTES, 0
    while at < n_bytes:
        more = read_range(path, at, min(n_bytes, at + step))
        if not more:
            break
        stop = more.find(b"\n")
        parts.append(more if stop < 0 else more[: stop + 1])
        if stop >= 0:
            break
        at += len(more)
        n_more += len(more)
        if n_more > MAX_LINE_BYTES:
            raise LimitError(
                f"{path}: the line around byte {end:,} is longer than {MAX_LINE_BYTES:,} bytes",
                what="line",
                limit=MAX_LINE_BYTES,
            )
        step = min(step * 2, 64 << 20)
    return b"".join(parts)


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """A file that holds bytes, for the core's reader: in memory, where the system has that."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("jeton-range")
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    descriptor, path = tempfile.mkstemp(prefix="jeton-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        yield path
    finally:
        Path(path).unlink(missing_ok=True)


@contextmanager
def _counted_lines(path: str, start: int) -> Iterator[None]:
    """Errors name the line of the file instead of that of a range."""
    try:
        yield
    except RecordError as error:
        if error.line is None or not start:
            raise
        line = error.line + _lines_before(path, start)
        message = str(error).replace(f"line {error.line}", f"line {line}", 1)
        raise RecordError(message, path=path, line=line) from None


def _lines_before(path: str, start: int) -> int:
    """Line ends before the first line that begins in a range."""
    n_lines = at = 0
    while at < start:
        data = read_range(path, at, min(start, at + (16 << 20)))
        if not data:
            break
        n_lines += data.count(b"\n")
        at += len(data)
    # The line that began before the range ends in it.
    tail = read_range(path, max(0, start - 1), start)
    return n_lines if tail == b"\n" else n_lines + 1
