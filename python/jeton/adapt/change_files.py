"""The written form of a change: JSON with a version, runs instead of long lists.

``kept`` is a list of runs ``[old, new, n]``: ``n`` old ids from ``old`` on are the new ids from
``new`` on. ``holes`` is a list of runs ``[new, n]``, ``added`` a list of ``[new, parts, bytes]``.
A file may come from anybody: nothing in it makes more memory than its own size and ``MAX_IDS`` ids.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.adapt.change import CHANGE_FILE, MAX_IDS, VocabularyChange, added_fields
from jeton.errors import AdaptError, FormatError

FORMAT = "jeton.vocabulary_change"
VERSION = 1

_MAX_FILE_BYTES = 1 << 30
"""Largest file that is read: a change of ``MAX_IDS`` ids in no order at all."""

_HINT = "\nhint: write it again with `jeton adapt`, or leave it out and let it be derived by bytes"


def to_json(change: VocabularyChange) -> str:
    """Returns the written form, the same text for equal changes."""
    ends = change.offsets.tolist()
    parts, lengths = change.parts.tolist(), change.part_bytes.tolist()
    lines = [
        f'  "format": "{FORMAT}"',
        f'  "version": {VERSION}',
        f'  "old": {{"fingerprint": "{change.old_fingerprint}", "n_ids": {change.n_old_ids}}}',
        f'  "new": {{"fingerprint": "{change.new_fingerprint}", "n_ids": {change.n_new_ids}}}',
        f'  "kept": {json.dumps(_kept_runs(change))}',
        f'  "holes": {json.dumps(_runs(change.holes))}',
    ]
    rows = [
        json.dumps([new, parts[ends[i] : ends[i + 1]], lengths[ends[i] : ends[i + 1]]])
        for i, new in enumerate(change.added_ids.tolist())
    ]
    lines.append('  "added": [' + ",".join(f"\n    {row}" for row in rows) + "]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _kept_runs(change: VocabularyChange) -> list[list[int]]:
    new = change.kept
    old = change.old_of[new]
    if not len(new):
        return []
    starts = np.flatnonzero(np.diff(new, prepend=-9) != 1)
    starts = np.union1d(starts, np.flatnonzero(np.diff(old, prepend=-9) != 1))
    ends = np.append(starts[1:], len(new))
    runs: list[list[int]] = np.stack([old[starts], new[starts], ends - starts], axis=1).tolist()
    return runs


def _runs(ids: NDArray[np.int64]) -> list[list[int]]:
    if not len(ids):
        return []
    starts = np.flatnonzero(np.diff(ids, prepend=-9) != 1)
    ends = np.append(starts[1:], len(ids))
    runs: list[list[int]] = np.stack([ids[starts], ends - starts], axis=1).tolist()
    return runs


def from_json(text: str | bytes, *, path: str | None = None) -> VocabularyChange:
    """Returns the change of its written form; ``FormatError`` says what is wrong with it."""
    where = f"{path}: " if path else ""
    try:
        return _parsed(_loaded(text))
    except (AdaptError, _BrokenError) as error:
        raise FormatError(
            f"{where}not a valid change of vocabulary: {error}{_HINT}",
            path=path,
            format="vocabulary change",
        ) from error


def read(path: str | os.PathLike[str]) -> VocabularyChange:
    """Reads a file, or the ``vocabulary_change.json`` of a folder."""
    place = Path(path)
    if place.is_dir():
        place = place / CHANGE_FILE
    if place.stat().st_size > _MAX_FILE_BYTES:
        raise FormatError(
            f"{place}: the file has {place.stat().st_size:,} bytes; "
            f"a change of vocabulary has at most {_MAX_FILE_BYTES:,}{_HINT}",
            path=os.fspath(place),
            format="vocabulary change",
        )
    return from_json(place.read_bytes(), path=os.fspath(place))


def write(change: VocabularyChange, path: str | os.PathLike[str]) -> None:
    """Writes a file, or the ``vocabulary_change.json`` of a folder."""
    place = Path(path)
    write_whole(place / CHANGE_FILE if place.is_dir() else place, to_json(change))


class _BrokenError(Exception):
    """The reason why a text is no change of vocabulary."""


def _loaded(text: str | bytes) -> dict[str, Any]:
    try:
        # A byte order mark is what some editors put there; it is not what we write.
        data = json_of(text, any_integer=True, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError as error:
        raise _BrokenError("it is nested too deeply") from error
    except ValueError as error:  # also text that is not UTF-8, and integers of 5,000 digits
        raise _BrokenError(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise _BrokenError(f"it holds a {type(data).__name__}, expected an object")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r:.60} stands there twice")
        found[key] = value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _parsed(data: dict[str, Any]) -> VocabularyChange:
    if data.get("format") != FORMAT:
        raise _BrokenError(f"format is {data.get('format')!r:.60}, expected {FORMAT!r}")
    if data.get("version") != VERSION or isinstance(data.get("version"), bool):
        raise _BrokenError(f"version is {data.get('version')!r:.60}, this release reads {VERSION}")
    known = {"format", "version", "old", "new", "kept", "holes", "added"}
    if missing := sorted(known - set(data)):
        raise _BrokenError(f"{missing[0]!r} is missing")
    if extra := sorted(set(data) - known):
        raise _BrokenError(f"{extra[0]!r:.60} is not known")
    old_fingerprint, n_old = _side(data["old"], "old")
    new_fingerprint, n_new = _side(data["new"], "new")
    return VocabularyChange(
        old_fingerprint=old_fingerprint,
        new_fingerprint=new_fingerprint,
        n_old_ids=n_old,
        old_of=_old_of(data["kept"], n_old, n_new),
        holes=_holes(data["holes"], n_new),
        **added_fields(_added(data["added"])),
    )


def _side(value: Any, which: str) -> tuple[str, int]:
    if not isinstance(value, dict) or set(value) != {"fingerprint", "n_ids"}:
        raise _BrokenError(f"{which} is {value!r:.60}, expected a fingerprint and n_ids")
    n_ids = _whole(value["n_ids"], f"n_ids of {which}")
    if n_ids > MAX_IDS:
        raise _BrokenError(f"n_ids of {which} is {n_ids}, at most {MAX_IDS:,} are possible")
    return value["fingerprint"], n_ids


def _old_of(value: Any, n_old: int, n_new: int) -> NDArray[np.int64]:
    old_of = np.full(n_new, -1, dtype=np.int64)
    for old, new, n in _rows(value, "kept", 3):
        if n < 1 or old + n > n_old or new + n > n_new:
            raise _BrokenError(
                f"the run {[old, new, n]} of kept is not within {n_old} old and {n_new} new ids"
            )
        if (old_of[new : new + n] >= 0).any():
            raise _BrokenError(f"the run {[old, new, n]} of kept gives a new id a second old one")
        old_of[new : new + n] = np.arange(old, old + n)
    return old_of


def _holes(value: Any, n_new: int) -> NDArray[np.int64]:
    is_hole = np.zeros(n_new, dtype=bool)
    for new, n in _rows(value, "holes", 2):
        if n < 1 or new + n > n_new:
            raise _BrokenError(f"the run {[new, n]} of holes is not within {n_new} new ids")
        if is_hole[new : new + n].any():
            raise _BrokenError(f"the run {[new, n]} of holes has an id that is a hole already")
        is_hole[new : new + n] = True
    return np.flatnonzero(is_hole)


def _added(value: Any) -> dict[int, tuple[list[int], list[int]]]:
    if not isinstance(value, list):
        raise _BrokenError(f"added is {value!r:.60}, expected a list")
    added: dict[int, tuple[list[int], list[int]]] = {}
    for row in value:
        if not isinstance(row, list) or len(row) != 3:
            raise _BrokenError(f"added has {row!r:.60}, expected [new, parts, bytes]")
        new = _whole(row[0], "an added id")
        if new in added:
            raise _BrokenError(f"new id {new} is added twice")
        parts, lengths = (
            [_whole(number, f"a number of added id {new}") for number in _listed(part, new)]
            for part in row[1:]
        )
        if len(parts) != len(lengths):
            raise _BrokenError(f"added id {new} has {len(parts)} parts and {len(lengths)} lengths")
        added[new] = (parts, lengths)
    return added


def _listed(value: Any, new: int) -> list[Any]:
    if not isinstance(value, list):
        raise _BrokenError(f"added id {new} has {value!r:.60}, expected a list")
    return value


def _rows(value: Any, what: str, width: int) -> list[list[int]]:
    if not isinstance(value, list):
        raise _BrokenError(f"{what} is {value!r:.60}, expected a list of runs")
    for row in value:
        if not isinstance(row, list) or len(row) != width:
            raise _BrokenError(f"{what} has {row!r:.60}, expected a run of {width} numbers")
        for number in row:
            _whole(number, f"a number of {what}")
    return value


def _whole(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 40:
        raise _BrokenError(f"{what} is {value!r:.60}, expected a whole number of at least 0")
    return value
