"""Bytes of vocabulary files: capped, decompressed, and of model files only the beginning.

The small JSON and text files of a folder: read with a cap, and with errors that name them.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer, decompress, from_gguf, gguf_header_bytes
from jeton._foreign import json_of
from jeton.errors import FormatError, LimitError, RecordError

MAX_FILE_BYTES = 512 * 1024 * 1024
"""Largest vocabulary that is loaded, in bytes, uncompressed; of a model file (GGUF) what its
metadata may take. The largest published vocabulary that we know, a 262,144-token tokenizer.json,
has 33 MB; the rest guards against hostile files."""

SUPPORTED = (
    "tokenizer.json, .tiktoken rank files, SentencePiece .model files, vocab.txt, vocab.json with "
    "merges.txt, tekken.json, GGUF, Claude's JSON, CLIP's merges, RWKV's list and .jeton.json, "
    "each also as .zst or .gz"
)

GGUF_MAGIC = b"GGUF"

LFS_START = b"version https://git-lfs.github.com/spec/"
"""How a file begins that Git LFS has not fetched (git-lfs, docs/spec.md)."""

_FIRST_READ_BYTES = 4 << 20
"""The first bite of a model file; the vocabularies of most models fit."""


def read(file: Path) -> bytes:
    """All bytes of a vocabulary file, decompressed; of a GGUF file only the first ones.

    Raises:
        FormatError: It is no regular file, is empty, or its compression is damaged.
        LimitError: It is larger than ``MAX_FILE_BYTES``, as stored or decompressed.
        OSError: It cannot be read.
    """
    size = regular_size(file)
    with file.open("rb") as stream:
        data = stream.read(min(size, _FIRST_READ_BYTES))
        if data.startswith(GGUF_MAGIC):
            return data
        if size > MAX_FILE_BYTES:
            raise _too_large(file, size)
        # The cap holds also for a file that grows while it is read.
        data += stream.read(MAX_FILE_BYTES + 1 - len(data))
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(file, len(data))
    try:
        data = decompress(data, max_bytes=MAX_FILE_BYTES, path=str(file))
    except RecordError as error:
        # For the core damaged compression is a fault of a corpus; here it is one of a vocabulary.
        raise FormatError(str(error), path=str(file)) from None
    refuse_pointer(data, file)
    if not data or data.isspace():
        raise FormatError(
            f"{file} is empty\nhint: fetch or copy it again; supported are {SUPPORTED}",
            path=str(file),
        )
    return data


def refuse_pointer(data: bytes, file: Path) -> None:
    """Refuse what Git puts in place of a large file that was not fetched.

    Raises:
        FormatError: It is such a pointer.
    """
    if data.startswith(LFS_START):
        raise FormatError(
            f"{file} is a Git LFS pointer: the file itself was never fetched\n"
            "hint: in the clone `git lfs install && git lfs pull`; or `hf download OWNER/MODEL`",
            path=str(file),
        )


def read_beginning(file: Path, n_bytes: int) -> bytes:
    """The first bytes of a regular file, as they are stored.

    Raises:
        FormatError: It is no regular file.
        OSError: It cannot be read.
    """
    regular_size(file)
    with file.open("rb") as stream:
        return stream.read(n_bytes)


def load_gguf(data: bytes, file: Path, *, name: str) -> Tokenizer:
    """The vocabulary of a model file, of which only as much is read as its metadata takes.

    Args:
        data: The first bytes of the file, or all of them, decompressed.
        file: The file.
        name: The tokenizer's name.

    Raises:
        FormatError: It is damaged, or cut off within the metadata.
        LimitError: Its metadata is larger than ``MAX_FILE_BYTES``.
    """
    while True:
        header = gguf_header_bytes(data, path=str(file))
        n_bytes = header.n_bytes
        if header.is_whole and n_bytes <= len(data):
            break
        # Decompressed bytes are all there are.
        if not _is_stored_model(file) or n_bytes > file.stat().st_size:
            break
        if n_bytes > MAX_FILE_BYTES:
            raise LimitError(
                f"{file} has at least {n_bytes:,} bytes of metadata; the limit is "
                f"{MAX_FILE_BYTES:,}\nhint: no model has so much: fetch or copy the file again",
                what="GGUF metadata",
                limit=MAX_FILE_BYTES,
            )
        # Twice as much each time: the metadata is looked through from its start.
        longer = read_beginning(file, min(max(n_bytes, 2 * len(data)), MAX_FILE_BYTES))
        if len(longer) <= len(data):
            break
        data = longer
    return from_gguf(data, name=name, path=str(file))


def _is_stored_model(file: Path) -> bool:
    return read_beginning(file, len(GGUF_MAGIC)) == GGUF_MAGIC


def regular_size(file: Path, *, format: str | None = None) -> int:  # noqa: A002 - as in the error
    """Return the bytes of a regular file; reading a pipe may wait for ever.

    Raises:
        FormatError: It is no regular file; ``format`` is what it should be.
        OSError: It is not there.
    """
    state = file.stat()
    if not stat.S_ISREG(state.st_mode):
        raise FormatError(
            f"{file} is no regular file\nhint: save what it gives to a file first",
            path=str(file),
            format=format,
        )
    return state.st_size


def _too_large(file: Path, size: int) -> LimitError:
    return LimitError(
        f"{file} has {size:,} bytes; a vocabulary may have {MAX_FILE_BYTES:,}",
        what="vocabulary file",
        limit=MAX_FILE_BYTES,
    )


MAX_DOCUMENT_BYTES = 32 << 20
"""Largest tokenizer_config.json, special_tokens_map.json ... that is read, in bytes. The largest
that we know lists a thousand added tokens in 0.2 MB."""


def read_text(file: Path) -> str | None:
    """A file's text; None where there is no such file.

    Raises:
        FormatError: It is not UTF-8, or no regular file.
        LimitError: It is larger than ``MAX_DOCUMENT_BYTES``.
        OSError: It cannot be read.
    """
    try:
        data = read_beginning(file, MAX_DOCUMENT_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) > MAX_DOCUMENT_BYTES:
        raise LimitError(
            f"{file} has more than {MAX_DOCUMENT_BYTES:,} bytes\n"
            "hint: the small files of a tokenizer are smaller: fetch or copy it again",
            what=file.name,
            limit=MAX_DOCUMENT_BYTES,
        )
    refuse_pointer(data, file)
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{file} is not UTF-8 from byte {error.start} on\nhint: fetch or copy it again",
            path=str(file),
            offset=error.start,
        ) from None


def read_settings(file: Path, *, what: str, max_bytes: int) -> str:
    """Return the text of a file that a user wrote, with or without a byte order mark.

    Args:
        file: The file.
        what: Its content in words, for messages: "a map of model names".
        max_bytes: Largest one that is read.

    Raises:
        RecordError: It is larger, or not UTF-8.
        OSError: It cannot be read.
    """
    with file.open("rb") as stream:
        raw = stream.read(max_bytes + 1)
    if len(raw) > max_bytes:
        raise RecordError(f"{file} is too large for {what}", path=str(file))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(f"{file} is not UTF-8 at byte {error.start}", path=str(file)) from None


def read_template(file: Path) -> str:
    """Return a chat template that a user names.

    Raises:
        RecordError: It is not UTF-8, or far too large for one.
        OSError: It cannot be read.
    """
    return read_settings(file, what="a chat template", max_bytes=MAX_DOCUMENT_BYTES)


def read_object(file: Path) -> dict[str, Any] | None:
    """The object that a JSON file holds; None where there is no such file.

    Raises:
        FormatError: It is no JSON, or no object.
        LimitError: It is larger than ``MAX_DOCUMENT_BYTES``.
        OSError: It cannot be read.
    """
    text = read_text(file)
    if text is None:
        return None
    hint = "hint: fetch or copy it again"
    try:
        # Published settings have limits beyond 64 bits (model_max_length of transformers).
        value = json_of(text, any_integer=True)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{file} breaks off or is damaged at line {error.lineno}, column {error.colno}: "
            f"{error.msg}\n{hint}",
            path=str(file),
            line=error.lineno,
        ) from None
    except (ValueError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else "has a huge number"
        raise FormatError(f"{file} {what}\n{hint}", path=str(file)) from None
    if not isinstance(value, dict):
        raise FormatError(
            f"{file} holds a {type(value).__name__}; expected an object\n{hint}", path=str(file)
        )
    return value
