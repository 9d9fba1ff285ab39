"""Documents in, data out: what commands share to read files and to write results."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton._plain import counted, strict_json
from jeton.errors import InvalidTextError, UsageError

if TYPE_CHECKING:
    from jeton._core import TextBatch
    from jeton.corpus import DocumentStream

VERDICT = "jeton.verdict"
"""Key of a context's ``meta`` for the exit code that a closed output does not change."""


def set_verdict(code: int) -> None:
    """State the exit code of a command before it prints: it holds if nobody reads to the end."""
    click.get_current_context().meta[VERDICT] = code


def open_stream(
    paths: Sequence[str],
    *,
    field: str,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"] = "stop",
) -> DocumentStream:
    """Open files, folders, globs and standard input (``-``; also where nothing is named).

    Raises:
        EmptyCorpusError: There is no file among them that could be read.
    """
    from jeton.corpus import open_documents, require_text

    stream = open_documents(
        list(paths) or ["-"],
        field=field,
        documents=documents,
        format=None if file_format == "auto" else file_format,
        strict=strict,
        on_bad_record=on_bad_record,
    )
    if not stream.files:
        require_text(n_documents=0, n_bytes=0, skipped=stream.skipped)
    return stream


def text_batch(text: str) -> TextBatch:
    """The one document of ``--text``.

    Bytes of an argument that are not UTF-8 arrive as lone surrogates: always an error, since
    nobody types them.
    """
    from jeton._core import TextBatch

    try:
        return TextBatch.from_texts([text], strict=True)
    except InvalidTextError as error:
        raise InvalidTextError(f"--text: {error}", byte_offset=error.byte_offset) from None


def batches(
    path: str | None,
    *,
    text: str | None = None,
    field: str,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"] = "stop",
) -> Iterator[TextBatch]:
    """Yield the documents of one input, or the one given text.

    Bytes that are not UTF-8 are replaced and counted, and records without a text are left out; both
    are said at the end.

    Raises:
        UsageError: A file and a text were given.
        OSError, CorpusError, EncodeError: The file cannot be read.
    """
    if text is not None:
        if path is not None:
            raise UsageError("give a file or --text, not both")
        yield text_batch(text)
        return
    n_documents = n_replacements = 0
    paths = [] if path is None else [path]
    stream = open_stream(
        paths,
        field=field,
        documents=documents,
        file_format=file_format,
        strict=strict,
        on_bad_record=on_bad_record,
    )
    for _, batch in stream:
        n_documents += batch.n_replaced_documents
        n_replacements += batch.n_replacements
        yield batch
    warn_replaced(path or "-", n_replacements=n_replacements, n_documents=n_documents)
    warn_stream(stream)


def warn_replaced(path: str, *, n_replacements: int, n_documents: int) -> None:
    """Say how much was not UTF-8, where anything was."""
    if n_replacements:
        name = "standard input" if path == "-" else path
        say(
            f"jeton: warning: {name}: {n_replacements:,} stretches of bytes that are not UTF-8 in "
            f"{counted(n_documents, 'document')} were replaced by U+FFFD; --strict makes this an "
            "error"
        )


def warn_replaced_in(n_documents: int, *, source: str = "") -> None:
    """Say in how many documents bytes were not UTF-8, where any were."""
    if n_documents:
        documents = counted(n_documents, "document")
        what = (
            f"{source}: bytes that are not UTF-8 were replaced by U+FFFD in {documents}"
            if source
            else f"bytes that are not UTF-8 in {documents} were replaced by U+FFFD"
        )
        say(f"jeton: warning: {what}; --strict makes this an error")


def warn_stream(stream: DocumentStream) -> None:
    """Say which records of a stream were left out, where any were; to be called at its end."""
    warn_left_out(
        n_null=stream.n_null_documents, n_bad=stream.n_bad_records, first=stream.first_bad_record
    )


def warn_left_out(*, n_null: int, n_bad: int, first: str = "") -> None:
    """Say how many records were left out for a text that is null, or because they are bad."""
    if n_null:
        say(f"jeton: warning: left out: {counted(n_null, 'record')} whose text is null")
    if n_bad:
        cause = f", the first: {first}" if first else ""
        say(f"jeton: warning: left out: {counted(n_bad, 'record')} that cannot be used{cause}")


def allowed(allow_special: tuple[str, ...]) -> tuple[str, ...] | Literal["all"]:
    """Return the tokens that ``--allow-special`` stands for."""
    return "all" if "all" in allow_special else allow_special


def write_bytes(data: bytes) -> None:
    """Write data to standard output, byte for byte."""
    sys.stdout.buffer.write(data)


def write_line(text: str, *, styled: bool = False) -> None:
    """Write lines for people to standard output; nothing of others controls the terminal.

    Args:
        text: The lines.
        styled: True for a line with colours of our own, whose foreign parts are escaped already.
    """
    write_bytes((text if styled else shown(text)).encode("utf-8", "surrogatepass") + b"\n")


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """Write a JSON value and a line end. Characters stay as they are."""
    write_bytes(strict_json(value, indent=indent).encode("utf-8", "surrogatepass") + b"\n")


def say(text: str) -> None:
    """Words for people, on standard error; nothing of others controls the terminal."""
    click.echo(shown(text), err=True)


_COMMAND = re.compile(r"^(\s*)(::|##\[|##vso\[)", re.MULTILINE)

_SPACES = frozenset("\n\u00a0\u202f")
"""Characters that may stand unprinted: the line end, and spaces in numbers with units."""


def shown(text: str) -> str:
    """Return a message as a terminal may get it.

    File names and records that a message quotes may hold control characters, direction controls
    and lone surrogates; each becomes its escape. Line ends stay, but a line that would command a
    service of continuous integration (``::error::``) gets a backslash in front.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(c if c in _SPACES or c.isprintable() else _escape(c) for c in text)
    return _COMMAND.sub(r"\1\\\2", text) if "::" in text or "##" in text else text


def shown_name(name: str) -> str:
    """Return a name, or a cell of a table, as ``shown`` does, in one line."""
    return shown(name.replace("\n", "\\n"))


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else "\ufffd"


def colour_wanted() -> bool:
    """True if standard output is a terminal that wants colours (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()
