"""A cache of compiled tokenizers in the user's cache folder, so that a file is read once.

An entry is named after the SHA-256 of all that decides what a file loads as: its content and that
of the files beside it that count, the options, the release of Jeton. The index
(``jeton.registry.index``) says which entry belongs to a file that is as it was, so that the file
need not even be read. A file that was changed a moment ago is not trusted to that: until two
seconds have passed, nothing is kept.

Nothing here can make loading fail: what cannot be read, is damaged, or was written by somebody
else is passed over, and what cannot be written is not written.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from jeton._core import Tokenizer, sha256
from jeton.errors import JetonError
from jeton.formats.names import companions
from jeton.registry.index import (
    ENTRY_SUFFIX,
    NOT_COMPILED,
    Sources,
    files_of_folder,
    look_up,
    note_of,
    place_of_note,
    read_entry,
    state_of,
)

_MIN_SOURCE_BYTES = 64 * 1024
"""Smaller vocabularies load in about a millisecond anyway."""

_MAX_SOURCE_BYTES = 128 * 1024 * 1024
"""Larger ones are not hashed; the largest published tokenizer.json that we know has 33 MB."""

_SETTLED_NS = 2_000_000_000
"""Younger files are not kept: their times may not show the next change. File systems count in
steps of up to 2 s (FAT; others in milliseconds)."""

_MAX_CACHE_BYTES = 1 << 30
"""Bytes that all entries may take; cl100k_base takes 3 MB. Beyond it the least recently used go."""

_MAX_INDEX_ENTRIES = 4096


def load_through(
    path: Path,
    *,
    sources: Sources,
    said: str,
    folder: Path,
    load: Callable[[], Tokenizer],
) -> Tokenizer:
    """The tokenizer of a file or folder of which no entry is known: loaded and put into the cache.

    Args:
        path: The file or the folder.
        sources: Result of ``sources_of``.
        said: Other facts that decide the load: name and options.
        folder: The folder of the cache.
        load: Loads it without the cache.
    """
    if not _are_kept(sources) or not _is_settled(sources):
        return load()
    known = look_up(path, said=said, folder=folder)
    if known is not None and known[0] == NOT_COMPILED:
        return load()
    entry_name = _content_key(said, sources)
    tokenizer = None if entry_name is None else read_entry(folder, entry_name)
    if entry_name is None or tokenizer is None:
        tokenizer = load()
        with suppress(OSError):
            if note_of("", sources_of(path)) != note_of("", sources):
                return tokenizer
            if entry_name is None:
                return tokenizer
            try:
                data = tokenizer.to_compiled()
            except JetonError:
                entry_name = NOT_COMPILED
            else:
                _write(folder / f"{entry_name}{ENTRY_SUFFIX}", data)
                _prune(
                    folder, ENTRY_SUFFIX, max_bytes=_MAX_CACHE_BYTES, max_files=_MAX_INDEX_ENTRIES
                )
    if entry_name is None:
        return tokenizer
    with suppress(OSError):
        note = Path(place_of_note(folder, path, said))
        _write(note, note_of(entry_name, sources))
        _prune(note.parent, "", max_bytes=_MAX_CACHE_BYTES, max_files=_MAX_INDEX_ENTRIES)
    return tokenizer


def sources_of(path: Path) -> Sources:
    """The files that decide what a path loads as, itself the first; none where they are too many.

    Raises:
        OSError: The folder cannot be read.
    """
    if path.is_dir():
        return files_of_folder(path)
    return [(str(file), state_of(file)) for file in (path, *companions(path))]


def contents(folder: Path) -> tuple[int, int]:
    """The number of entries and their bytes."""
    states = [state_of(file) for file in _files(folder) if file.suffix == ENTRY_SUFFIX]
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
            if file.suffix == ENTRY_SUFFIX:
                n_entries += 1
                n_bytes += size
    return n_entries, n_bytes


def _are_kept(sources: Sources) -> bool:
    """True if there is anything to gain."""
    present = [(name, state) for name, state in sources if state is not None]
    size = sum(state.st_size for _, state in present)
    # Only the beginning of a GGUF model is read.
    is_gguf = any(name.lower().endswith(".gguf") for name, _ in present)
    return _MIN_SOURCE_BYTES <= size <= _MAX_SOURCE_BYTES and not is_gguf


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
    files = [(file, state) for file in _files(folder) if (state := state_of(file)) is not None]
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
