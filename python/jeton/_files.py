"""Write an output file whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["write_whole", "written_whole"]


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Replace a file by ``data``; on any error the old file is as it was, and nothing is left.

    The data goes to a temporary file in the same folder (only there is a rename atomic), is
    flushed to the disk, where a full disk shows, and then takes the file's name. An existing file
    keeps its permissions; a link keeps pointing to the file, which is replaced. What is no regular
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
        mode = target.stat().st_mode
    except OSError:
        mode = None
    try:
        if mode is not None and not stat.S_ISREG(mode):
            target.write_bytes(content)
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

    What is no regular file (``/dev/stdout``, a pipe) is written to directly.

    Raises:
        OSError: Or a subclass that names ``path``: the folder is missing, the disk is full, ...
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except OSError:
        mode = None
    temporary: Path | None = None
    try:
        if mode is not None and not stat.S_ISREG(mode):
            with target.open("wb") as stream:
                yield stream
            return
        temporary = target.parent / f".jeton-{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as stream:
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


def _replace(target: Path, content: bytes, mode: int | None) -> None:
    # A short name of its own: the target's name may be as long as the file system allows.
    temporary = target.parent / f".jeton-{secrets.token_hex(8)}.tmp"
    # 0o666 less the umask, as any newly created file.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:  # Ctrl-C included
        with suppress(OSError):
            temporary.unlink()
        raise
