r"""Texts of inputs with their places.

Every string of a record counts, for a template or a program may print any of them: contents and
their parts, arguments of tools, names, roles, keys. JSON is read literal by literal, so nothing is
lost to keys that come twice or to lines that are no JSON, and each place has a column.

    >>> [text for _, _, text in json_texts('{"a": ["x\\u0041", 1]}')]
    ['a', 'xA']
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from jeton._foreign import json_of
from jeton.corpus.documents import are_paths, files_of, open_documents, read_progress, require_text
from jeton.corpus.inputs import Format, InputFile
from jeton.corpus.objects import local_copy
from jeton.corpus.parquet import parquet_rows
from jeton.corpus.record_documents import OnBadRecord, RecordDocuments, value_at
from jeton.errors import RecordError
from jeton.progress import OnProgress

_BATCH_BYTES: Final = 8 << 20

_LITERAL: Final = re.compile(r'"(?:[^"\\]+|\\.)*+"', re.DOTALL)
_OTHER_JSON: Final = re.compile(r"[\s\d{}\[\]:,+\-.eE]|true|false|null|NaN|Infinity")
_CHARACTER: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]",
    re.DOTALL,
)
_TOKEN: Final = re.compile(r'"(?:[^"\\]+|\\.)*+"|[{}\[\]:,]', re.DOTALL)

_NO_TEXT_AT_ALL: Final = re.compile(r"picture|sound|film|icon|program\b|tokenizer")
"""Reasons for which a file of a folder holds no words that a model reads: an info finding."""

_MIN_TEXT_SHARE: Final = 0.9
"""Share of printable characters from which on a file is text, however it begins."""

_PROBE_BYTES: Final = 65_536

_MAX_DEPTH: Final = 32
_MAX_FIELD_CHARS: Final = 200
"""The beginning of its path names a field that lies deeper or has a longer name."""


@dataclass(frozen=True, slots=True)
class GuardText:
    """One text of a document.

    Attributes:
        text: The text.
        where: Field of the record; empty: the whole document.
        start: Its first character in the document's text; -1: the document has no text.
        raw: The literal of JSON that it was written as; None: it stands there as it is.
    """

    text: str
    where: str = ""
    start: int = 0
    raw: str | None = None

    def places(self, wanted: Iterable[int]) -> dict[int, int]:
        """Return the places of characters in the document's text; takes one pass."""
        if self.raw is None or len(self.raw) == len(self.text):
            return {at: self.start + at for at in wanted}
        left = sorted(set(wanted), reverse=True)
        found: dict[int, int] = {}
        for number, match in enumerate(_CHARACTER.finditer(self.raw)):
            if not left:
                break
            if number == left[-1]:
                found[left.pop()] = self.start + match.start()
        return found | dict.fromkeys(left, self.start + len(self.raw))


@dataclass(frozen=True, slots=True)
class GuardDocument:
    """Texts that are one document.

    Attributes:
        source: Path.
        line: First line; row of a table.
        texts: Texts in it.
        whole: The text that the places of ``texts`` count in; empty: a row of a table.
    """

    source: str
    line: int
    texts: Sequence[GuardText]
    whole: str = ""


@dataclass(frozen=True, slots=True)
class UnreadInput:
    """Input that nobody looked at.

    Attributes:
        source: Path.
        line: Line of a record; 0: the whole file.
        reason: In words.
        is_harmless: True if no program reads such a file as text.
    """

    source: str
    line: int
    reason: str
    is_harmless: bool = False


@dataclass(slots=True)
class GuardReading:
    """Documents of inputs, and a count of what could not be read.

    Attributes:
        inputs: As for ``jeton.corpus.open_documents``.
        field: Field of records that is read; None: every string of a record.
        documents: Document of a text file: the whole file, or each line that is not empty.
        format: Overrides the format that the names tell.
        strict: Bytes that are not UTF-8 are an error; else they are replaced and counted.
        on_bad_record: ``"stop"`` or ``"skip"`` at records without the field.
        on_progress: Told how far reading has come.
    """

    inputs: Any
    field: str | None = None
    documents: Literal["file", "line"] = "file"
    format: Format | None = None
    strict: bool = False
    on_bad_record: OnBadRecord = "stop"
    on_progress: OnProgress | None = None
    n_documents: int = 0
    n_replaced: int = 0
    n_null: int = 0
    n_bad: int = 0
    unread: list[UnreadInput] = dataclasses.field(default_factory=list)

    def __iter__(self) -> Iterator[GuardDocument]:
        """Yield the documents in the order of the inputs.

        Raises:
            JetonError: An input cannot be read.
            OSError: A file cannot be read.
        """
        if not are_paths(self.inputs):
            for _, batch in open_documents(self.inputs, strict=self.strict):
                self.n_replaced += batch.n_replaced_documents
                for text in batch:
                    yield self._counted(GuardDocument("<texts>", 1, [GuardText(text)], text))
            return
        paths = [self.inputs] if isinstance(self.inputs, str | os.PathLike) else self.inputs
        files = [as_text_if_it_is(file) for file in files_of(paths, format=self.format)]
        skipped = [file for file in files if file.skipped_because]
        self.unread += [
            UnreadInput(
                f.path, 0, f.skipped_because, bool(_NO_TEXT_AT_ALL.search(f.skipped_because))
            )
            for f in skipped
        ]
        read = [file for file in files if not file.skipped_because]
        if not files:
            require_text(n_documents=0, n_bytes=0)
        done = 0
        for file in read:
            is_table = file.format == "parquet"
            is_record = file.format in ("jsonl", "json", "csv")
            documents = self._records if is_table or (is_record and self.field) else self._texts
            for document in documents(file, partial(self._report, read, done)):
                yield self._counted(document)
            done += file.n_bytes or 0
            self._report(read, done)

    def _counted(self, document: GuardDocument) -> GuardDocument:
        self.n_documents += 1
        return document

    def _report(self, files: Sequence[InputFile], before: int, n_read: int = 0) -> None:
        if self.on_progress is not None:
            n_bytes = before + n_read
            self.on_progress(read_progress(files, n_bytes=n_bytes, n_documents=self.n_documents))

    def _texts(self, file: InputFile, report: Callable[[int], None]) -> Iterator[GuardDocument]:
        """Whole texts, lines, or the literals of JSON. A table in CSV is a text."""
        is_json = file.format in ("jsonl", "json")
        stream = open_documents(
            [replace(file, format="text")],
            documents="line" if file.format == "jsonl" else self.documents,
            strict=self.strict,
            with_places=True,
            on_progress=lambda progress: report(progress.done),
        )
        line = 1
        for _, batch in stream:
            self.n_replaced += batch.n_replaced_documents
            places = stream.batch_places
            for index, text in enumerate(batch):
                if places is not None:
                    line = places.lines[index] or line
                texts = list(_json_parts(text)) if is_json else [GuardText(text)]
                yield GuardDocument(file.path, line, texts, text)
                line += text.count("\n")

    def _records(self, file: InputFile, report: Callable[[int], None]) -> Iterator[GuardDocument]:
        with local_copy(file.path) as path:
            if file.format == "parquet":
                head = re.split(r"\.|\[\]", self.field)[0] if self.field else ""
                records: Iterator[tuple[int, Any]] = parquet_rows(
                    path,
                    is_wanted=lambda name: not head or name in (head, self.field),
                    max_bytes=_BATCH_BYTES,
                    on_bytes=report,
                )
            else:
                reader = RecordDocuments(
                    path,
                    format=file.format,
                    field=self.field or "",
                    encoding=file.encoding,
                    strict=self.strict,
                    on_bad_record=self.on_bad_record,
                    batch_bytes=_BATCH_BYTES,
                )
                records = reader.records()
            n_bad, first = self.n_bad, None
            for line, record in records:
                values = [("", record)] if self.field is None else _values_at(record, self.field)
                texts = [
                    GuardText(text, where, -1)
                    for start, value in values
                    for where, text in _strings(value, start)
                ]
                if not texts and self.field is not None:
                    if any(value is None for _, value in values):
                        self.n_null += 1
                        continue
                    if not any(isinstance(value, list | dict) for _, value in values):
                        first = first or (line, self._bad(file.path, line))
                        continue
                yield GuardDocument(file.path, line, texts)
            if file.format != "parquet" and reader.n_bad:
                self.n_bad += reader.n_bad
                first = first or (0, reader.first_bad)
            if first is not None:
                n = self.n_bad - n_bad
                self.unread.append(UnreadInput(file.path, first[0], f"{n:,} bad: {first[1]}"))

    def _bad(self, path: str, line: int) -> str:
        reason = f'no text in the field "{self.field}"'
        if self.on_bad_record == "stop":
            raise RecordError(
                f"{path}, line {line}: {reason}\n"
                "hint: leave out --field to scan every string, or name another field",
                path=path,
                line=line,
            )
        self.n_bad += 1
        return reason


def as_text_if_it_is(file: InputFile) -> InputFile:
    """Return a file that only begins like a picture or an archive as the text that it is."""
    if not file.skipped_because or re.search("not text", file.skipped_because):
        return file
    try:
        with open(file.path, "rb") as opened:  # noqa: PTH123 - addresses are no paths
            head = opened.read(_PROBE_BYTES)
    except OSError:
        return file
    text = head.replace(b"\0", b"").decode("utf-8", "ignore")
    n_plain = sum(char.isprintable() or char in "\n\r\t" for char in text)
    if len(text) < 8 or n_plain < _MIN_TEXT_SHARE * len(head.replace(b"\0", b"")):
        return file
    return replace(file, skipped_because="", format="text")


def json_texts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and decoded text of each literal, quotes included."""
    for match in _LITERAL.finditer(text):
        literal = match[0]
        if "\\" not in literal:
            yield match.start(), match.end(), literal[1:-1]
            continue
        try:
            yield match.start(), match.end(), json_of(literal, strict=False)
        except ValueError:
            yield match.start(), match.end(), literal[1:-1]


def _json_parts(text: str) -> Iterator[GuardText]:
    for start, end, value in json_texts(text):
        yield GuardText(value, "", start + 1, text[start + 1 : end - 1])
    if _OTHER_JSON.sub("", _LITERAL.sub("", text)):
        # Not JSON, or not only: then it is text as well.
        yield GuardText(text)


class JsonPaths:
    """Fields of rising places in a text of JSON.

    Example:
        >>> JsonPaths('{"a": [1, {"b": "x"}]}').at(17)
        'a[1].b'
    """

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.finditer(text)
        self._next = next(self._tokens, None)
        self._stack: list[list[Any]] = []
        self._last = ""

    def at(self, place: int) -> str:
        """Return the field of the record that a place is in."""
        while self._next is not None and self._next.end() <= place:
            self._take(self._next[0])
            self._next = next(self._tokens, None)
        parts = (f"[{k}]" if kind == "[" else f".{k}" for kind, k in self._stack[:_MAX_DEPTH])
        return "".join(parts).lstrip(".")[:_MAX_FIELD_CHARS]

    def _take(self, token: str) -> None:
        if token in ("{", "["):
            self._stack.append([token, 0 if token == "[" else ""])
        elif token in ("}", "]"):
            del self._stack[-1:]
        elif token == ":" and self._stack:
            self._stack[-1][1] = self._last[1:-1]
        elif token == "," and self._stack and self._stack[-1][0] == "[":
            self._stack[-1][1] += 1
        else:
            self._last = token


def _values_at(record: Any, path: str) -> list[tuple[str, Any]]:
    """The values at a path, with the path of each; ``[]`` stands for all elements of a list."""
    head, brackets, rest = path.partition("[]")
    is_there, value = value_at(record, head) if head else (True, record)
    if not is_there:
        return []
    if not brackets or not isinstance(value, list) or not value:
        return [(head, value)] if not brackets or not value else []
    found: list[tuple[str, Any]] = []
    for number, one in enumerate(value):
        inner = _values_at(one, rest.removeprefix(".")) if rest else [("", one)]
        found += [(f"{head}[{number}]{'.' if name else ''}{name}", v) for name, v in inner]
    return found


def _strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """All strings of a value, keys too, with their paths."""
    waiting = [(where, value)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, bytes):
            # Pictures in a table are no text.
            with suppress(UnicodeDecodeError):
                yield where, value.decode()
        elif isinstance(value, dict):
            dot = "." if where else ""
            for key, one in reversed(value.items()):
                waiting.append((f"{where}{dot}{key}", one))
                if isinstance(key, str) and not (key.isascii() and key.isidentifier()):
                    yield f"{where}{dot}{key}", key
        elif isinstance(value, list | tuple):
            waiting += [(f"{where}[{i}]", one) for i, one in reversed(list(enumerate(value)))]
