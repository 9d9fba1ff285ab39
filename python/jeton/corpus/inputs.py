"""Which files are meant: paths, folders, globs and standard input become a list of files.

The list is in the order given, folders and globs in sorted order, each file once. It depends on
nothing but the names and the files themselves, so every machine reads the same documents in the
same order. Cost: one ``stat`` for each file, and for those found in folders their first 8 KiB.

Domains of documents by where they come from: their file or their folder.
"""

from __future__ import annotations

import difflib
import errno
import glob
import os
import re
import stat
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any, Literal, TypeAlias

from jeton._core import DocumentReader
from jeton.corpus.content import SNIFF_BYTES, Content, look_at
from jeton.corpus.objects import is_address, named_in_errors, objects_at, read_range
from jeton.errors import JetonError, JetonWarning, LimitError, RecordError, UsageError

DomainsBy: TypeAlias = Literal["file", "folder"]

_COMPRESSIONS = (".zst", ".gz")


def domain_of_file(file: InputFile, by: DomainsBy) -> str:
    """The name of a file without its suffixes, or the name of the folder that it is in.

    ``logs/support/2026-11.jsonl.zst`` is ``2026-11`` by file and ``support`` by folder. Files of
    the same name in different folders are one domain.
    """
    path = PurePath(file.path)
    if by == "folder":
        return path.parent.name or "."
    name = path.name
    for suffix in _COMPRESSIONS:
        name = name.removesuffix(suffix)
    stem = PurePath(name).stem if format_of(name) != "text" or "." in name[1:] else name
    return stem or name


Format: TypeAlias = Literal["text", "jsonl", "json", "csv", "parquet", "memory"]

STANDARD_INPUT = "-"

MAX_NAME_CHARS = 250
"""A longer name that no file has is told as a text: most file systems end a name at 255 bytes."""

_SNIFFED_NAME_CHARS = 60
"""Characters at the end of an object's name by which its kind is known."""

SHOWN_CHARS = 80
"""Characters of an over-long name that messages show."""

_TEXTS_HINT = "to pass texts, pass an iterator: iter(texts)"

_COMPRESSION_SUFFIXES = (".zst", ".gz")
_FORMAT_BY_SUFFIX: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
}


@dataclass(frozen=True, slots=True)
class InputFile:
    """One source of documents.

    Attributes:
        path: As it can be opened; ``"-"`` is standard input, ``"<texts>"`` an iterable.
        format: How it holds documents; ``"memory"`` for texts given as Python objects.
        n_bytes: Its size as stored; None where that is not known before reading (a pipe).
        skipped_because: Why it is not read (a binary file found in a folder); empty: it is read.
        encoding: ``"utf-16"`` or ``"utf-32"`` where its byte order mark says so; empty: UTF-8.
        was_found: True if it was found in a folder or by a glob, false if it was named.
        list_field: Field of one JSON object that holds a list of records; empty: no such file.
    """

    path: str
    format: Format
    n_bytes: int | None = None
    skipped_because: str = ""
    encoding: str = ""
    was_found: bool = False
    list_field: str = ""


def expand_inputs(
    inputs: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    format: Format | None = None,  # noqa: A002 - the field's name in the documentation
) -> list[InputFile]:
    """Find the files that are meant.

    An address (``s3://...``) stands for an object, or for those below it, where fsspec is
    installed. A folder stands for all files below it, except hidden ones. A name that does not
    exist and has ``*``, ``?`` or ``[`` is a glob, in which ``**`` stands for any number of folders.
    Links are followed, each folder once. Files of folders and globs whose first 8 KiB
    (decompressed) hold a NUL byte, or say that they are no text, are listed with
    ``skipped_because``. A file named outright is read even with NUL bytes; one that is known to be
    no text is an error.

    Args:
        inputs: Files, folders, globs, addresses, or ``"-"`` for standard input.
        format: Overrides the format that the suffix tells (``.jsonl``, ``.ndjson``, ``.parquet``,
            ``.pq``, ``.csv``, ``.tsv``, each also with ``.zst`` or ``.gz`` behind; ``.json`` where
            it holds records; anything else is text).

    Raises:
        RecordError: A file named outright is no text: an archive, a picture, counts ...
        FileNotFoundError: Nothing is there; the nearest existing name is offered, or, where the
            name is a text, how texts are passed.
        OSError: It cannot be looked for (a folder that may not be searched, links in a ring).
    """
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    files: dict[str, InputFile] = {}
    for item in inputs:
        for file in _expand(os.fspath(item)):
            is_place = file.path != STANDARD_INPUT and not is_address(file.path)
            identity = os.path.realpath(file.path) if is_place else file.path
            # A file named outright after its folder is meant to be read after all.
            if identity not in files or (
                files[identity].skipped_because and not file.skipped_because
            ):
                files[identity] = file if format is None else replace(file, format=format)
    return list(files.values())


def warn_of_lists(files: Iterable[InputFile]) -> None:
    """Warn of JSON objects that are read as one text although they hold a list of records."""
    for file in files:
        if file.list_field and file.format == "text":
            warnings.warn(
                f"{file.path} is read as text: its records are in the list {file.list_field!r}\n"
                f"hint: jq -c '.{file.list_field}[]' {Path(file.path).name} > records.jsonl "
                "makes them records",
                JetonWarning,
                stacklevel=3,
            )


def files_of(paths: Iterable[Any], *, format: Format | None) -> list[InputFile]:  # noqa: A002
    """The files of paths, folders, globs and ``InputFile``, in order.

    Raises:
        FileNotFoundError: An input is missing.
        UsageError: One of the inputs is no path, or Parquet is wanted from standard input.
    """
    files: list[InputFile] = []
    plain: list[str | os.PathLike[str]] = []

    def expand() -> None:
        # Neighbours go together, so that files named twice are found.
        files.extend(expand_inputs(plain, format=format))
        plain.clear()

    for path in paths:
        if isinstance(path, InputFile):
            expand()
            files.append(path)
        elif isinstance(path, str | os.PathLike):
            plain.append(path)
        else:
            raise UsageError(
                f"one of the inputs is of type {type(path).__name__} beside paths; "
                "expected only paths\nhint: to pass texts, pass an iterator: iter(texts)"
            )
    expand()
    if any(file.format == "parquet" and file.path == STANDARD_INPUT for file in files):
        raise UsageError(
            "Parquet cannot be read from standard input: its index is at the end of the file\n"
            "hint: give the path of a file"
        )
    return files


def format_of(path: str) -> Format:
    """The format that a name tells, compression aside."""
    name = path.lower()
    for suffix in _COMPRESSION_SUFFIXES:
        name = name.removesuffix(suffix)
    return _FORMAT_BY_SUFFIX.get(os.path.splitext(name)[1], "text")  # noqa: PTH122 - a plain string


_NO_SUCH_NAME = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL)
"""Error numbers of a look at a file where none of that name can be."""


def _expand(name: str) -> Iterator[InputFile]:
    if name == STANDARD_INPUT:
        yield InputFile(STANDARD_INPUT, "text")
        return
    if is_address(name):
        for address, n_bytes, was_found in objects_at(name):
            yield _remote(address, n_bytes, was_found=was_found)
        return
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_SUCH_NAME:
            raise _cannot_look(name, error) from None
        # ValueError: it holds a NUL, or half a character.
        if isinstance(error, ValueError) or _is_text(name):
            raise _missing(name, f"a list of strings is read as paths; {_TEXTS_HINT}") from None
        if not glob.has_magic(name):
            raise _missing(name, _nearest(path)) from None
        yield from _expand_glob(name)
        return
    if stat.S_ISDIR(mode):
        yield from _walk(path, visited=set())
    else:
        yield _named(path)


def _expand_glob(pattern: str) -> Iterator[InputFile]:
    n_found = 0
    visited: set[tuple[int, int]] = set()
    for path in _glob(pattern):
        n_found += 1
        if path.is_dir():
            yield from _walk(path, visited=visited)
        else:
            yield _found(path)
    if not n_found:
        error = FileNotFoundError(
            f"no file matches {pattern!r}\n"
            "hint: `*` stands for part of a name, `**` for any number of folders"
        )
        error.errno = errno.ENOENT
        raise error


def _glob(pattern: str) -> Iterator[Path]:
    """Paths that match, sorted folder by folder.

    Not ``glob.glob``: until Python 3.13 it follows a link that leads back to its own folder some
    40 levels deep, and the number of paths doubles with every further link.
    """
    anchor = Path(pattern).anchor
    parts = [part for part in re.split(r"[/\\]" if os.sep == "\\" else "/", pattern) if part]
    if anchor and os.sep == "\\":
        parts = parts[1:]
    yield from _match(Path(anchor), tuple(parts), visited=set())


def _match(
    folder: Path, parts: tuple[str, ...], *, visited: set[tuple[int, int, int]]
) -> Iterator[Path]:
    # A list of what is still to be looked at, not calls: folders may lie deeper than calls may.
    waiting = [(folder, parts)]
    while waiting:
        place, left = waiting.pop()
        if not left:
            yield place
            continue
        part, rest = left[0], left[1:]
        found: list[tuple[Path, tuple[str, ...]]] = []
        if part == "**":
            status = place.stat()
            # One visit for each place in the pattern keeps linked folders from multiplying.
            key = (status.st_dev, status.st_ino, len(left))
            if key in visited:
                continue
            visited.add(key)
            found.append((place, rest))
            found += [
                (child, left)
                for child in _children(place)
                if not child.name.startswith(".") and child.is_dir()
            ]
        elif glob.has_magic(part):
            for child in _children(place):
                is_shown = part.startswith(".") or not child.name.startswith(".")
                if is_shown and fnmatchcase(child.name, part) and (not rest or child.is_dir()):
                    found.append((child, rest))
        elif (place / part).exists():
            found.append((place / part, rest))
        waiting += reversed(found)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def _walk(folder: Path, *, visited: set[tuple[int, int]]) -> Iterator[InputFile]:
    # A list of what is still to be looked at, not calls: folders may lie deeper than calls may.
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        if not place.is_dir():
            yield _found(place)
            continue
        status = place.stat()
        if (status.st_dev, status.st_ino) in visited:
            continue
        visited.add((status.st_dev, status.st_ino))
        shown = [child for child in _children(place) if not child.name.startswith(".")]
        waiting += reversed(shown)


_SMALL_BYTES = 1 << 20
"""Compressed files up to this size are unpacked once before they are read."""


def _refuse_bomb(path: Path, status: os.stat_result) -> None:
    """Refuse a small file that unpacks to far more, before any reader makes records of it.

    The limit is the core's, which every reader meets in the end; some make millions of records
    first, which takes minutes.

    Raises:
        LimitError: It unpacks to more than the limit.
    """
    if status.st_size > _SMALL_BYTES or not path.name.lower().endswith(_COMPRESSION_SUFFIXES):
        return
    try:
        for _ in DocumentReader(str(path), format="text"):
            pass
    except LimitError:
        raise
    except (JetonError, OSError):
        return  # reading it says what is wrong


def _path_of(path: Path) -> str:
    """The path as it can be opened: a file ``-`` is no standard input."""
    return f"./{path}" if str(path) == STANDARD_INPUT else str(path)


def _named(path: Path) -> InputFile:
    """A file that was named outright: it is read, unless it is known to be no text."""
    status = path.stat()
    name_format = format_of(str(path))
    if not stat.S_ISREG(status.st_mode):
        return InputFile(_path_of(path), name_format, None)
    if name_format == "parquet":
        return InputFile(_path_of(path), name_format, status.st_size)
    content = look_at(path)
    if content.kind:
        raise RecordError(
            f"{path} is {content.kind}; expected documents or logs\nhint: {content.hint}",
            path=str(path),
        )
    _refuse_bomb(path, status)
    return InputFile(
        _path_of(path),
        _by_content(name_format, content),
        status.st_size,
        encoding=content.encoding,
        list_field=content.list_field,
    )


def _found(path: Path) -> InputFile:
    """A file that was found in a folder: it is read if it looks like documents."""
    name_format = format_of(str(path))

    def skipped(reason: str, n_bytes: int | None = None) -> InputFile:
        return InputFile(_path_of(path), name_format, n_bytes, reason, was_found=True)

    try:
        str(path).encode()
    except UnicodeEncodeError:
        return skipped("its name is not UTF-8; rename it")
    try:
        status = path.stat()
    except OSError:
        return skipped("the link leads nowhere")
    if not stat.S_ISREG(status.st_mode):
        return skipped("not a regular file")
    if name_format == "parquet":
        return InputFile(_path_of(path), name_format, status.st_size, was_found=True)
    content = look_at(path)
    if content.kind:
        return skipped(f"it is {content.kind}", status.st_size)
    if content.is_binary:
        return skipped("binary (it holds NUL bytes)", status.st_size)
    _refuse_bomb(path, status)
    return InputFile(
        _path_of(path),
        _by_content(name_format, content),
        status.st_size,
        encoding=content.encoding,
        was_found=True,
    )


def _remote(address: str, n_bytes: int | None, *, was_found: bool) -> InputFile:
    """An object of a store; where its name tells little, its first bytes are looked at."""
    name_format = format_of(address)
    if name_format != "text":
        return InputFile(address, name_format, n_bytes, was_found=was_found)
    with tempfile.TemporaryDirectory(prefix="jeton-") as folder:
        head = Path(folder) / Path(address).name[-_SNIFFED_NAME_CHARS:]
        head.write_bytes(read_range(address, 0, SNIFF_BYTES))
        with named_in_errors(str(head), address):
            file = (_found if was_found else _named)(head)
    return replace(file, path=address, n_bytes=n_bytes)


def _by_content(by_name: Format, content: Content) -> Format:
    """The format of a file whose name may say less than its first bytes."""
    if by_name == "text" and content.records:
        return "json" if content.records == "array" else "jsonl"
    return by_name


def _is_text(name: str) -> bool:
    """True if nobody calls a file so."""
    return len(name) > MAX_NAME_CHARS or "\n" in name or "\r" in name


def _shown(name: str) -> str:
    """A name as one line that is not endless."""
    if len(name) <= MAX_NAME_CHARS:
        return repr(name)
    head, tail = SHOWN_CHARS * 3 // 4, SHOWN_CHARS // 4
    return f"{name[:head] + '...' + name[-tail:]!r} ({len(name):,} characters)"


def _cannot_look(name: str, error: OSError) -> OSError:
    """Return the error in one clear line."""
    reason = (error.strerror or type(error).__name__).lower()
    # Not `filename`: with it the class would compose a message of its own.
    explained = type(error)(f"cannot look for {_shown(name)}: {reason}")
    explained.errno = error.errno
    return explained


def _missing(name: str, hint: str) -> FileNotFoundError:
    error = FileNotFoundError(f"there is no file {_shown(name)}\nhint: {hint}")
    # Not `filename`: with it the class would compose a message of its own.
    error.errno = errno.ENOENT
    return error


def _nearest(path: Path) -> str:
    """The nearest name that there is, as a hint."""
    parent = path.parent
    if not parent.is_dir():
        return f"there is no folder {str(parent)!r} either"
    asks_hidden = path.name.startswith(".")
    names = [child.name for child in _children(parent)]
    siblings = [name for name in names if asks_hidden or not name.startswith(".")]
    # A name with another suffix is the most frequent mistake.
    stem = path.name.split(".")[0]
    nearest = [name for name in siblings if stem and name.split(".")[0] == stem]
    if len(nearest) != 1:
        nearest = difflib.get_close_matches(path.name, siblings, n=1, cutoff=0.5) or nearest
    if nearest:
        hint = f"did you mean {str(parent / nearest[0])!r}?"
        is_word = "." not in path.name and len(path.parts) == 1
        return f"{hint} {_TEXTS_HINT}" if is_word else hint
    hint = f"the folder {str(parent.resolve())!r} has no name like it"
    is_word = path.suffix == "" and len(path.parts) == 1
    return f"{hint}; {_TEXTS_HINT}" if is_word or any(c.isspace() for c in path.name) else hint
