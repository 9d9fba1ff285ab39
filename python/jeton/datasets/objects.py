"""Inputs in object stores, by their addresses (``s3://...``), where fsspec is installed.

A range of lines is read as bytes. Any other object is copied to a temporary file while it is read,
since its reader wants a file; the copy is gone with the unit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jeton.corpus import Format, InputFile
from jeton.corpus.inputs import files_of, format_of
from jeton.errors import MissingExtraError, UsageError

__all__ = [
    "FileState",
    "find_files",
    "is_address",
    "local_copy",
    "local_folder",
    "read_range",
    "state_of",
]

FileState = tuple[int, int | str]
"""Size in bytes, and time of the last change (or the store's own tag)."""

COPY_BYTES = 4 << 20


def is_address(path: str) -> bool:
    """True if a path names a file system of fsspec."""
    head, mark, _ = path.partition("://")
    return bool(mark) and head.replace("+", "").isalnum()


def local_folder(output: str | os.PathLike[str]) -> Path:
    """Return the folder of an output.

    Raises:
        UsageError: It is the address of an object store.
    """
    if is_address(os.fspath(output)):
        raise UsageError(
            f"the output {os.fspath(output)} is an address; expected a local folder\n"
            "hint: write to a folder, and copy it when manifest.json is there; the copy is whole "
            "if --verify finds no fault"
        )
    return Path(output)


def find_files(
    inputs: Sequence[str | os.PathLike[str] | InputFile],
    file_format: Format | None,
) -> list[InputFile]:
    """Return the files of paths, folders, globs and addresses, in order.

    Raises:
        FileNotFoundError: An input is missing.
        MissingExtraError: An address, and fsspec is not installed.
        UsageError: fsspec does not know the kind of address.
    """
    files: list[InputFile] = []
    local: list[Any] = []

    def expand() -> None:
        files.extend(files_of(local, format=file_format))
        local.clear()

    for item in inputs:
        if isinstance(item, str) and is_address(item):
            expand()
            files.extend(_remote_files(item, file_format))
        else:
            local.append(item)
    expand()
    return files


def _filesystem(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(
            f"reading {address.partition('://')[0]}://", extra="remote"
        ) from error
    try:
        fs, path = fsspec.core.url_to_fs(address)
    except (ValueError, ImportError) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(f"{address}: fsspec cannot open it: {first_line}") from error
    return fs, str(path)


def _remote_files(address: str, file_format: Format | None) -> Iterator[InputFile]:
    fs, path = _filesystem(address)
    scheme = address.partition("://")[0]
    if any(mark in path for mark in "*?["):
        found = sorted(name for name in fs.glob(path) if not fs.isdir(name))
    elif fs.isdir(path):
        found = sorted(fs.find(path))
    else:
        found = [path] if fs.exists(path) else []
    shown = [name for name in found if not Path(name).name.startswith(".")]
    if not shown:
        raise FileNotFoundError(f"there is nothing at {address!r}\nhint: look at the spelling")
    for name in shown:
        size = fs.size(name)
        yield InputFile(
            f"{scheme}://{name.removeprefix('/') if scheme != 'file' else name}",
            file_format or format_of(name),
            None if size is None else int(size),
            was_found=name != path,
        )


def state_of(path: str) -> FileState:
    """Return size and time of a file, by which a change shows.

    Raises:
        OSError: It is gone, or cannot be looked at.
    """
    if not is_address(path):
        status = Path(path).stat()
        return status.st_size, status.st_mtime_ns
    fs, name = _filesystem(path)
    info = fs.info(name)
    tag = info.get("ETag") or info.get("etag") or info.get("mtime") or info.get("created") or ""
    return int(info.get("size") or 0), str(tag)


def read_range(path: str, start: int, end: int) -> bytes:
    """Return bytes of a file; fewer where it ends earlier.

    Raises:
        OSError: It cannot be read.
    """
    if is_address(path):
        fs, name = _filesystem(path)
        size = fs.size(name)
        end = end if size is None else min(end, int(size))
        return bytes(fs.cat_file(name, start=start, end=end)) if start < end else b""
    with Path(path).open("rb") as stream:
        stream.seek(start)
        return stream.read(end - start)


@contextmanager
def local_copy(path: str) -> Iterator[str]:
    """A path by which a file can be opened; the copy of an object is removed at the end.

    Raises:
        OSError: It cannot be read, or there is no room for the copy.
    """
    if not is_address(path):
        yield path
        return
    fs, name = _filesystem(path)
    suffix = "".join(Path(name).suffixes[-2:])
    descriptor, copy = tempfile.mkstemp(suffix=suffix, prefix="jeton-")
    try:
        with os.fdopen(descriptor, "wb") as target, fs.open(name, "rb") as source:
            shutil.copyfileobj(source, target, COPY_BYTES)
        yield copy
    finally:
        Path(copy).unlink(missing_ok=True)
