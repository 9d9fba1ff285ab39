"""Write output files, and folders of them, whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_HERE = -100
"""AT_FDCWD: paths are relative to the folder of the process."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS."""


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Replace a file by ``data``; on any error the old file is as it was, and nothing is left.

    The data goes to a temporary file in the same folder (only there is a rename atomic), is flushed
    to the disk, where a full disk shows, and then takes the file's name. An existing file keeps its
    permissions; a link keeps pointing to the file, which is replaced. A path that is no regular
    file (``/dev/stdout``, a pipe) is written to directly.

    Args:
        path: The file to write; its folder must exist.
        data: Bytes, or text that is written as UTF-8 with line ends as they are.

    Raises:
        OSError: Or a subclass that names ``path``: the folder is missing, the disk is full, ...
        UnicodeEncodeError: The text holds lone surrogates; nothing was touched.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    target = Path(os.path.realpath(path))
    try:
        # Not of the target: what a link to a pipe resolves to cannot be looked for.
        mode = Path(path).stat().st_mode
    except OSError:
        mode = None
    try:
        if mode is not None and not stat.S_ISREG(mode):
            Path(path).write_bytes(content)
            return
        _replace(target, content, None if mode is None else stat.S_IMODE(mode))
    except OSError as error:
        if error.errno is None:
            raise
        # The temporary file's name would tell the user nothing.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write piece by piece, which takes its name only if all goes well.

    It may be read again while it is written. A path that is no regular file (``/dev/stdout``, a
    pipe) is written to directly.

    Raises:
        OSError: Or a subclass that names ``path``: the folder is missing, the disk is full, ...
    """
    target = Path(os.path.realpath(path))
    try:
        # Not of the target: what a link to a pipe resolves to cannot be looked for.
        mode = Path(path).stat().st_mode
    except OSError:
        mode = None
    temporary: Path | None = None
    try:
        if mode is not None and not stat.S_ISREG(mode):
            with Path(path).open("wb") as stream:
                yield stream
            return
        temporary = target.parent / f".jeton-{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
        temporary = None
    except OSError as error:
        if error.errno is None or (error.filename not in (None, os.fspath(temporary or target))):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def exchange_names(first: Path, second: Path) -> None:
    """Let two files or folders exchange their names in one step of the system.

    Raises:
        OSError: The system or the file system cannot; nothing has changed.
    """
    names = os.fsencode(first), os.fsencode(second)
    library: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    if hasattr(library, "renameat2"):
        failed = library.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(names[0], names[1], _EXCHANGE)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(first))
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(first))


def write_together(files: Mapping[Path, bytes], *, last: Path | None = None) -> None:
    """Write the files of one thing: all of them or none.

    All are written to a temporary folder beside their places and flushed to the disk, where a full
    disk shows. Only then does each take its place. Other files in the folder stay as they are.
    Folders that were made for files that could not be written are removed.

    Args:
        files: The bytes to write, by path; missing folders are made.
        last: The file that takes its place last: the one that makes the others count.

    Raises:
        OSError: Or a subclass that names a file: the disk is full, a folder may not be written ...
    """
    order = sorted(files, key=lambda path: path == last)
    if len(order) == 1:
        with _made_folders([order[0].parent]):
            write_whole(order[0], files[order[0]])
        return
    if not order:
        return
    with _made_folders([path.parent for path in order]):
        written: list[tuple[Path, Path, Path]] = []
        folders: dict[Path, Path] = {}
        current = order[0]
        try:
            for current in order:
                target = Path(os.path.realpath(current))
                if target.exists() and not target.is_file():
                    # A device has no place to take; what it is sent cannot be taken back.
                    target.write_bytes(files[current])
                    continue
                if target.parent not in folders:
                    folder = target.parent / f".jeton-{secrets.token_hex(8)}.tmp"
                    folder.mkdir()
                    folders[target.parent] = folder
                temporary = folders[target.parent] / str(len(written))
                _write_new(temporary, files[current], _mode(target))
                written.append((temporary, target, current))
            for temporary, target, current in written:  # noqa: B007 - the error names it
                temporary.replace(target)
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, os.fspath(current)) from error
        finally:
            for folder in folders.values():
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _made_folders(wanted: list[Path]) -> Iterator[None]:
    """Makes folders; takes away those that it made if what they are for fails."""
    made: list[Path] = []
    try:
        for folder in wanted:
            missing = [place for place in (folder, *folder.parents) if not place.exists()]
            for place in reversed(missing):
                place.mkdir(exist_ok=True)
                made.append(place)
        yield
    except BaseException:
        for place in reversed(made):
            with suppress(OSError):
                place.rmdir()
        raise


def _mode(target: Path) -> int | None:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        return None


def _write_new(path: Path, content: bytes, mode: int | None) -> None:
    """Writes a new file and waits until the disk has it."""
    # 0o666 less the umask, as any newly created file.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    if mode is not None:
        path.chmod(mode)


def _replace(target: Path, content: bytes, mode: int | None) -> None:
    # A short name of its own: the target's name may be as long as the file system allows.
    temporary = target.parent / f".jeton-{secrets.token_hex(8)}.tmp"
    try:
        _write_new(temporary, content, mode)
        temporary.replace(target)
    except BaseException:  # Ctrl-C included
        with suppress(OSError):
            temporary.unlink()
        raise
