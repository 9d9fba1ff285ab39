"""Records of log files: JSON lines, JSON arrays, CSV, Parquet, each streamed.

The core's reader decompresses and bounds what a hostile file can grow to. A record that cannot be
read is reported with its place, and reading goes on with the next.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from jeton._core import DocumentReader
from jeton.corpus.documents import MEMORY
from jeton.corpus.inputs import InputFile, files_of
from jeton.corpus.json_records import is_one_array, json_lines, json_values, looks_like_values
from jeton.corpus.objects import is_address, local_copy
from jeton.corpus.record_documents import csv_rows, delimiter_of
from jeton.corpus.requests.agents.refused import refuse
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.corpus.requests.pool import ReadingPool

RecordFormat: TypeAlias = Literal["auto", "jsonl", "json", "csv", "parquet"]

PIECE_BYTES: Final = 4 << 20
"""4 MiB of text at a time: large enough that cutting it into lines costs nothing, small beside the
longest record."""

Report = Callable[[str, int, str], None]
"""Called with the kind of an issue, the line or row, and a detail."""


def files_or_records(inputs: Any) -> tuple[list[InputFile], Iterable[Any] | None]:
    """Files of a collection of paths; or one input in memory, with the records.

    Raises:
        FileNotFoundError: An input is missing.
        UsageError: The inputs are neither.
    """
    if isinstance(inputs, str | os.PathLike):
        return files_of([inputs], format=None), None
    if isinstance(inputs, Mapping | bytes | bytearray) or not isinstance(inputs, Iterable):
        raise UsageError(
            f"inputs is of type {type(inputs).__name__}; expected paths or an iterable of records\n"
            "hint: pass [record] to read one record"
        )
    if isinstance(inputs, set | frozenset):
        inputs = sorted(inputs, key=str)  # a set has no order that would be the same next time
    if isinstance(inputs, list | tuple):
        kinds = [isinstance(item, str | os.PathLike | InputFile) for item in inputs]
        if not all(kinds) and any(kinds):
            raise UsageError("the inputs mix paths and records; expected one or the other")
        if all(kinds):
            return files_of(inputs, format=None), None
    return [InputFile(MEMORY, "memory")], inputs


def record_format_of(file: InputFile) -> RecordFormat:
    """The format that a name tells; ``auto`` where the content has to."""
    if file.format == "parquet":
        return "parquet"
    name = file.path.lower().removesuffix(".zst").removesuffix(".gz")
    return "csv" if name.endswith((".csv", ".tsv")) else "auto"


def records_of_file(
    file: InputFile,
    *,
    format: RecordFormat,  # noqa: A002 - the field's name in the documentation
    max_record_bytes: int,
    max_decompressed_bytes: int | None,
    is_wanted: Callable[[str], bool],
    report: Report,
    on_bytes: Callable[[int], None],
    pool: ReadingPool | None = None,
    lines: Callable[[Report], Iterator[bytes]] | None = None,
    first_line: int = 1,
) -> Iterator[tuple[int, Any]]:
    """``(line, record)`` for each record; for Parquet ``(row, record)``.

    Args:
        file: The file to read.
        format: How it holds records; ``auto``: by its name, else by its content.
        max_record_bytes: A longer record is reported and left out.
        max_decompressed_bytes: A compressed file that becomes larger is an error.
        is_wanted: True if a column of a table may matter.
        report: Called for what is left out.
        on_bytes: Called with the stored bytes read so far.
        pool: Reads the records of JSON lines too; they come as what was read from them.
        lines: Gives some of the lines of the file instead of all of it, and reports their faults.
        first_line: Number of the first of them.

    Raises:
        RecordError: The whole file is unreadable.
        LimitError: A file is larger than a limit against hostile files.
        MissingExtraError: Parquet without pyarrow.
        OSError: The file cannot be read.
    """
    if lines is not None:
        notes = _Notes(report)
        if pool is not None:
            yield from pool.records(
                lines(notes), take_notes=notes.take, report=report, first_line=first_line
            )
            return
        yield from json_lines(
            lines(report), max_record_bytes=max_record_bytes, report=report, first_line=first_line
        )
        return
    if is_address(file.path):
        with local_copy(file.path) as copy:
            yield from records_of_file(
                replace(file, path=copy),
                format=format,
                max_record_bytes=max_record_bytes,
                max_decompressed_bytes=max_decompressed_bytes,
                is_wanted=is_wanted,
                report=report,
                on_bytes=on_bytes,
                pool=pool,
            )
        return
    if format == "auto":
        format = record_format_of(file)  # noqa: A001
    if format == "parquet":
        from jeton.corpus.parquet import parquet_rows

        yield from parquet_rows(
            file.path,
            is_wanted=is_wanted,
            max_bytes=PIECE_BYTES,
            max_decompressed_bytes=max_decompressed_bytes,
            on_bytes=on_bytes,
        )
        return
    notes = _Notes(report)
    pieces = _pieces(file, max_decompressed_bytes, report if pool is None else notes, on_bytes)
    if format == "csv":
        notes.pass_on()
        head = next(pieces, b"")
        pieces = itertools.chain([head], pieces)
        yield from csv_rows(pieces, delimiter_of(head), max_record_bytes, report)
        return
    if format == "auto":
        first, second = next(pieces, b""), next(pieces, None)
        pieces = itertools.chain([first], [] if second is None else [second], pieces)
        refuse(first, file.path)
        is_values = looks_like_values(first) and not (second is None and is_one_array(first))
        format = "json" if is_values else "jsonl"  # noqa: A001
    if pool is not None:
        if format == "jsonl":
            yield from pool.records(pieces, take_notes=notes.take, report=report)
            return
        notes.pass_on()
    read = json_values if format == "json" else json_lines
    yield from read(pieces, max_record_bytes=max_record_bytes, report=report)


def read_records(
    paths: Sequence[str | os.PathLike[str]], report: Report = lambda *_: None
) -> Iterator[Any]:
    """Yield the records of files, folders and ``-`` as they are; what cannot be read is left out.

    Args:
        paths: The inputs.
        report: Called for each record that is left out.

    Raises:
        FileNotFoundError: An input is missing.
        LimitError: A file is larger than a limit against hostile files.
    """
    files, _ = files_or_records(list(paths))
    for file in files:
        if file.skipped_because:
            continue
        for _, record in records_of_file(
            file,
            format="auto",
            max_record_bytes=32 << 20,
            max_decompressed_bytes=None,
            is_wanted=lambda _: True,
            report=report,
            on_bytes=lambda _: None,
        ):
            yield record


class _Notes:
    """Reports about the text of a file, kept until the lines there are read."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._waiting: list[tuple[str, int, str]] = []
        self._is_kept = True

    def __call__(self, kind: str, line: int, detail: str) -> None:
        if self._is_kept:
            self._waiting.append((kind, line, detail))
        else:
            self._report(kind, line, detail)

    def take(self) -> tuple[tuple[str, int, str], ...]:
        """Returns the reports since the last call."""
        notes, self._waiting = tuple(self._waiting), []
        return notes

    def pass_on(self) -> None:
        """Keep nothing back from now on."""
        self._is_kept = False
        for note in self.take():
            self._report(*note)


def _pieces(
    file: InputFile,
    max_decompressed_bytes: int | None,
    report: Report,
    on_bytes: Callable[[int], None],
) -> Iterator[bytes]:
    """The text of a file, decompressed and valid UTF-8, a few MiB at a time."""
    reader = DocumentReader(
        file.path,
        format="text",
        batch_bytes=PIECE_BYTES,
        max_document_bytes=PIECE_BYTES,
        max_decompressed_bytes=max_decompressed_bytes,
    )
    n_lines = 0
    for batch in reader:
        data = batch.data.tobytes()
        if batch.n_replacements:
            near = n_lines + 1 + data.count(b"\n", 0, max(0, data.find("\ufffd".encode())))
            report("invalid_unicode", near, f"{batch.n_replacements:,} characters from here on")
        n_lines += data.count(b"\n")
        on_bytes(reader.n_bytes_read)
        yield data
