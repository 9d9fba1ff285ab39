"""Inputs in object stores, by their addresses (``s3://...``), where fsspec is installed.

A range of lines is read as bytes. Any other object is copied to a temporary file while it is read,
since its reader wants a file; the copy is gone with the unit.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jeton.errors import CorpusError, JetonError, MissingExtraError, RecordError, UsageError

FileState = tuple[int, int | str]
"""Size in bytes, and time of the last change (or the store's own tag)."""

COPY_BYTES = 4 << 20


def is_address(path: str) -> bool:
    """True if a path names a file system of fsspec."""
    head, mark, _ = path.partition("://")
    return bool(mark) and head.replace("+", "").isalnum()


def local_folder(output: str | os.PathLike[str]) -> Path:
    """Return the place of an output.

    Raises:
        UsageError: It is the address of an object store.
    """
    if is_address(os.fspath(output)):
        raise UsageError(
            f"the output {os.fspath(output)} is an address; expected a local folder\n"
            "hint: write to a folder, and copy it when the command has ended"
        )
    return Path(output)


def objects_at(address: str) -> Iterator[tuple[str, int | None, bool]]:
    """Yield (address, bytes, was found) of an object, or of those of a folder or glob, in order.

    Raises:
        FileNotFoundError: There is nothing.
        MissingExtraError: fsspec is not installed.
        UsageError: fsspec does not know the kind of address.
        CorpusError: The store refuses.
    """
    fs, path = _filesystem(address)
    scheme = address.partition("://")[0]
    with _explained(address):
        if any(mark in path for mark in "*?["):
            found = sorted(name for name in fs.glob(path) if not fs.isdir(name))
        elif fs.isdir(path):
            found = sorted(fs.find(path))
        else:
            found = [path] if fs.exists(path) else []
        shown = [name for name in found if not Path(name).name.startswith(".")]
        sizes = [fs.size(name) for name in shown]
    if not shown:
        raise FileNotFoundError(f"there is nothing at {address!r}\nhint: look at the spelling")
    for name, size in zip(shown, sizes, strict=True):
        # The path of a local file begins with its slash.
        rest = name if scheme in ("file", "local") else name.removeprefix("/")
        yield f"{scheme}://{rest}", None if size is None else int(size), name != path


def _filesystem(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(
            f"reading {address.partition('://')[0]}://", extra="remote"
        ) from error
    if "::" in address:
        raise UsageError(
            f"{address}: addresses within addresses are not read\nhint: copy the object first"
        )
    try:
        fs, path = fsspec.core.url_to_fs(address)
    except (ValueError, ImportError, TypeError) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"{address}: fsspec cannot open it: {first_line}\n"
            "hint: look at the spelling; most stores need a package of their own beside fsspec"
        ) from error
    return fs, str(path)


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Errors of a store's own library become errors of the address."""
    try:
        yield
    except (OSError, JetonError, MemoryError):
        raise
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise CorpusError(
            f"{address}: the store cannot be read: {type(error).__name__}: {first_line}\n"
            "hint: look at the credentials and the address"
        ) from error


def state_of(path: str) -> FileState:
    """Return size and time of a file, by which a change shows.

    Raises:
        OSError: It is gone, or cannot be looked at.
    """
    if not is_address(path):
        status = Path(path).stat()
        return status.st_size, status.st_mtime_ns
    fs, name = _filesystem(path)
    with _explained(path):
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
        with _explained(path):
            size = fs.size(name)
            end = end if size is None else min(end, int(size))
            return bytes(fs.cat_file(name, start=start, end=end)) if start < end else b""
    with Path(path).open("rb") as stream:
        stream.seek(start)
        return stream.read(end - start)


def copy_to(address: str, target: Path) -> None:
    """Copy an object to a file.

    Raises:
        OSError: It cannot be read, or there is no room for the copy.
    """
    fs, name = _filesystem(address)
    with _explained(address), target.open("wb") as stream, fs.open(name, "rb") as source:
        try:
            shutil.copyfileobj(source, stream, COPY_BYTES)
            stream.flush()
        except OSError as error:
            # The disk of temporary files is full, not that of the output.
            if error.errno == errno.ENOSPC and error.filename is None:
                error.filename = str(target)
            raise


@contextmanager
def local_copy(path: str) -> Iterator[str]:
    """A path by which a file can be opened; the copy of an object is removed at the end.

    Errors within name the object instead of its copy.

    Raises:
        OSError: It cannot be read, or there is no room for the copy.
    """
    if not is_address(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="jeton-") as folder:
        # Compression and formats of tables are known by these.
        copy = str(Path(folder) / f"object{''.join(Path(path).suffixes[-2:])[-32:]}")
        copy_to(path, Path(copy))
        with named_in_errors(copy, path):
            yield copy


@contextmanager
def named_in_errors(path: str, real: str) -> Iterator[None]:
    """Errors name the file that was meant."""
    try:
        yield
    except RecordError as error:
        message = str(error).replace(path, real)
        raise RecordError(message, path=real, line=error.line) from None
    except JetonError as error:
        error.args = (str(error).replace(path, real), *error.args[1:])
        raise
