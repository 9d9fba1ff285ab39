"""Traces of a change of vocabulary: its file beside a tokenizer, its mark in the weights.

The mark stands in the header of the weights themselves, so that no copied file can pretend it.
``jeton.adapt`` writes and reads the whole file. The sizes and fingerprints in it are enough to say
that a folder's tokenizer, or its weights, are of another state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.errors import FormatError, JetonError
from jeton.formats.reading import read_object
from jeton.registry import load

CHANGE_FILE = "vocabulary_change.json"
"""Name of the file beside every adapted tokenizer and model."""

MARK = "jeton.vocabulary"
"""Key in the header of safetensors: fingerprint of the tokenizer that the tables follow."""

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tekken.json", "spiece.model", "vocab.txt")


@dataclass(frozen=True, slots=True)
class StatedChange:
    """Sizes and fingerprints of both sides, as the change file states them.

    Attributes:
        n_old_ids: Size of the old id space.
        n_new_ids: Size of the new id space.
        old_fingerprint: Fingerprint of the old tokenizer.
        new_fingerprint: Fingerprint of the new tokenizer.
        added_ids: Ids of added tokens.
    """

    n_old_ids: int
    n_new_ids: int
    old_fingerprint: str
    new_fingerprint: str
    added_ids: tuple[int, ...] = ()


def marked_metadata(metadata: Mapping[str, str], fingerprint: str) -> dict[str, str]:
    """Returns the free text of a header with the mark of the tokenizer that its tables follow."""
    # transformers refuses a header with free text that names no format.
    return {"format": "pt", **metadata, MARK: fingerprint}


def read_stated_change(folder: Path) -> StatedChange | None:
    """Returns what the change file of a folder states; None where there is none.

    Raises:
        FormatError: It is no JSON, or states no sizes and fingerprints.
        LimitError: It is larger than other small files are.
        OSError: It cannot be read.
    """
    document = read_object(folder / CHANGE_FILE)
    if document is None:
        return None
    n_old, old = _side(folder, document, "old")
    n_new, new = _side(folder, document, "new")
    rows = document.get("added")
    added = tuple(
        row[0]
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, list) and row and type(row[0]) is int
    )
    return StatedChange(n_old, n_new, old, new, added)


def _side(folder: Path, document: dict[str, Any], which: str) -> tuple[int, str]:
    side = document.get(which)
    n_ids = side.get("n_ids") if isinstance(side, dict) else None
    fingerprint = side.get("fingerprint") if isinstance(side, dict) else None
    if type(n_ids) is not int or n_ids < 0 or not isinstance(fingerprint, str):
        raise FormatError(
            f"{folder / CHANGE_FILE}: {which!r} has no n_ids and fingerprint\n"
            "hint: write it again with `jeton adapt`",
            path=str(folder / CHANGE_FILE),
            format="vocabulary change",
        )
    return n_ids, fingerprint


def has_fingerprint(path: Path, wanted: str, loaded: Tokenizer) -> bool:
    """Returns True if a folder, or a tokenizer file in it, is the tokenizer of a fingerprint.

    A folder's settings are part of its tokenizer; a change may have been made from the file alone.
    """
    if loaded.fingerprint == wanted:
        return True
    for name in _TOKENIZER_FILES if path.is_dir() else ():
        if (path / name).is_file():
            try:
                if load(path / name).fingerprint == wanted:
                    return True
            except (JetonError, OSError):
                continue
    return False
