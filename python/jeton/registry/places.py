"""Vocabularies: those at hand, and those that are published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton._published import published_vocabularies
from jeton.errors import FormatError
from jeton.formats.names import card_path
from jeton.registry.finding import (
    LISTED_SUFFIXES,
    Place,
    bundled,
    files_by_name,
    find,
    folders,
    suffix_of,
)


@dataclass(frozen=True, slots=True)
class VocabularyEntry:
    """One vocabulary that has a name.

    Attributes:
        name: Argument for ``jeton.load``.
        where: The place it comes from; ``"published"``: known, but not at hand.
        path: The file; None where it is not at hand.
        size_bytes: The file's size as it is stored.
        available: True if its file is at hand. Only loading tells if Jeton knows everything in the
            file (a tokenizer.json can hold any algorithm).
        how: How to get it, where it is not at hand; empty otherwise.
    """

    name: str
    where: Place
    path: Path | None
    size_bytes: int | None
    available: bool
    how: str = ""


def known_names() -> list[str]:
    """Every name that means something, at hand or published, sorted."""
    names = set(bundled()) | set(published_vocabularies())
    for _, folder in folders():
        names.update(files_by_name(folder))
    return sorted(names)


def list_vocabularies() -> list[VocabularyEntry]:
    """Every vocabulary that is known, in the order in which the places are searched.

    A name that two places have appears once, with the place that wins.
    """
    entries: dict[str, VocabularyEntry] = {}
    for name, path in sorted(bundled().items()):
        entries[name] = _entry(name, "bundled", path)
    for place, folder in folders():
        for name, paths in sorted(files_by_name(folder).items()):
            listed = [p for p in paths if suffix_of(p) in LISTED_SUFFIXES]
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
        value: dict[str, Any] = json_of(card.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{card} is not JSON: {error}", path=str(card)) from None
    return value


def _entry(name: str, where: Place, path: Path) -> VocabularyEntry:
    return VocabularyEntry(
        name=name, where=where, path=path, size_bytes=path.stat().st_size, available=True
    )
