"""Token data sets where they lie: on a disk, or copied from an object store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from jeton.corpus.objects import copy_to, is_address, objects_at

LENGTH_SUFFIXES = (".idx", ".parquet", ".pq", ".arrow")
"""Files of a folder that hold lengths."""

TOKEN_SUFFIXES = (*LENGTH_SUFFIXES, ".bin")
"""Files of a folder that hold lengths or ids."""


@contextmanager
def local_place(path: str | os.PathLike[str], suffixes: tuple[str, ...]) -> Iterator[Path]:
    """The path of a file or folder; for an address that of a copy, which is removed at the end.

    Args:
        path: A path or an address.
        suffixes: Names of the files of a folder end in one of these.

    Raises:
        FileNotFoundError: There is nothing at the address.
        MissingExtraError: An address, and fsspec is not installed.
        OSError: There is no room for the copy.
    """
    address = os.fspath(path)
    if not is_address(address):
        yield Path(path)
        return
    found = list(objects_at(address))
    is_folder = any(was_found for *_, was_found in found)
    if not is_folder:
        # The two files of Megatron's pair go together.
        partner = {".idx": ".bin", ".bin": ".idx"}.get(PurePosixPath(address).suffix)
        if partner in suffixes:
            found += objects_at(str(address).removesuffix(PurePosixPath(address).suffix) + partner)
    with tempfile.TemporaryDirectory(prefix="jeton-", ignore_cleanup_errors=True) as folder:
        copies = []
        for place, *_ in found:
            name = PurePosixPath(place).name
            if is_folder and not name.lower().endswith(suffixes):
                continue
            copies.append(Path(folder) / name)
            copy_to(place, copies[-1])
        yield Path(folder) if is_folder else copies[0]
