"""A cache of compiled tokenizers in the user's cache folder, so that a file is read once.

An entry is named after the SHA-256 of all that decides what a file loads as: its content and that
of the files beside it that count, the options, the release of Jeton. An index says which entry
belongs to a file whose path, size, inode and times of change are known, so that the file need not
even be read. A file that was changed a moment ago is not trusted to that: until two seconds have
passed, nothing is kept.

Nothing here can make loading fail: what cannot be read, is damaged, or was written by somebody
else is passed over, and what cannot be written is not written.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from jeton._core import Tokenizer, __version__, sha256
from jeton.errors import JetonError
from jeton.formats.names import companion_names
from jeton.registry.finding import cache_dir

__all__ = [
    "CacheChoice",
    "Sources",
    "clear",
    "compiled_dir",
    "contents",
    "load_through",
    "sources_of",
]

CacheChoice: TypeAlias = bool | str | os.PathLike[str]
"""``True``: the user's cache; ``False``: none; else a folder."""

Sources: TypeAlias = list[tuple[str, os.stat_result | None]]
"""Files that decide what a path loads as, with their states; None: it is not there."""

_LAYOUT = "1"
"""Version of the names of entries and of the index."""

_SWITCH = "JETON_COMPILED_CACHE"
_OFF = ("0", "false", "no", "off")

_SUFFIX = ".jetonc"
_NOT_COMPILED = "-"
"""In the index: the file loads as something that has no compiled form."""

_MIN_SOURCE_BYTES = 64 * 1024
"""Smaller vocabularies load in about a millisecond anyway."""

_MAX_SOURCE_BYTES = 128 * 1024 * 1024
"""Larger ones are not hashed; the largest published tokenizer.json that we know has 33 MB."""

_SETTLED_NS = 2_000_000_000
"""Younger files are not kept: their times may not show the next change. File systems count in
steps of up to 2 s (FAT; others in milliseconds)."""

_MAX_FOLDER_FILES = 256
"""Folders of more files are not looked through at each load."""

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".ckpt", ".npz")
"""Files of a model's folder that have nothing to do with its tokenizer."""

_MAX_CACHE_BYTES = 1 << 30
"""What all entries may take; cl100k_base takes 3 MB. Beyond it the least recently used go."""

_MAX_INDEX_ENTRIES = 4096

_TOUCH_AFTER_SECONDS = 24 * 3600.0
"""An entry's time of use is written down once a day."""


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


def load_through(
    path: Path,
    *,
    sources: Sources,
    key: Iterable[object],
    folder: Path,
    load: Callable[[], Tokenizer],
) -> Tokenizer:
    """The tokenizer of a file or folder: from the cache, else loaded and put there.

    Args:
        path: The file or the folder.
        sources: What ``sources_of`` says of it.
        key: What else decides what it loads as: name and options.
        folder: The folder of the cache.
        load: Loads it without the cache.
    """
    state = _state(sources)
    if state is None:
        return load()
    said = "\0".join([_LAYOUT, __version__, path.name, *(repr(part) for part in key)])
    place = os.path.realpath(path)
    pointer = (
        folder
        / "index"
        / sha256("\0".join([said, place, *state]).encode("utf-8", "surrogateescape"))
    )
    entry_name = _read_text(pointer)
    if entry_name == _NOT_COMPILED:
        return load()
    if entry_name is not None:
        tokenizer = _read_entry(folder, entry_name)
        if tokenizer is not None:
            return tokenizer
    if not _is_settled(sources):
        return load()
    entry_name = _content_key(said, sources)
    tokenizer = None if entry_name is None else _read_entry(folder, entry_name)
    if entry_name is None or tokenizer is None:
        tokenizer = load()
        with suppress(OSError):
            if _state(sources_of(path)) != state:
                return tokenizer
            if entry_name is None:
                return tokenizer
            try:
                data = tokenizer.to_compiled()
            except JetonError:
                entry_name = _NOT_COMPILED
            else:
                _write(folder / f"{entry_name}{_SUFFIX}", data)
                _prune(folder, _SUFFIX, max_bytes=_MAX_CACHE_BYTES, max_files=_MAX_INDEX_ENTRIES)
    if entry_name is None:
        return tokenizer
    with suppress(OSError):
        _write(pointer, entry_name.encode("ascii"))
        _prune(pointer.parent, "", max_bytes=_MAX_CACHE_BYTES, max_files=_MAX_INDEX_ENTRIES)
    return tokenizer


def sources_of(path: Path) -> Sources:
    """The files that decide what a path loads as.

    Raises:
        OSError: The folder cannot be read.
    """
    if not path.is_dir():
        # Strings: a path takes longer to make than its file to look for.
        here = str(path)
        beside = here[: len(here) - len(path.name)]
        files = (here, *(beside + name for name in companion_names(path)))
        return [(file, _stat(file)) for file in files]
    sources: Sources = []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.name.lower().endswith(_WEIGHTS) and entry.is_file():
                sources.append((entry.path, entry.stat()))
            if len(sources) > _MAX_FOLDER_FILES:
                return []
    return sources


def contents(folder: Path) -> tuple[int, int]:
    """The number of entries and their bytes."""
    states = [_stat(file) for file in _files(folder) if file.suffix == _SUFFIX]
    return len(states), sum(state.st_size for state in states if state is not None)


def clear(folder: Path) -> tuple[int, int]:
    """Remove every entry; the number of entries and their bytes.

    Raises:
        OSError: The folder, or a file in it, cannot be removed.
    """
    n_entries = n_bytes = 0
    for part in (folder, folder / "index"):
        for file in _files(part):
            size = file.stat().st_size
            file.unlink(missing_ok=True)
            if file.suffix == _SUFFIX:
                n_entries += 1
                n_bytes += size
    return n_entries, n_bytes


def _state(sources: Sources) -> list[str] | None:
    """Names and states as text; None where there is nothing to gain."""
    present = [(name, state) for name, state in sources if state is not None]
    size = sum(state.st_size for _, state in present)
    if not _MIN_SOURCE_BYTES <= size <= _MAX_SOURCE_BYTES:
        return None
    # Of a GGUF model only the beginning is read.
    if any(name.lower().endswith(".gguf") for name, _ in present):
        return None
    return [
        f"{name} {s.st_dev} {s.st_ino} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}"
        for name, s in present
    ]


def _is_settled(sources: Sources) -> bool:
    latest = max(max(s.st_mtime_ns, s.st_ctime_ns) for _, s in sources if s is not None)
    return latest < time.time_ns() - _SETTLED_NS


def _content_key(said: str, sources: Sources) -> str | None:
    """The name of the entry; None where a file cannot be read."""
    parts = [said]
    for name, state in sources:
        if state is None:
            continue
        if not stat.S_ISREG(state.st_mode):
            return None
        try:
            with Path(name).open("rb") as stream:
                data = stream.read(_MAX_SOURCE_BYTES + 1)
        except OSError:
            return None
        parts += [Path(name).name, sha256(data)]
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape"))


def _read_entry(folder: Path, name: str) -> Tokenizer | None:
    if len(name) != 64 or not name.isalnum() or not name.isascii():
        return None
    file = folder / f"{name}{_SUFFIX}"
    try:
        return Tokenizer.from_compiled_file(str(file)) if _is_own(file) else None
    except (JetonError, OSError):
        return None


def _read_text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("ascii", "replace") if _is_own(file) else None
    except OSError:
        return None


def _is_own(file: Path) -> bool:
    """Whether a file is there that nobody else can have written; it is marked as used.

    A folder that others may write to is not made safe by this: it is the user's who chose it.
    """
    state = _stat(file)
    if state is None or not stat.S_ISREG(state.st_mode):
        return False
    if os.name == "posix" and (state.st_uid not in (os.geteuid(), 0) or state.st_mode & 0o022):
        return False
    if time.time() - state.st_mtime > _TOUCH_AFTER_SECONDS:
        with suppress(OSError):
            os.utime(file)
    return True


def _write(file: Path, data: bytes) -> None:
    """Replace a file whole.

    It is not flushed to the disk: an entry that a crash damages is known by its checksum.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    # (The module secrets takes longer to import than a compiled tokenizer to load.)
    temporary = file.parent / f".{os.urandom(8).hex()}.tmp"
    # Others may read it, and only the owner writes it, whatever the umask.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        temporary.replace(file)
    except BaseException:  # Ctrl-C included
        with suppress(OSError):
            temporary.unlink()
        raise


def _prune(folder: Path, suffix: str, *, max_bytes: int, max_files: int) -> None:
    """Remove what was used longest ago, a quarter more than has to go."""
    files = [(file, state) for file in _files(folder) if (state := _stat(file)) is not None]
    files = [(file, state) for file, state in files if file.name.endswith(suffix)]
    n_bytes = sum(state.st_size for _, state in files)
    if n_bytes <= max_bytes and len(files) <= max_files:
        return
    files.sort(key=lambda pair: pair[1].st_mtime_ns)
    n_files = len(files)
    for file, state in files:
        if n_bytes <= max_bytes * 3 // 4 and n_files <= max_files * 3 // 4:
            return
        with suppress(OSError):
            file.unlink()
        n_bytes -= state.st_size
        n_files -= 1


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _stat(file: str | Path) -> os.stat_result | None:
    try:
        return os.stat(file)  # noqa: PTH116
    except OSError:
        return None
