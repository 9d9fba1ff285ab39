"""Documents of a file, read and written back in its own format, all else as it was.

There is one function for each format. It calls ``change`` with the texts of each batch, and yields
the bytes to write.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from jeton._core import DocumentReader
from jeton._foreign import json_of
from jeton.corpus import parquet as corpus_parquet
from jeton.corpus.inputs import InputFile
from jeton.corpus.record_documents import decoded_pieces, delimiter_of
from jeton.errors import MissingExtraError, RecordError, UsageError
from jeton.preprocess.regions import field_span, spliced

PIECE_BYTES = 4 << 20
"""Bytes of a file that are read at a time."""

BATCH_CHARS = 4 << 20
"""Characters of texts that pass the steps at a time."""

BATCH_TEXTS = 4_096
"""Texts that pass the steps at a time."""

Change = Callable[[list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class FileSettings:
    """How files are read; as for ``open_documents``."""

    field: str = "text"
    documents: Literal["file", "line"] = "file"
    strict: bool = False
    on_bad_record: Literal["stop", "skip"] = "stop"


@dataclass(slots=True)
class FileCounts:
    """Counts of a file that was read."""

    n_null: int = 0
    n_bad: int = 0
    n_replaced: int = 0
    n_bytes_read: int = 0


def changed_file(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    """Yield the bytes of a file whose texts went through ``change``.

    Raises:
        RecordError: A record does not parse or has no text.
        InvalidTextError: Under strict reading, bytes are not UTF-8.
        UsageError: The field joins a list, which has no place to be written to.
    """
    if file.format == "text":
        if settings.documents == "file":
            yield from _whole(file, settings, change, counts)
        else:
            yield from _text_lines(file, settings, change, counts)
        return
    if "[]" in settings.field:
        raise UsageError(
            f"the field {settings.field!r} joins texts of a list, which cannot be written back\n"
            "hint: name a field that holds one text"
        )
    if file.format == "jsonl":
        yield from _jsonl(file, settings, change, counts)
    elif file.format == "json":
        yield from _json_array(file, settings, change, counts)
    else:
        yield from _csv(file, settings, change, counts)


def _pieces(file: InputFile, settings: FileSettings, counts: FileCounts) -> Iterator[bytes]:
    if file.encoding:
        yield from decoded_pieces(file.path, file.encoding, strict=settings.strict)
        return
    reader = DocumentReader(
        file.path,
        format="text",
        strict=settings.strict,
        batch_bytes=PIECE_BYTES,
        max_document_bytes=PIECE_BYTES,
    )
    for batch in reader:
        counts.n_replaced += batch.n_replaced_documents
        counts.n_bytes_read = reader.n_bytes_read
        yield batch.data.tobytes()


def _whole(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    if file.encoding:
        text = b"".join(_pieces(file, settings, counts)).decode()
        yield change([text])[0].encode()
        return
    # A document above 64 MiB comes in pieces cut at line ends, as everywhere.
    reader = DocumentReader(file.path, format="text", strict=settings.strict)
    for batch in reader:
        counts.n_replaced += batch.n_replaced_documents
        counts.n_bytes_read = reader.n_bytes_read
        for text in change(list(batch)):
            yield text.encode()


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """Lines with their ends; the last one may have none."""
    waiting: list[bytes] = []
    for piece in pieces:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            yield (b"".join([*waiting, line]) + b"\n").decode()
            waiting = []
        if rest:
            waiting.append(rest)
    if waiting:
        yield b"".join(waiting).decode()


class _Batcher:
    """Collects texts, each with how it is written back, and changes them a batch at a time."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._texts: list[str] = []
        self._parts: list[str | Callable[[str], str]] = []
        self._n_chars = 0

    def literal(self, text: str) -> Iterator[bytes]:
        """Add what is written as it is."""
        self._parts.append(text)
        yield from self._drain()

    def text(self, text: str, write: Callable[[str], str]) -> Iterator[bytes]:
        """Add a document, and how its changed text becomes what is written."""
        self._texts.append(text)
        self._parts.append(write)
        self._n_chars += len(text)
        yield from self._drain()

    def _drain(self) -> Iterator[bytes]:
        if self._n_chars >= BATCH_CHARS or len(self._parts) >= BATCH_TEXTS:
            yield from self.flush()

    def flush(self) -> Iterator[bytes]:
        """Change and write what was collected."""
        if not self._parts:
            return
        changed = iter(self._change(self._texts) if self._texts else [])
        written = [part if isinstance(part, str) else part(next(changed)) for part in self._parts]
        self._texts, self._parts, self._n_chars = [], [], 0
        yield "".join(written).encode("utf-8", "surrogatepass")


def _text_lines(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    batcher = _Batcher(change)
    for number, line in enumerate(_lines(_pieces(file, settings, counts)), start=1):
        body = line.removesuffix("\n").removesuffix("\r")
        end = line[len(body) :]
        if not body:
            yield from batcher.literal(line)
            continue

        def write(text: str, end: str = end, number: int = number) -> str:
            text = text.removesuffix("\n")
            if "\n" in text:
                raise RecordError(
                    f"{file.path}, line {number}: the changed text has several lines, and each "
                    "would be a document\nhint: put the documents in JSON Lines",
                    path=file.path,
                    line=number,
                )
            return text + end

        yield from batcher.text(body, write)
    yield from batcher.flush()


def _jsonl(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    batcher = _Batcher(change)
    for number, line in enumerate(_lines(_pieces(file, settings, counts)), start=1):
        if number == 1:
            line = line.removeprefix("\ufeff")
        if not line.strip():
            yield from batcher.literal(line)
            continue
        place = f"{file.path}, line {number}"
        found = _text_at(line, place, file.path, number, settings)
        if found is None:
            counts.n_bad += 1
        elif found[1] is None:
            counts.n_null += 1
            yield from batcher.literal(line)
        else:
            span, text = found[0], found[1]

            def write(text: str, line: str = line, span: tuple[int, int] = span) -> str:
                return spliced(line, span, text)

            yield from batcher.text(text, write)
    yield from batcher.flush()


def _text_at(
    record: str, place: str, path: str, number: int, settings: FileSettings
) -> tuple[tuple[int, int], str | None] | None:
    """Span and text of the field; a text of None is null. None: a bad record, to be left out.

    Raises:
        RecordError: A bad record, where one stops.
    """
    problem = ""
    try:
        json_of(record, any_integer=True)
        span = field_span(record, settings.field)
    except (ValueError, IndexError) as error:
        problem = f"not valid JSON: {str(error).split(': line')[0]}"
    except RecursionError:
        problem = "nested too deeply"
    else:
        if span is None:
            problem = f'no field "{settings.field}"'
        else:
            value = json_of(record[span[0] : span[1]], any_integer=True)
            if value is None:
                return span, None
            if isinstance(value, str):
                # As everywhere: half a pair becomes the replacement character, or is an error.
                text = value if value.isascii() else _valid(value, place, settings)
                return span, text
            problem = f'no string in the field "{settings.field}"'
    if settings.on_bad_record == "skip":
        return None
    raise RecordError(
        f"{place}: {problem}\nhint: name the field that holds the text with field= (--field)",
        path=path,
        line=number,
    )


def _valid(text: str, place: str, settings: FileSettings) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if settings.strict:
            from jeton.errors import InvalidTextError

            raise InvalidTextError(
                f"{place}: a lone surrogate at character {error.start}", byte_offset=error.start
            ) from None
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


class _Values:
    """Values of a JSON array, or of one after the other, with what stands between them.

    Only the value that is read, and one piece of the file, are in memory.
    """

    _BETWEEN = re.compile(r"[ \t\r\n,\[\]]*")
    _LONGEST_MARK = 16
    """Characters of the longest escape, literal or name of a number that a piece may end in."""

    def __init__(self, file: InputFile, pieces: Iterator[bytes]) -> None:
        self._file = file
        self._texts = _decoded(pieces)
        self._text = next(self._texts, "").removeprefix("\ufeff")
        self._decoder = json.JSONDecoder()
        self.line = 1
        """Line of the value that was handed out last."""

    def __iter__(self) -> Iterator[tuple[str, Any, str]]:
        """Yields the text before a value, the value, and how it is written. The rest has no value.

        Raises:
            RecordError: A value does not parse.
        """
        at = 0
        while True:
            start = at
            at = self._end_of_between(at)
            while at == len(self._text) and self._more(from_=start):
                at, start = self._end_of_between(at - start), 0
            between = self._text[start:at]
            self.line += between.count("\n")
            if at == len(self._text):
                if between:
                    yield between, None, ""
                return
            value, start, at = self._value(at)
            written = self._text[start:at]
            yield between, value, written
            self.line += written.count("\n")

    def _end_of_between(self, at: int) -> int:
        found = self._BETWEEN.match(self._text, at)
        return found.end() if found else at

    def _value(self, at: int) -> tuple[Any, int, int]:
        """A value, where it begins and where it ends."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, at)
            except (ValueError, RecursionError) as error:
                # Twice as much each time: a long value is not read again and again.
                if self._may_go_on(error) and self._more(from_=at, at_least=len(self._text) - at):
                    at = 0
                    continue
                raise RecordError(
                    f"{self._file.path}, line {self.line}: not valid JSON: "
                    f"{str(error).split(': line')[0]}",
                    path=self._file.path,
                    line=self.line,
                ) from None
            # A number at the end of a piece may have more digits.
            if end < len(self._text) or not self._more(from_=at):
                return value, at, end
            at = 0

    def _may_go_on(self, error: ValueError | RecursionError) -> bool:
        """True if the text that was read may be the beginning of a value."""
        if not isinstance(error, json.JSONDecodeError):
            return False
        is_near_the_end = error.pos >= len(self._text) - self._LONGEST_MARK
        return is_near_the_end or error.msg.startswith("Unterminated string")

    def _more(self, *, from_: int, at_least: int = 1) -> bool:
        """Read on, and forget what lies before a place; False: the file has ended."""
        parts = []
        n_chars = 0
        while n_chars < at_least and (part := next(self._texts, "")):
            parts.append(part)
            n_chars += len(part)
        if parts:
            self._text = "".join([self._text[from_:], *parts])
        return bool(parts)


def _decoded(pieces: Iterator[bytes]) -> Iterator[str]:
    """Pieces of valid UTF-8 as text; characters that two pieces share are put together."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for piece in pieces:
        if text := decoder.decode(piece):
            yield text


def _json_array(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    batcher = _Batcher(change)
    values = _Values(file, _pieces(file, settings, counts))
    for between, value, written in values:
        yield from batcher.literal(between)
        if not written:
            continue
        if isinstance(value, str):
            span, found = (0, len(written)), value
        else:
            place = f"{file.path}, line {values.line}"
            result = _text_at(written, place, file.path, values.line, settings)
            if result is None or result[1] is None:
                # A bad element stays in its list: leaving it out would leave its comma.
                counts.n_bad += result is None
                counts.n_null += result is not None
                yield from batcher.literal(written)
                continue
            span, found = result[0], result[1]

        def write(text: str, record: str = written, span: tuple[int, int] = span) -> str:
            return spliced(record, span, text)

        yield from batcher.text(found, write)
    yield from batcher.flush()


class _Stream(io.RawIOBase):
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = piece
        n = min(len(buffer), len(self._left))
        buffer[:n] = self._left[:n]
        self._left = self._left[n:]
        return n


def _csv(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    pieces = _pieces(file, settings, counts)
    first = next(pieces, b"").removeprefix(codecs.BOM_UTF8)
    start = first[: 1 << 16]
    delimiter = delimiter_of(start)
    end = "\r\n" if b"\r\n" in start else "\n"
    stream = io.BufferedReader(_Stream(chain([first], pieces)), PIECE_BYTES)
    # With `newline=""` quoted line ends stay as they are.
    lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    rows = _csv_rows(file, csv.reader(lines, delimiter=delimiter, strict=True))
    head = next(rows, [])
    names = [name.strip() for name in head]
    if settings.field not in names:
        raise RecordError(
            f'{file.path}: no column "{settings.field}"; the columns there are '
            f"{', '.join(names[:20]) or 'none'}\nhint: name the one that holds the text with "
            "field= (--field)",
            path=file.path,
        )
    column = names.index(settings.field)
    batcher = _Batcher(change)

    def row_text(row: list[str]) -> str:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=delimiter, lineterminator=end).writerow(row)
        return out.getvalue()

    yield from batcher.literal(row_text(head))
    for row in rows:
        if column >= len(row) or not row[column]:
            counts.n_null += bool(row)
            yield from batcher.literal(row_text(row) if row else end)
            continue

        def write(changed: str, row: list[str] = row) -> str:
            return row_text([*row[:column], changed, *row[column + 1 :]])

        yield from batcher.text(row[column], write)
    yield from batcher.flush()


def _csv_rows(file: InputFile, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Rows, whatever their cells' sizes.

    Raises:
        RecordError: The rows are not valid CSV.
    """
    while True:
        # The limit is the process's, so it is raised for one row at a time.
        limit = csv.field_size_limit(1 << 30)
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise RecordError(f"{file.path}: not valid CSV: {error}", path=file.path) from None
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        yield row


def changed_parquet(
    file: InputFile, target: Any, settings: FileSettings, change: Change, counts: FileCounts
) -> None:
    """Write a Parquet file with another column of texts to an open file.

    Raises:
        MissingExtraError: pyarrow is not installed.
        RecordError: There is no such column of strings.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("Parquet", extra="parquet") from error
    # The reader's own message for a file or column that cannot be read.
    for _ in corpus_parquet.ParquetDocuments(
        file.path, field=settings.field, strict=settings.strict, batch_bytes=1
    ):
        break
    source = pq.ParquetFile(file.path)
    if settings.field not in source.schema_arrow.names:
        raise RecordError(
            f"{file.path}: {settings.field!r} is no column of its own, so that it cannot be "
            "written back\nhint: name a column of strings",
            path=file.path,
        )
    place = source.schema_arrow.names.index(settings.field)
    with pq.ParquetWriter(target, source.schema_arrow) as writer:
        for batch in source.iter_batches(batch_size=BATCH_TEXTS):
            texts = batch.column(place).to_pylist()
            counts.n_null += sum(text is None for text in texts)
            changed = iter(change([text for text in texts if text is not None]))
            values = [None if text is None else next(changed) for text in texts]
            kind = source.schema_arrow.field(place).type
            columns = [*batch.columns]
            columns[place] = pa.array(values, type=kind)
            writer.write_batch(pa.record_batch(columns, schema=source.schema_arrow))
