"""Where vocabularies lie, and what lies there."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from jeton._published import published_vocabularies
from jeton.errors import FormatError
from jeton.formats import card_path, name_of_file

__all__ = [
    "VocabularyEntry",
    "bundled_dir",
    "cache_dir",
    "find",
    "known_names",
    "list_vocabularies",
    "training_card",
    "vocab_dir",
]

Place: TypeAlias = Literal["bundled", "vocab-dir", "cache", "published"]

_BUNDLED_SUFFIX = ".jeton.json.zst"
_VERSIONED = re.compile(r"(?P<base>.+)-v(?P<version>[0-9]+)$")

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
# A listing leaves out the second half of a pair, and text files, most of which are something else;
# they are found by name all the same.
_LISTED_SUFFIXES = tuple(s for s in _SUFFIXES if s not in (".merges.txt", ".txt"))


@dataclass(frozen=True, slots=True)
class VocabularyEntry:
    """One vocabulary that has a name.

    Attributes:
        name: What to pass to ``jeton.load``.
        where: The place it comes from; ``"published"``: known, but not at hand.
        path: The file; None where it is not at hand.
        size_bytes: The file's size as it is stored.
        available: Whether its file is at hand. Whether Jeton knows everything in the file (a
            tokenizer.json can hold any algorithm) only loading it tells.
        how: How to get it, where it is not at hand; empty otherwise.
    """

    name: str
    where: Place
    path: Path | None
    size_bytes: int | None
    available: bool
    how: str = ""


def bundled_dir() -> Path:
    """The folder of the tokenizers that travel with the package."""
    return Path(__file__).resolve().parent.parent / "vocabularies"


def vocab_dir() -> Path | None:
    """``$JETON_VOCAB_DIR``, where it is set."""
    value = os.environ.get("JETON_VOCAB_DIR")
    return Path(value).expanduser() if value else None


def cache_dir() -> Path:
    r"""The user's own folder of vocabularies: ``$JETON_CACHE_DIR`` or the platform's cache.

    Linux: ``$XDG_CACHE_HOME/jeton``, by default ``~/.cache/jeton``. macOS:
    ``~/Library/Caches/jeton``. Windows: ``%LOCALAPPDATA%\jeton\cache``.
    """
    own = os.environ.get("JETON_CACHE_DIR")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
        return base / "jeton" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "jeton"
    xdg = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification: a relative path is to be ignored.
    base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path.home() / ".cache"
    return base / "jeton"


def find(name: str) -> tuple[Place, Path] | None:
    """The place and file of a name that is at hand; None where there is none."""
    bundled = _bundled().get(name)
    if bundled is not None:
        return "bundled", bundled
    wanted = [name]
    published = published_vocabularies().get(name)
    if published is not None and published.rank_file.name != name:
        wanted.append(published.rank_file.name)
    for place, folder in _folders():
        files = _files_by_name(folder)
        for candidate in wanted:
            found = files.get(candidate, [])
            if candidate != name:
                # Another vocabulary made from the same ranks: only its rank file will do.
                found = [path for path in found if ".tiktoken" in path.suffixes]
            if found:
                return place, found[0]
    return None


def known_names() -> list[str]:
    """Every name that means something, at hand or published, sorted."""
    names = set(_bundled()) | set(published_vocabularies())
    for _, folder in _folders():
        names.update(_files_by_name(folder))
    return sorted(names)


def list_vocabularies() -> list[VocabularyEntry]:
    """Every vocabulary that is known, in the order in which the places are searched.

    A name that two places have appears once, with the place that wins.
    """
    entries: dict[str, VocabularyEntry] = {}
    for name, path in sorted(_bundled().items()):
        entries[name] = _entry(name, "bundled", path)
    for place, folder in _folders():
        for name, paths in sorted(_files_by_name(folder).items()):
            listed = [p for p in paths if _SUFFIXES[_preference(p)] in _LISTED_SUFFIXES]
            if listed and name not in entries:
                entries[name] = _entry(name, place, listed[0])
    for vocabulary in published_vocabularies().values():
        if vocabulary.name in entries:
            continue
        found = find(vocabulary.name)
        if found is not None:
            entries[vocabulary.name] = _entry(vocabulary.name, *found)
            continue
        entries[vocabulary.name] = VocabularyEntry(
            name=vocabulary.name,
            where="published",
            path=None,
            size_bytes=None,
            available=False,
            how=how_to_get(vocabulary.name),
        )
    return list(entries.values())


def how_to_get(name: str) -> str:
    """The command that brings a published vocabulary that is not at hand."""
    published = published_vocabularies()[name]
    if published.rank_file.url is not None:
        return f"jeton vocab fetch {name}"
    return f"jeton vocab add FILE --name {name}"


def training_card(name: str) -> dict[str, Any] | None:
    """The training card of a bundled, added or saved vocabulary; None where there is none.

    Raises:
        FormatError: The card is not JSON.
    """
    found = find(name)
    if found is None:
        return None
    card = card_path(found[1])
    if not card.is_file():
        return None
    try:
        value: dict[str, Any] = json.loads(card.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{card} is not JSON: {error}", path=str(card)) from None
    return value


def _bundled() -> dict[str, Path]:
    """Bundled names, with and without their version; without means the newest."""
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
        match = _VERSIONED.match(name)
        # Versions are numbers: v10 is newer than v9.
        if match and int(match["version"]) > newest.get(match["base"], -1):
            newest[match["base"]] = int(match["version"])
            names[match["base"]] = path
    return names


def _folders() -> Iterator[tuple[Place, Path]]:
    own = vocab_dir()
    if own is not None:
        yield "vocab-dir", own
    yield "cache", cache_dir()


def _files_by_name(folder: Path) -> dict[str, list[Path]]:
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


def _preference(path: Path) -> int:
    plain = _plain_name(path)
    ranks = [i for i, suffix in enumerate(_SUFFIXES) if plain.endswith(suffix)]
    # "x.recon.json" ends with ".json" too: the longest suffix is the one that counts.
    return max(ranks, key=lambda i: len(_SUFFIXES[i]))


def _plain_name(path: Path) -> str:
    return path.name.lower().removesuffix(".zst").removesuffix(".gz")


def _entry(name: str, where: Place, path: Path) -> VocabularyEntry:
    return VocabularyEntry(
        name=name, where=where, path=path, size_bytes=path.stat().st_size, available=True
    )
