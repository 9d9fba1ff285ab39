"""Bytes of vocabulary files: capped, decompressed, and of model files only the beginning."""

from __future__ import annotations

import stat
from pathlib import Path

from jeton._core import Tokenizer, decompress, from_gguf, gguf_header_bytes
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
