"""Documents of a file, read and written back in its own format, all else as it was.

There is one function for each format. It calls ``change`` with the texts of each batch, and yields
the bytes to write.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from jeton._core import DocumentReader
from jeton.corpus import parquet as corpus_parquet
from jeton.corpus.csv_records import delimiter_of
from jeton.corpus.inputs import InputFile
from jeton.corpus.record_documents import decoded_pieces
from jeton.errors import MissingExtraError, RecordError, UsageError
from jeton.preprocess.splicing import field_span, spliced

__all__ = ["FileCounts", "FileSettings", "changed_file", "changed_parquet"]

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
    record: str, place: str, path: str, number: int, settings: FileSettings, start: int = 0
) -> tuple[tuple[int, int], str | None] | None:
    """Span and text of the field; a text of None is null. None: a bad record, to be left out.

    Raises:
        RecordError: A bad record, where one stops.
    """
    problem = ""
    try:
        if start == 0:
            json.loads(record)
        span = field_span(record, settings.field, start)
    except (ValueError, IndexError) as error:
        problem = f"not valid JSON: {str(error).split(': line')[0]}"
    except RecursionError:
        problem = "nested too deeply"
    else:
        if span is None:
            problem = f'no field "{settings.field}"'
        else:
            value = json.loads(record[span[0] : span[1]])
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


def _json_array(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    text = b"".join(_pieces(file, settings, counts)).decode().removeprefix("\ufeff")
    decoder = json.JSONDecoder()
    batcher = _Batcher(change)
    at = written = 0
    line = 1
    is_ascii = text.isascii()

    def write_string(changed: str) -> str:
        return json.dumps(changed, ensure_ascii=is_ascii)

    while True:
        start = at
        while at < len(text) and text[at] in " \t\r\n,[]":
            at += 1
        line += text.count("\n", start, at)
        if at >= len(text):
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise RecordError(
                f"{file.path}, line {line}: not valid JSON: {str(error).split(': line')[0]}",
                path=file.path,
                line=line,
            ) from None
        if isinstance(value, str):
            span, found = (at, end), value
        else:
            place = f"{file.path}, line {line}"
            result = _text_at(text, place, file.path, line, settings, at)
            if result is None or result[1] is None:
                # A bad element stays in its list: leaving it out would leave its comma.
                counts.n_bad += result is None
                counts.n_null += result is not None
                line += text.count("\n", at, end)
                at = end
                continue
            span, found = result[0], result[1]
        yield from batcher.literal(text[written : span[0]])
        yield from batcher.text(found, write_string)
        written = span[1]
        line += text.count("\n", at, end)
        at = end
    yield from batcher.literal(text[written:])
    yield from batcher.flush()


def _csv(
    file: InputFile, settings: FileSettings, change: Change, counts: FileCounts
) -> Iterator[bytes]:
    text = b"".join(_pieces(file, settings, counts)).decode().removeprefix("\ufeff")
    delimiter = delimiter_of(text[: 1 << 16].encode())
    end = "\r\n" if "\r\n" in text[: 1 << 16] else "\n"
    limit = csv.field_size_limit(1 << 30)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise RecordError(f"{file.path}: not valid CSV: {error}", path=file.path) from None
    finally:
        csv.field_size_limit(limit)
    names = [name.strip() for name in rows[0]] if rows else []
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

    yield from batcher.literal(row_text(rows[0]))
    for row in rows[1:]:
        if column >= len(row) or not row[column]:
            counts.n_null += bool(row)
            yield from batcher.literal(row_text(row) if row else end)
            continue

        def write(changed: str, row: list[str] = row) -> str:
            return row_text([*row[:column], changed, *row[column + 1 :]])

        yield from batcher.text(row[column], write)
    yield from batcher.flush()


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
