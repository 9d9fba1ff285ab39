"""Where a name's file lies: the folders that are searched, and the files in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from jeton.formats.names import name_of_file
from jeton.registry.folders import bundled_dir, cache_dir, vocab_dir

Place: TypeAlias = Literal["bundled", "vocab-dir", "cache", "published"]

_BUNDLED_SUFFIX = ".jeton.json.zst"
_VERSIONED = r"(?P<base>.+)-v(?P<version>[0-9]+)$"

_SUPERWORD_VERSIONS = frozenset({2})
"""Bundled versions with tokens of several words, which are had by their whole name only: they need
fewest tokens, but a name should not begin to mean other words, longer encoding and seams at the
ends of prompts (docs/reference/vocabularies.md has the figures)."""

# Where one folder has several files of one name, the first of these is taken: those that say
# everything about a tokenizer come before those that need a lookup.
_SUFFIXES = (
    ".jeton.json",
    ".tiktoken",
    ".json",
    ".recon.json",
    ".model",
    ".gguf",
    ".vocab.json",
    ".merges.txt",
    ".vocab.txt",
    ".txt",
)
LISTED_SUFFIXES = tuple(s for s in _SUFFIXES if s not in (".merges.txt", ".txt"))
"""A listing leaves out the second half of a pair, and text files, most of which are something else;
they are found by name all the same."""


def find(name: str) -> tuple[Place, Path] | None:
    """The place and file of a name that is at hand; None where there is none.

    Capitals do not count, nor whether words are joined by ``-`` or ``_``, unless one name is the
    very one, or several are alike.
    """
    found = _find(name)
    if found is not None:
        return found
    alike = _spelled_alike(name)
    return None if alike is None else _find(alike)


def _spelled_alike(name: str) -> str | None:
    """The one name that differs in capitals, ``-`` and ``_`` alone; None: none, or several."""
    from jeton import _published
    from jeton._nearest import fold

    wanted = fold(name)
    names = set(bundled()) | set(_published.published_vocabularies())
    for _, folder in folders():
        names.update(files_by_name(folder))
    alike = [other for other in names if fold(other) == wanted]
    return alike[0] if len(alike) == 1 else None


def _find(name: str) -> tuple[Place, Path] | None:
    at_hand = bundled().get(name)
    if at_hand is not None:
        return "bundled", at_hand
    for place, folder in folders():
        files = files_by_name(folder)
        if name in files:
            return place, files[name][0]
        # Another vocabulary made from the same ranks: only its rank file will do.
        other = _rank_file(name)
        found = [path for path in files.get(other, []) if ".tiktoken" in path.suffixes]
        if found and other != name:
            return place, found[0]
    return None


def place_of(name_or_path: str | os.PathLike[str]) -> Path | None:
    """The file or folder that ``load`` reads for a name or path; None where there is none.

    Raises:
        FormatError: It is a folder that leads to several tokenizers.
    """
    from jeton.formats.homes import cached_repository, resolve_folder
    from jeton.formats.names import user_path

    path = user_path(name_or_path)
    found = None
    if isinstance(name_or_path, str):
        known = find(name_or_path)
        found = None if known is None else known[1]
        if found is None and not path.exists():
            found = cached_repository(name_or_path) or _of_model(name_or_path)
    if found is None and path.exists():
        found = path
    return resolve_folder(found) if found is not None and found.is_dir() else found


def _of_model(name: str) -> Path | None:
    """The vocabulary of a model of this name, where it is known and at hand."""
    from jeton.errors import UnknownTokenizerError
    from jeton.registry.of_models import vocabulary_of_model

    with suppress(UnknownTokenizerError):
        vocabulary = vocabulary_of_model(name)
        known = None if vocabulary is None else find(vocabulary)
        return None if known is None else known[1]
    return None


def _rank_file(name: str) -> str:
    """The name of the rank file of a published vocabulary; of any other name itself."""
    # Imported late: most names are those of files.
    from jeton import _published

    published = _published.published_vocabularies().get(name)
    return name if published is None else published.rank_file.name


def bundled() -> dict[str, Path]:
    """Bundled names, with and without their version; without means the newest of words."""
    names: dict[str, Path] = {}
    newest: dict[str, int] = {}
    folder = bundled_dir()
    if not folder.is_dir():
        return names
    for path in sorted(folder.iterdir()):
        if not path.name.endswith(_BUNDLED_SUFFIX):
            continue
        name = path.name.removesuffix(_BUNDLED_SUFFIX)
        names[name] = path
        match = re.match(_VERSIONED, name)
        # Versions are numbers: v10 is newer than v9.
        if match is None or int(match["version"]) in _SUPERWORD_VERSIONS:
            continue
        if int(match["version"]) > newest.get(match["base"], -1):
            newest[match["base"]] = int(match["version"])
            names[match["base"]] = path
    return names


def folders() -> Iterator[tuple[Place, Path]]:
    """The folders that are searched, in this order."""
    own = vocab_dir()
    if own is not None:
        yield "vocab-dir", own
    yield "cache", cache_dir()


def files_by_name(folder: Path) -> dict[str, list[Path]]:
    """The files of a folder by the name that they stand for, the preferred one first."""
    files: dict[str, list[Path]] = {}
    if not folder.is_dir():
        return files
    for path in sorted(folder.iterdir()):
        plain = _plain_name(path)
        if plain.startswith(".") or plain.endswith(".card.json") or not path.is_file():
            continue
        if plain.endswith(_SUFFIXES):
            files.setdefault(name_of_file(path), []).append(path)
    for paths in files.values():
        paths.sort(key=_preference)
    return files


def suffix_of(path: Path) -> str:
    """The suffix that says what a found file is."""
    return _SUFFIXES[_preference(path)]


def _preference(path: Path) -> int:
    plain = _plain_name(path)
    ranks = [i for i, suffix in enumerate(_SUFFIXES) if plain.endswith(suffix)]
    # "x.recon.json" ends with ".json" too: the longest suffix is the one that counts.
    return max(ranks, key=lambda i: len(_SUFFIXES[i]))


def _plain_name(path: Path) -> str:
    return path.name.lower().removesuffix(".zst").removesuffix(".gz")
