"""Which compiled tokenizer belongs to a file that is as it was: told by states, nothing is read.

For a path and the options that it is loaded with, a note in the index names an entry of the cache,
and each file that decided what it is, with the state that the file had; those too that were not
there. All states must be the same now: the times of change are among them, and cannot be set back.

A file that is known is loaded with nothing but this module: what reads files, and what puts
entries into the cache (``jeton.registry.compiled``), takes longer to import than this to look up.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from jeton._core import Tokenizer, __version__, from_compiled_file, sha256
from jeton.errors import JetonError
from jeton.registry.folders import cache_dir

CacheChoice: TypeAlias = bool | str | os.PathLike[str]
"""``True``: the user's cache; ``False``: none; else a folder."""

Sources: TypeAlias = list[tuple[str, os.stat_result | None]]
"""Files that decide what a path loads as, with their states; None: it is not there."""

ENTRY_SUFFIX = ".jetonc"

NOT_COMPILED = "-"
"""In place of an entry: the file loads as something that has no compiled form."""

_LAYOUT = "3"
"""Version of names and notes, and of the rules by which a file becomes a tokenizer."""

_SWITCH = "JETON_COMPILED_CACHE"
_OFF = ("0", "false", "no", "off")

_ABSENT = "-"

_MAX_FOLDER_FILES = 256
"""Folders of more files are not looked through at each load."""

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".ckpt", ".npz")
"""Files of a model's folder that have nothing to do with its tokenizer."""

_TOUCH_AFTER_SECONDS = 24 * 3600.0
"""A time of use is written down once a day."""


def compiled_dir(choice: CacheChoice) -> Path | None:
    """The folder that a choice means; None: no cache."""
    if choice is False:
        return None
    if choice is True:
        if os.environ.get(_SWITCH, "").strip().lower() in _OFF:
            return None
        try:
            return cache_dir() / "compiled"
        except RuntimeError:  # there is no home folder
            return None
    return Path(choice)


def said_of(path: Path, options: Iterable[object]) -> str:
    """Facts beside the files that decide what a path loads as: release, name, options."""
    return "\0".join([_LAYOUT, __version__, path.name, *(repr(option) for option in options)])


def place_of_note(folder: Path, path: Path, said: str) -> str:
    """Where the note lies that belongs to a path."""
    whole = "\0".join([said, os.path.abspath(path)])  # noqa: PTH100
    return os.path.join(folder, "index", sha256(whole.encode("utf-8", "surrogateescape")))  # noqa: PTH118


def note_of(entry_name: str, sources: Sources) -> bytes:
    """The note that an entry belongs to files in these states."""
    lines = [entry_name]
    for file, state in sources:
        name = os.path.basename(file)  # noqa: PTH119
        if state is None:
            lines.append(f"{_ABSENT} {name}")
        else:
            s = state
            numbers = (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
            lines.append(f"{','.join(map(str, numbers))} {name}")
    return "\0".join(lines).encode("utf-8", "surrogateescape")


def look_up(path: Path, *, said: str, folder: Path) -> tuple[str, Sources] | None:
    """The entry of a path, or ``NOT_COMPILED``, and its files; None: nothing is known of it now."""
    note = _read_own(place_of_note(folder, path, said))
    if note is None:
        return None
    entry_name, *lines = note.decode("utf-8", "surrogateescape").split("\0")
    here = str(path)
    if os.path.isdir(here):  # noqa: PTH112
        try:
            sources = files_of_folder(here)
        except OSError:
            return None
    else:
        # Strings: a path takes longer to make than its file to look for.
        beside = here[: len(here) - len(path.name)]
        files = (beside + line.partition(" ")[2] for line in lines)
        sources = [(file, state_of(file)) for file in files]
    return (entry_name, sources) if note_of(entry_name, sources) == note else None


def read_entry(folder: Path, name: str) -> Tokenizer | None:
    """A tokenizer of the cache; None where it is damaged, or somebody else's."""
    if len(name) != 64 or not name.isalnum() or not name.isascii():
        return None
    file = os.path.join(folder, name + ENTRY_SUFFIX)  # noqa: PTH118
    try:
        return from_compiled_file(file) if _is_own(file) else None
    except (JetonError, OSError):
        return None


def files_of_folder(folder: str | Path) -> Sources:
    """The files of a folder that may decide what it loads as; none where there are too many.

    Raises:
        OSError: The folder cannot be read.
    """
    sources: Sources = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.name.lower().endswith(_WEIGHTS) and entry.is_file():
                sources.append((entry.path, entry.stat()))
            if len(sources) > _MAX_FOLDER_FILES:
                return []
    return sources


def state_of(file: str | Path) -> os.stat_result | None:
    """A file's state; None where it cannot be had."""
    try:
        return os.stat(file)  # noqa: PTH116
    except OSError:
        return None


def _read_own(file: str) -> bytes | None:
    try:
        if not _is_own(file):
            return None
        with open(file, "rb", buffering=0) as stream:  # noqa: PTH123
            return stream.read()
    except OSError:
        return None


def _is_own(file: str) -> bool:
    """True if a file is there that nobody else can have written; it is marked as used.

    A folder that others may write to is not made safe by this: it is the user's who chose it.
    """
    state = state_of(file)
    if state is None or not stat.S_ISREG(state.st_mode):
        return False
    if os.name == "posix" and (state.st_uid not in (os.geteuid(), 0) or state.st_mode & 0o022):
        return False
    if time.time() - state.st_mtime > _TOUCH_AFTER_SECONDS:
        with suppress(OSError):
            os.utime(file)
    return True
