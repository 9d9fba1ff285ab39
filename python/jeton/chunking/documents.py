"""``chunk``: the documents of files, divided one by one."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Unpack

from jeton.chunking.division import Division
from jeton.chunking.results import Chunking
from jeton.chunking.texts import ChunkOptions
from jeton.corpus import DocumentStream, open_documents
from jeton.corpus.documents import Inputs
from jeton.corpus.places import KeptFields, OnLeftOut
from jeton.errors import MissingExtraError, UsageError
from jeton.registry import TokenizerLike

if TYPE_CHECKING:
    from jeton.progress import OnProgress


_SUFFIXES = {
    ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".go": "go",
    ".java": "java", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript",
    ".py": "python", ".rs": "rust", ".ts": "typescript", ".tsx": "tsx",
}  # fmt: skip


_MAX_DOCUMENT_BYTES = 1 << 40
"""Documents are never cut: offsets count from the beginning of the whole."""


@dataclass(frozen=True, slots=True)
class DocumentChunks:
    """Chunks of one document.

    Attributes:
        source: File of the document; ``"-"`` for standard input and texts in memory.
        document: Its number in that file, from 0: that of its record (row), where records without
            a text count too. A text file is document 0.
        n_chars: Its code points.
        chunking: Its chunks.
        kept: Fields of its record that were to be kept.
    """

    source: str
    document: int
    n_chars: int
    chunking: Chunking
    kept: Mapping[str, Any] = field(default_factory=dict)


class ChunkedDocuments(Iterator[DocumentChunks]):
    """Documents with their chunks, one after the other. Made by ``chunk``."""

    def __init__(self, stream: DocumentStream, division: Division) -> None:
        """Not for callers: see ``chunk``."""
        self.stream = stream
        """The documents; its counts say what was left out or replaced so far."""
        self.n_replacements = 0
        """Stretches of bytes that are not UTF-8, in the documents so far."""
        self.n_replaced_documents = 0
        """Documents that had some."""
        self._documents = self._divided(division)

    def __next__(self) -> DocumentChunks:
        """The next document."""
        return next(self._documents)

    def _divided(self, division: Division) -> Iterator[DocumentChunks]:
        source, number = "", 0
        for file, batch in self.stream:
            if file.path != source:
                source, number = file.path, 0
            self.n_replacements += batch.n_replacements
            self.n_replaced_documents += batch.n_replaced_documents
            texts = list(batch)
            found = _divided(texts, source, division)
            places = self.stream.batch_places
            numbers = places.numbers if places is not None else ()
            kept = places.kept if places is not None else ()
            for at, (text, chunking) in enumerate(zip(texts, found, strict=True)):
                place = numbers[at] if numbers else number
                fields = kept[at] if kept else {}
                yield DocumentChunks(source, place, len(text), chunking, fields)
                number += 1


def chunk(
    inputs: Inputs,
    *,
    tokenizer: TokenizerLike,
    max_tokens: int,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    format: Literal["text", "jsonl"] | None = None,  # noqa: A002 - as in `open_documents`
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    keep: Sequence[str] = (),
    keep_all: bool = False,
    on_left_out: OnLeftOut | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[ChunkOptions],
) -> ChunkedDocuments:
    """Divide the documents of files into chunks that fit a token budget.

    Args:
        inputs: Paths, folders, globs, or an iterator of texts.
        tokenizer: The tokenizer of the model that reads the chunks.
        max_tokens: Tokens of a chunk as it is sent, at most.
        field: Field of the text in JSON, CSV and Parquet.
        documents: Text files: the whole file is one document, or each line of it.
        format: Overrides the format that the names tell.
        strict: Bytes that are not UTF-8 are an error instead of being replaced.
        on_bad_record: A record that cannot be used is an error, or left out.
        keep: Fields of records that go with their chunks, as ``("id", "meta.url")``.
        keep_all: All fields but the text do.
        on_left_out: Called with each record that is no document.
        on_progress: Called as reading goes on.
        **options: Options of ``chunk_text``. Where ``by="code"`` names no language, the suffix of
            the file does.

    Returns:
        An iterator over the documents, each with its chunks. Limits are checked at once.

    Raises:
        UsageError: A limit is out of range; before anything is read.
        CorpusError: A file cannot be read.

    Example:
        >>> import jeton
        >>> texts = iter(["One. Two.", "Three."])
        >>> found = jeton.chunk(texts, tokenizer="jeton-general-32k", max_tokens=8)
        >>> [len(document.chunking.chunks) for document in found]
        [1, 1]
    """
    from jeton.registry import resolve

    division = Division(tokenizer=resolve(tokenizer), max_tokens=max_tokens, **options)
    # Options that suit no text are refused before the first one is read.
    list(division.of([""]))
    stream = open_documents(
        inputs,
        field=field,
        documents=documents,
        format=format,
        strict=strict,
        on_bad_record=on_bad_record,
        with_places=documents == "file",
        keep=KeptFields(tuple(keep), keep_all),
        on_left_out=on_left_out,
        max_document_bytes=_MAX_DOCUMENT_BYTES,
        on_progress=on_progress,
    )

    return ChunkedDocuments(stream, division)


def _divided(texts: list[str], source: str, division: Division) -> Iterator[Chunking]:
    suffix = _SUFFIXES.get(PurePath(source).suffix.lower())
    if division.by == "code" and division.code_language is None and suffix:
        guessed = replace(division, code_language=suffix)
        try:
            list(guessed.of([""]))
        except MissingExtraError:
            # Nobody asked for the grammar by name; lines and indentation do without.
            pass
        else:
            division = guessed
    return division.of(texts)


# Bytes of a document as bytes of the file that it was decoded from.

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_REPLACEMENT_BYTES = 3


class FileOffsets:
    """Places of a text file, by those of its document.

    A byte order mark stands before the document, and bytes that are not UTF-8 became U+FFFD.
    """

    def __init__(self, path: str, text: str) -> None:
        """Read the file that the text is of.

        Raises:
            UsageError: It is compressed, or holds more than the text: records have no place of
                their own in it.
            OSError: The file cannot be read.
        """
        data = Path(path).read_bytes()
        mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", "utf-8"))
        self._first, self._encoding, self._text = len(mark), encoding, text
        body = data[len(mark) :]
        if body.decode(encoding, "replace") != text:
            raise UsageError(
                f"{path} is no text file of one document, so that its bytes are not those of the "
                "chunks\nhint: leave --offsets out: they are then of the decoded document"
            )
        self._ends, self._shifts = _replaced(body) if encoding == "utf-8" else ([], [])

    def of(self, at: int, at_bytes: int) -> int:
        """The byte of the file of a place of the document, in code points and in bytes."""
        if self._encoding != "utf-8":
            return self._first + len(self._text[:at].encode(self._encoding))
        place = bisect_right(self._ends, at_bytes)
        return self._first + at_bytes + (self._shifts[place - 1] if place else 0)


def _replaced(body: bytes) -> tuple[list[int], list[int]]:
    """Ends of replaced stretches in the document, and how far the file is ahead from there on."""
    ends: list[int] = []
    shifts: list[int] = []
    shift = 0
    with _NOTING:
        _found.clear()
        body.decode("utf-8", _HANDLER)
        for start, end in _found:
            ends.append(start - shift + _REPLACEMENT_BYTES)
            shift += end - start - _REPLACEMENT_BYTES
            shifts.append(shift)
    return ends, shifts


_HANDLER = "jeton.noted"
_NOTING = Lock()
_found: list[tuple[int, int]] = []


def _note(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    _found.append((error.start, error.end))
    return "\ufffd", error.end


codecs.register_error(_HANDLER, _note)
