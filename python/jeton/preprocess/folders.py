"""Folders of results: all new files appear in one moment, whatever was there before."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from jeton._files import exchange_names


@contextmanager
def folder_of_files(folder: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Places to write to, which take their names together if all goes well.

    A folder that is new or empty takes its name at once, with all files in it. One that has files
    is put together a second time beside it, from links to the files that stay and from the new
    ones; then the two exchange their names in one step of the system. So a process that is killed
    leaves the folder as it was, or with all files. Where the system cannot exchange names, or the
    folder is the one in which the process works, files take their names one by one, and an error
    gives back those that were there. A folder that may not be written to stays, though another
    could take its name.

    Raises:
        OSError: The folder cannot be made or written to.
    """
    is_new = not folder.exists() or not any(folder.iterdir())
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    real = folder.resolve()
    if not os.access(real, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    above = real.parent if is_new or os.access(real.parent, os.W_OK) else real
    hidden = above / f".jeton-{secrets.token_hex(8)}.tmp"
    is_done = False
    try:
        hidden.mkdir()
        new = hidden / "new"
        new.mkdir()
        places = {name: new / name for name in names}
        for place in places.values():
            place.parent.mkdir(parents=True, exist_ok=True)
        yield places
        if is_new:
            new.chmod(stat.S_IMODE(real.stat().st_mode))
            new.replace(real)
        elif len(names) == 1 or not _exchanged(real, new, places, hidden / "whole"):
            _take_names(real, places, hidden)
        is_done = True
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if not is_done:
            for place in made:
                with suppress(OSError):
                    place.rmdir()


def _exchanged(folder: Path, new: Path, places: Mapping[str, Path], whole: Path) -> bool:
    """True if a folder with the files that stay and the new ones took the name of the folder."""
    here = Path.cwd()
    if whole.parent.parent == folder or here == folder or folder in here.parents:
        return False
    replaced = {os.path.normpath(name) for name in places}
    try:
        _link_tree(folder, whole, replaced)
        for name, place in places.items():
            target = whole / name
            target.parent.mkdir(parents=True, exist_ok=True)
            before = folder / name
            if before.is_file():
                place.chmod(stat.S_IMODE(before.stat().st_mode))
            os.link(place, target)
        exchange_names(whole, folder)
    except OSError:
        # Links or the exchange are not to be had here; nothing has changed.
        shutil.rmtree(whole, ignore_errors=True)
        return False
    _keep_later_files(whole, folder)
    return True


def _keep_later_files(before: Path, folder: Path) -> None:
    """Move files that others wrote while the folder was put together."""
    for root, _, files in os.walk(before):
        place = folder / os.path.relpath(root, before)
        for name in files:
            if not os.path.lexists(place / name):
                with suppress(OSError):
                    place.mkdir(parents=True, exist_ok=True)
                    (Path(root) / name).replace(place / name)


def _link_tree(source: Path, target: Path, replaced: set[str]) -> None:
    """Make a folder that has the same files, but for those that are replaced."""
    target.mkdir()
    for root, folders, files in os.walk(source):
        place = target / os.path.relpath(root, source)
        for name in folders:
            origin = Path(root) / name
            if origin.is_symlink():
                (place / name).symlink_to(origin.readlink())
            else:
                (place / name).mkdir()
        for name in files:
            if os.path.normpath(os.path.relpath(Path(root) / name, source)) not in replaced:
                os.link(Path(root) / name, place / name, follow_symlinks=False)
    for root, folders, _ in os.walk(source, topdown=False):
        for name in [*folders, "."]:
            origin = Path(root) / name
            if not origin.is_symlink():
                shutil.copystat(origin, target / os.path.relpath(origin, source))


def _take_names(folder: Path, places: Mapping[str, Path], hidden: Path) -> None:
    """Move files to their names; after an error, all that was there is there again."""
    taken: list[tuple[Path, Path | None]] = []
    try:
        for number, (name, place) in enumerate(places.items()):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            before = None
            if target.exists():
                before = hidden / f"{number}.before"
                # A link keeps the old file, so that its name always stands for one of the two.
                os.link(target, before)
            taken.append((target, before))
            place.replace(target)
    except OSError:
        for target, before in reversed(taken):
            with suppress(OSError):
                if before is not None:
                    before.replace(target)
                else:
                    target.unlink()
        raise
