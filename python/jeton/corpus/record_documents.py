"""Documents of records: JSON lines, JSON arrays, CSV; with domains, places and a rule for bad ones.

The core's reader takes one field of JSON lines and stops at the first bad record. Where more is
wanted, records are parsed here, with the same rules for the text. A record without the domain's
field is in no domain. A text that is null is no document, as in Parquet, and is counted.

Rows of CSV and TSV out of text that comes in pieces.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from jeton._core import DocumentReader, TextBatch, decompress
from jeton.corpus.json_records import json_lines, json_values
from jeton.corpus.lookup import first_keys, lookup, text_or_none, value_at
from jeton.corpus.places import KeptFields, LeftOutRecord, OnLeftOut, RecordPlaces, record_id
from jeton.errors import InvalidTextError, LimitError, RecordError, UsageError

"""4 MiB: a longer line comes in parts."""

Report = Callable[[str, int, str], None]
"""Called with the kind of an issue, the line, and a detail."""


_DELIMITERS: Final = ",\t;|"


def delimiter_of(first: bytes) -> str:
    """The sign between the cells: the one that is most in the header."""
    header = first.partition(b"\n")[0].decode("utf-8", "replace").strip()
    return max(_DELIMITERS, key=header.count)


def csv_rows(
    pieces: Iterable[bytes], delimiter: str, max_record_bytes: int, report: Report
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Rows by the names of the header; cells that are empty are left out."""
    reader = csv.reader(_lines(pieces), delimiter=delimiter)
    header: list[str] | None = None
    while True:
        # The limit belongs to the module, so it is set for no longer than a row takes.
        limit = csv.field_size_limit(max_record_bytes)
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            report("not_json", line, f"not valid CSV: {error}; the rest of the file is left out")
            return
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        if not any(row):
            continue
        if header is None:
            header = [name.strip() for name in row]
        else:
            yield line, {name: cell for name, cell in zip(header, row, strict=False) if cell}


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Lines with their ends, as the reader of CSV wants them.

    A line longer than a piece comes in parts: the reader joins them inside quotes, and refuses a
    field beyond its limit.
    """
    waiting = ""
    for piece in pieces:
        *lines, waiting = (waiting + str(piece, "utf-8")).split("\n")
        yield from (line + "\n" for line in lines)
        if len(waiting) > PIECE_BYTES:
            yield waiting
            waiting = ""
    if waiting:
        yield waiting


__all__ = [
    "OnBadRecord",
    "RecordDocuments",
    "check_on_bad_record",
    "decoded_pieces",
    "has_field",
    "value_at",
    "with_hint",
]

OnBadRecord: TypeAlias = Literal["stop", "skip"]

PIECE_BYTES = 4 << 20
"""4 MiB of text at a time."""

_MAX_TEXTS_PER_BATCH = 65_536
"""So that batches of empty texts end too."""

MAX_RECORD_BYTES = 1 << 30
"""1 GiB, in bytes: as in the core's reader, a longer line is an error."""


class RecordDocuments:
    """Iterates over ``(batch, domains)``; a domain is None where the field is not there."""

    def __init__(
        self,
        path: str,
        *,
        format: str,  # noqa: A002 - the field's name in the documentation
        field: str,
        domain_field: str = "",
        encoding: str = "",
        strict: bool,
        on_bad_record: OnBadRecord = "stop",
        batch_bytes: int,
        max_decompressed_bytes: int | None = None,
        keep: KeptFields | None = None,
        on_left_out: OnLeftOut | None = None,
    ) -> None:
        """Open the file.

        Args:
            path: The file.
            format: ``"jsonl"``, ``"json"`` or ``"csv"``.
            field: Where the text is; ``[]`` stands for all elements of a list, joined by lines.
            domain_field: Where the domain's name is.
            encoding: ``"utf-16"`` or ``"utf-32"``; empty: UTF-8.
            strict: Text that is not valid Unicode is an error.
            on_bad_record: ``"skip"`` counts what cannot be used instead of stopping.
            batch_bytes: Batches are about this large.
            max_decompressed_bytes: A compressed file that becomes larger is an error.
            keep: Fields that go with the texts.
            on_left_out: Called with each record that is no document.

        Raises:
            OSError: The file cannot be read.
        """
        self._keep = keep
        self._on_left_out = on_left_out
        self._n_records = 0
        self._path = path
        self._format = format
        self._field = field
        self._domain_field = domain_field
        self._encoding = encoding
        self._strict = strict
        self._skips = on_bad_record == "skip"
        self._batch_bytes = batch_bytes
        self._max_decompressed_bytes = max_decompressed_bytes
        self.batch_places = RecordPlaces((), ())
        """Lines and ids of the records of the batch handed out last."""
        self.n_nulls = 0
        """Records whose text is null."""
        self.n_bad = 0
        """Records that were left out because they cannot be used."""
        self.n_replacements = 0
        """Stretches of bytes that are not UTF-8, which were replaced."""
        self.n_replaced = 0
        """Texts that hold a replaced stretch."""
        self.first_bad = ""
        """The error that the first of them would have been."""
        self._reader: DocumentReader | None = None
        if not encoding:
            self._reader = DocumentReader(
                path,
                format="text",
                strict=strict,
                batch_bytes=PIECE_BYTES,
                max_document_bytes=PIECE_BYTES,
                max_decompressed_bytes=max_decompressed_bytes,
            )

    @property
    def n_bytes_read(self) -> int:
        """Bytes taken from the file so far, as stored."""
        return self._reader.n_bytes_read if self._reader is not None else 0

    def __iter__(self) -> Iterator[tuple[TextBatch, list[str | None]]]:
        """The batches in the order of the file.

        Raises:
            RecordError: A record does not parse, or has no text (path and line).
            InvalidTextError: Under strict reading, a text is not UTF-8.
            LimitError: A line is longer than any document may be.
        """
        texts: list[str] = []
        domains: list[str | None] = []
        lines: list[int] = []
        ids: list[str] = []
        numbers: list[int] = []
        kept: list[dict[str, Any]] = []
        n_chars = 0
        for line, record in self.records():
            self._n_records += 1
            text = self._text(record, line)
            if text is None:
                continue
            if self._strict:
                _check_text(text, f"{self._path}, line {line}")
            if self.n_replacements and "\ufffd" in text:
                self.n_replaced += 1
            texts.append(text)
            domain = lookup(record, self._domain_field) if self._domain_field else None
            domains.append(text_or_none(domain))
            lines.append(line)
            ids.append(record_id(record))
            numbers.append(self._n_records - 1)
            if self._keep:
                kept.append(self._keep.of(record, self._field))
            n_chars += len(texts[-1])
            if n_chars >= self._batch_bytes or len(texts) >= _MAX_TEXTS_PER_BATCH:
                self.batch_places = RecordPlaces(lines, ids, numbers, kept)
                yield TextBatch.from_texts(texts), domains
                texts, domains, lines, ids, n_chars = [], [], [], [], 0
                numbers, kept = [], []
        if texts:
            self.batch_places = RecordPlaces(lines, ids, numbers, kept)
            yield TextBatch.from_texts(texts), domains

    def records(self) -> Iterator[tuple[int, Any]]:
        """Yield ``(line, record)`` for each record; a row of CSV has all its columns."""
        pieces = self._pieces()
        if self._format == "csv":
            yield from self._rows(pieces)
            return
        read = json_values if self._format == "json" else json_lines
        yield from read(pieces, max_record_bytes=MAX_RECORD_BYTES, report=self._refuse)

    def _rows(self, pieces: Iterator[bytes]) -> Iterator[tuple[int, Any]]:
        first = next(pieces, b"").removeprefix(codecs.BOM_UTF8)
        header = first.partition(b"\n")[0].decode("utf-8", "replace").strip()
        delimiter = delimiter_of(first)
        names = [name.strip().strip('"') for name in header.split(delimiter)]
        if not any(name in names for name in first_keys(self._field)):
            shown = ", ".join(f'"{name}"' for name in names[:20])
            raise RecordError(
                f'{self._path}: no column "{self._field}"; the columns there are {shown}\n'
                f"hint: {_field_hint(names)}",
                path=self._path,
            )
        rows = csv_rows(_chained(first, pieces), delimiter, MAX_RECORD_BYTES, self._refuse)
        column = next(name for name in first_keys(self._field) if name in names)
        empty = {column: None}
        for line, row in rows:
            # A cell that is empty is no document: that is how a table says null.
            yield line, {**empty, **row}

    def _pieces(self) -> Iterator[bytes]:
        if self._reader is None:
            yield from decoded_pieces(
                self._path,
                self._encoding,
                strict=self._strict,
                max_bytes=self._max_decompressed_bytes,
            )
            return
        for batch in self._reader:
            self.n_replacements += batch.n_replacements
            yield batch.data.tobytes()

    def _text(self, record: Any, line: int) -> str | None:
        if isinstance(record, str) and self._format == "json":
            return record
        is_there, value = value_at(record, self._field)
        if isinstance(value, str):
            return value
        if is_there and value is None:
            self.n_nulls += 1
            self._leave_out(line, "the text is null")
            return None
        found = "the record is not an object"
        if isinstance(record, dict):
            there = ", ".join(f'"{name}"' for name in list(record)[:20])
            found = f"the fields there are {there or 'none'}"
            if is_there:
                found = f"it is of type {type(value).__name__}"
        self._bad(
            f'{self._path}, line {line}: no string in the field "{self._field}"; {found}\n'
            f"hint: {_field_hint(record if isinstance(record, dict) else ())}",
            line,
        )
        return None

    def _refuse(self, kind: str, line: int, detail: str) -> None:
        if kind == "line_too_long":
            raise LimitError(
                f"{self._path}, line {line}: {detail}; the limit is {MAX_RECORD_BYTES:,}\n"
                "hint: cut the record into several",
                what="line",
                limit=MAX_RECORD_BYTES,
            )
        self._n_records += 1
        self._bad(
            f"{self._path}, line {line}: not valid JSON: {detail}\nhint: {_json_hint(detail)}"
            if self._format != "csv"
            else f"{self._path}, line {line}: {detail}\nhint: {_CORRECT}",
            line,
        )

    def _bad(self, message: str, line: int) -> None:
        if not self._skips:
            raise RecordError(message, path=self._path, line=line)
        self.n_bad += 1
        self.first_bad = self.first_bad or message.split("\n")[0]
        self._leave_out(line, message.split("\n")[0].removeprefix(f"{self._path}, line {line}: "))

    def _leave_out(self, line: int, reason: str) -> None:
        if self._on_left_out is not None:
            self._on_left_out(LeftOutRecord(self._path, self._n_records - 1, line, reason))


def _check_text(text: str, where: str) -> None:
    """Refuse halves of surrogate pairs, as which JSON can write what is no character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        offset = len(text[: error.start].encode())
        raise InvalidTextError(
            f"{where}: not valid UTF-8 at byte {offset} of the text\n"
            "hint: without strict reading, such bytes are replaced and counted",
            byte_offset=offset,
        ) from None


def _field_hint(names: Iterable[str]) -> str:
    """Say how to name the field of the text, given the fields of a record that lacks it."""
    if "messages" in names:
        return (
            "field='messages[].content' (--field) takes the texts of chats; jeton count --chat "
            "counts them with the text of a chat template"
        )
    return "name the one that holds the text with field= (--field)"


_CORRECT = "correct that record"


def _json_hint(reason: str) -> str:
    """Say what to do about a record that is no JSON."""
    if "xpect" in reason and "value" in reason:
        return f"{_CORRECT}: JSON has no NaN, no Infinity, no comments and no single quotes"
    if "EOF" in reason or "nterminated" in reason:
        return f"{_CORRECT}: it ends too early, so the file may have been cut"
    return _CORRECT


def with_hint(error: RecordError) -> RecordError:
    """The core's error about a record, with what to do about it."""
    message = str(error)
    if error.line is None or "\nhint: " in message:
        return error
    there = re.search(r'no field ".*"; the fields there are (.*)', message)
    hint = _json_hint(message) if "not valid JSON" in message else _CORRECT
    if there is not None:
        hint = _field_hint(re.findall(r'"([^"]*)"', there[1]))
    elif "invalid type" in message:
        hint = "name the field that holds the text with field= (--field), or correct that record"
    return RecordError(f"{message}\nhint: {hint}", path=error.path, line=error.line)


def has_field(path: str, *, format: str, encoding: str, field: str) -> bool:  # noqa: A002
    """True if the first record of a file has the field, as a string or null."""
    documents = RecordDocuments(
        path, format=format, field=field, encoding=encoding, strict=False, batch_bytes=1
    )
    try:
        for _, record in documents.records():
            if isinstance(record, str) and format == "json":
                return True
            is_there, value = value_at(record, field)
            return is_there and (value is None or isinstance(value, str))
    except (RecordError, LimitError):
        return False
    return True


def _chained(first: bytes, pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from pieces


def decoded_pieces(
    path: str, encoding: str, *, strict: bool, max_bytes: int | None = None
) -> Iterator[bytes]:
    """The text of a UTF-16 or UTF-32 file as UTF-8, a few MiB at a time, cut between characters.

    Raises:
        InvalidTextError: Under strict reading, it is not valid.
        LimitError: It is larger than ``max_bytes`` when decompressed.
        OSError: The file cannot be read.
    """
    decoder = codecs.getincrementaldecoder(encoding)("strict" if strict else "replace")
    with Path(path).open("rb") as file:
        head = file.read(4)
        file.seek(0)
        if head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
            limit = MAX_RECORD_BYTES if max_bytes is None else max_bytes
            data = decompress(file.read(), max_bytes=limit, path=path)
            stored: Iterable[bytes] = (
                data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)
            )
        else:
            stored = iter(lambda: file.read(PIECE_BYTES), b"")
        try:
            for piece in stored:
                text = decoder.decode(piece)
                if text:
                    yield text.encode("utf-8", "replace")
            if rest := decoder.decode(b"", final=True):
                yield rest.encode("utf-8", "replace")
        except UnicodeDecodeError as error:
            raise InvalidTextError(
                f"{path}: not valid {encoding.upper()}: {error.reason}\n"
                "hint: without strict reading, such bytes are replaced and counted",
                byte_offset=error.start,
            ) from error


def check_on_bad_record(value: str) -> None:
    """Raise ``UsageError`` for what is no rule."""
    if value not in ("stop", "skip"):
        raise UsageError(f"on_bad_record is {value!r}; expected 'stop' or 'skip'")
