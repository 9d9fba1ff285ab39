"""Domains of documents by where they come from: their file or their folder."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal, TypeAlias

from jeton.corpus.inputs import InputFile, format_of

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
