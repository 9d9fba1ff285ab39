"""The small JSON and text files of a folder: read with a cap, and with errors that name them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton.errors import FormatError, LimitError, RecordError
from jeton.formats.reading import read_beginning, refuse_pointer

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
