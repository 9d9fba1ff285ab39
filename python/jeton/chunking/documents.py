"""``chunk``: the documents of files, divided one by one."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from jeton.chunking.division import By, Division, Markup
from jeton.chunking.results import Chunking
from jeton.corpus import DocumentStream, open_documents
from jeton.corpus.documents import Inputs
from jeton.corpus.places import KeptFields, OnLeftOut
from jeton.errors import MissingExtraError, UsageError
from jeton.registry import TokenizerLike

if TYPE_CHECKING:
    from jeton.chunking.frames import Summarize
    from jeton.chunking.similarity import Embed
    from jeton.progress import OnProgress


# ``chunk_text``: one text, divided.


class ChunkOptions(TypedDict, total=False):
    """Options of ``chunk_text`` that ``chunk`` hands through."""

    by: By
    overlap: int
    overlap_sentences: int
    prefix: str
    template: str | None
    context: bool
    markup: Markup
    language: str | None
    code_language: str | None
    embed: Embed | None
    summarize: Summarize | None
    trim: bool
    add_special_tokens: bool


def chunk_text(
    text: str,
    *,
    tokenizer: TokenizerLike,
    max_tokens: int,
    by: By = "structure",
    overlap: int = 0,
    overlap_sentences: int = 0,
    prefix: str = "",
    template: str | None = None,
    context: bool = False,
    markup: Markup = "auto",
    language: str | None = None,
    code_language: str | None = None,
    embed: Embed | None = None,
    summarize: Summarize | None = None,
    trim: bool = False,
    add_special_tokens: bool = True,
) -> Chunking:
    r"""Divide a text into chunks that fit a token budget.

    The budget is hard: each chunk is counted as it is sent, with prefix, context, template and
    special tokens. Without ``overlap`` the chunks join to the text, unless ``trim`` drops white
    space between them, which is named.

    Args:
        text: The text.
        tokenizer: The tokenizer of the model that reads the chunks: a name, a path or an object.
        max_tokens: Tokens of a chunk as it is sent, at most.
        by: Places to cut at: any token; ends of sentences; blocks of Markdown, HTML or JSON and
            sentences within; definitions of code; or sentences where the subject changes.
        overlap: Tokens that a chunk repeats of the one before, at most; from the beginning of a
            word on, but for ``by="tokens"``.
        overlap_sentences: Parts (sentences, blocks, lines of code) that it repeats instead.
        prefix: Text before each chunk ("passage: ").
        template: Text around each chunk, with ``{text}`` and, before it, ``{context}``.
        context: Puts the headings above a chunk before it, or the imports of code.
        markup: Markup of the text for ``by="structure"``; ``"auto"`` looks at its beginning.
        language: Language whose abbreviations are known (ISO 639-1); None: guessed.
        code_language: Language of ``by="code"``; None: lines and indentation alone are used.
        embed: Embeds sentences for ``by="semantic"``: list of texts to rows of numbers; None: the
            words of neighbouring sentences are compared.
        summarize: Called with context that takes more than half of the budget, and the tokens it
            may have; None: such context is left out.
        trim: Leaves white space at both ends of chunks out, and names it.
        add_special_tokens: Counts the special tokens that the tokenizer puts around a text.

    Returns:
        The chunks, in the order of the text; none for an empty text.

    Raises:
        UsageError: A limit is out of range, or a character exceeds the budget by itself.
        MissingExtraError: The grammar of ``code_language`` is not installed.

    Example:
        >>> found = chunk_text(
        ...     "# Dose\nTake two. Wait an hour.\n\n# Risks\nNone are known.",
        ...     tokenizer="jeton-general-32k",
        ...     max_tokens=16,
        ... )
        >>> [chunk.text for chunk in found.chunks]
        ['# Dose\nTake two. Wait an hour.\n\n', '# Risks\nNone are known.']
        >>> max(chunk.n_tokens for chunk in found.chunks) <= 16
        True
    """
    from jeton.registry import resolve

    division = Division(
        tokenizer=resolve(tokenizer),
        max_tokens=max_tokens,
        by=by,
        overlap=overlap,
        overlap_sentences=overlap_sentences,
        prefix=prefix,
        template=template,
        context=context,
        markup=markup,
        language=language,
        code_language=code_language,
        embed=embed,
        summarize=summarize,
        trim=trim,
        add_special_tokens=add_special_tokens,
    )
    (found,) = division.of([text])
    return found


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
