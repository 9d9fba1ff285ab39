"""The change from one vocabulary to another, as one value that everything else follows.

An id stands for a row: of embeddings, of an output layer, of a table of ids. A change says of each
new id which old row it carries on, or of which old ids it is made. Invariants, checked when a value
is made: no old row is carried on twice; every new id is carried on, a hole, or added; the parts of
an added id are old ids that exist. Memory and time are linear in the ids.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from jeton.checkpoint.adapted import CHANGE_FILE
from jeton.errors import AdaptError
from jeton.registry import TokenizerLike, resolve

if TYPE_CHECKING:
    pass

__all__ = ["CHANGE_FILE", "MAX_IDS", "VocabularyChange"]

MAX_IDS = 1 << 25
"""Most ids of one vocabulary, 33,554,432: beyond any published one, and still 256 MiB an array."""

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class VocabularyChange:
    """Says which row each new id has.

    Attributes:
        old_fingerprint: Fingerprint of the old tokenizer.
        new_fingerprint: Fingerprint of the new tokenizer.
        n_old_ids: Size of the old id space: largest id + 1, ids without a token included.
        old_of: int64 (n_new_ids,): the old id whose row a new id carries on; -1 for an added id
            and for a hole without a row.
        holes: int64 (n_holes,), ascending: new ids that no token has. A hole may carry an old row
            on, so that a change of nothing keeps every byte.
        added_ids: int64 (n_added,), ascending: new ids with a token that the old vocabulary lacks.
        offsets: int64 (n_added + 1,): parts of ``added_ids[i]`` are
            ``parts[offsets[i]:offsets[i + 1]]``; an added id may have none.
        parts: int64 (n_parts,): old ids, in the order of the text of the new token.
        part_bytes: int64 (n_parts,): bytes of text of each part, for means weighted by length.

    Arrays are read-only. Two changes are equal if all of this is.
    """

    old_fingerprint: str
    new_fingerprint: str
    n_old_ids: int
    old_of: Ids
    holes: Ids
    added_ids: Ids
    offsets: Ids
    parts: Ids
    part_bytes: Ids

    def __post_init__(self) -> None:
        for name in ("old_of", "holes", "added_ids", "offsets", "parts", "part_bytes"):
            array = np.array(getattr(self, name), dtype=np.int64).reshape(-1)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        for name in ("old_fingerprint", "new_fingerprint"):
            _check_fingerprint(name, getattr(self, name))
        _check(self)

    @property
    def n_new_ids(self) -> int:
        """Size of the new id space: largest id + 1, ids without a token included."""
        return len(self.old_of)

    @cached_property
    def new_of(self) -> Ids:
        """int64 (n_old_ids,): the new id that carries each old row on; -1 where none does."""
        new_of = np.full(self.n_old_ids, -1, dtype=np.int64)
        kept = np.flatnonzero(self.old_of >= 0)
        new_of[self.old_of[kept]] = kept
        new_of.flags.writeable = False
        return new_of

    @property
    def kept(self) -> Ids:
        """int64, ascending: new ids that carry an old row on."""
        return np.flatnonzero(self.old_of >= 0)

    @property
    def gone(self) -> Ids:
        """int64, ascending: old ids whose row no new id carries on."""
        return np.flatnonzero(self.new_of < 0)

    @property
    def added(self) -> Ids:
        """int64, ascending: the same as ``added_ids``."""
        return self.added_ids

    @property
    def is_identity(self) -> bool:
        """True if every id keeps its row, none is added and none goes."""
        return self.n_old_ids == self.n_new_ids and bool(
            np.array_equal(self.old_of, np.arange(self.n_old_ids))
        )

    def made_of(self, new_id: int) -> Ids:
        """Returns the old ids that an added id is made of."""
        place = int(np.searchsorted(self.added_ids, new_id))
        if place == len(self.added_ids) or self.added_ids[place] != new_id:
            raise AdaptError(
                f"id {new_id} is not an added one\nhint: added_ids lists them; old_of has the rest"
            )
        return self.parts[self.offsets[place] : self.offsets[place + 1]]

    def then(self, later: VocabularyChange) -> VocabularyChange:
        """Returns the change from this one's old vocabulary to the later one's new one.

        Raises:
            AdaptError: The later change does not begin where this one ends.
        """
        from jeton.adapt.deriving import composed

        return composed(self, later)

    def inverse(self) -> VocabularyChange:
        """Returns the way back of what is kept; exact where nothing was added and nothing went.

        An old id whose row is gone becomes a hole. An id that is added here is gone there.
        """
        from jeton.adapt.deriving import inverse

        return inverse(self)

    @classmethod
    def identity(cls, tokenizer: TokenizerLike) -> Self:
        """Returns the change of a tokenizer into itself."""
        tokenizer = resolve(tokenizer)
        holes = np.flatnonzero(~tokenizer.is_token_mask())
        return cls(
            old_fingerprint=tokenizer.fingerprint,
            new_fingerprint=tokenizer.fingerprint,
            n_old_ids=tokenizer.vocab_size,
            old_of=np.arange(tokenizer.vocab_size),
            holes=holes,
            **no_added(),
        )

    @staticmethod
    def between(old: TokenizerLike, new: TokenizerLike) -> VocabularyChange:
        """Returns the change between two tokenizers, by the bytes of their tokens.

        Args:
            old: The tokenizer before, or its name or path.
            new: The tokenizer after.

        Raises:
            AdaptError: Bytes belong to several tokens and do not say which is which.
        """
        from jeton.adapt.deriving import change_between

        return change_between(resolve(old, argument="old"), resolve(new, argument="new"))

    def to_json(self) -> str:
        """Returns the written form; ``from_json`` reads it."""
        from jeton.adapt.change_files import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str | bytes, *, path: str | None = None) -> VocabularyChange:
        """Returns the change of its written form.

        Raises:
            FormatError: The text is no such form, or it contradicts itself; ``path`` is named.
        """
        from jeton.adapt.change_files import from_json

        return from_json(text, path=path)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> VocabularyChange:
        """Reads a file; of a folder, the ``vocabulary_change.json`` in it.

        Raises:
            FormatError: The file is broken.
            OSError: It cannot be read.
        """
        from jeton.adapt.change_files import read

        return read(path)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, whole or not at all.

        Raises:
            OSError: The folder is missing, the disk is full ...
        """
        from jeton.adapt.change_files import write

        write(self, path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VocabularyChange):
            return NotImplemented
        return self._scalars() == other._scalars() and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("old_of", "holes", "added_ids", "offsets", "parts", "part_bytes")
        )

    def __hash__(self) -> int:
        return hash(self._scalars())

    def __repr__(self) -> str:
        return (
            f"VocabularyChange({self.n_old_ids:,} -> {self.n_new_ids:,} ids: {len(self.kept):,} "
            f"kept, {len(self.added_ids):,} added, {len(self.gone):,} gone, "
            f"{len(self.holes):,} holes)"
        )

    def _scalars(self) -> tuple[str, str, int, int]:
        return (self.old_fingerprint, self.new_fingerprint, self.n_old_ids, self.n_new_ids)


def no_added() -> dict[str, Ids]:
    """Returns the fields of a change that adds nothing."""
    none = np.zeros(0, dtype=np.int64)
    return {"added_ids": none, "offsets": np.zeros(1, np.int64), "parts": none, "part_bytes": none}


def added_fields(
    added: Mapping[int, tuple[list[int], list[int]]],
) -> dict[str, Ids]:
    """Returns the fields of added ids, each given with its parts and their bytes."""
    order = sorted(added)
    sizes = [len(added[new][0]) for new in order]
    fields: dict[str, Any] = {
        "added_ids": order,
        "offsets": np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        "parts": [part for new in order for part in added[new][0]],
        "part_bytes": [length for new in order for length in added[new][1]],
    }
    return {name: np.array(value, dtype=np.int64) for name, value in fields.items()}


def _check_fingerprint(name: str, value: object) -> None:
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        raise AdaptError(f"{name} is {value!r:.80}; expected 64 hexadecimal digits")


def _check(change: VocabularyChange) -> None:
    """Raises ``AdaptError`` for what cannot be a change."""
    n_old, n_new = change.n_old_ids, change.n_new_ids
    for what, size in (("old", n_old), ("new", n_new)):
        if not 0 <= size <= MAX_IDS:
            raise AdaptError(f"{size:,} {what} ids; expected 0 to {MAX_IDS:,}")
    _check_range("an old id of old_of", change.old_of, -1, n_old)
    _check_range("a hole", change.holes, 0, n_new)
    _check_range("an added id", change.added_ids, 0, n_new)
    _check_range("a part", change.parts, 0, n_old)
    for what, ids in (("holes", change.holes), ("added ids", change.added_ids)):
        if len(ids) > 1 and not (np.diff(ids) > 0).all():
            raise AdaptError(f"{what} do not ascend, or one stands there twice")
    kept = change.old_of[change.old_of >= 0]
    counts = np.bincount(kept, minlength=1)
    if len(kept) and counts.max() > 1:
        raise AdaptError(f"old id {int(counts.argmax())} is kept as several new ids")
    _check_cover(change)
    _check_parts(change)


def _check_cover(change: VocabularyChange) -> None:
    """Raises unless every new id is kept, a hole or added."""
    is_hole = np.zeros(change.n_new_ids, dtype=bool)
    is_hole[change.holes] = True
    is_added = np.zeros(change.n_new_ids, dtype=bool)
    is_added[change.added_ids] = True
    is_kept = change.old_of >= 0
    for one, other, what in (
        (is_added, is_hole, "both added and a hole"),
        (is_added, is_kept, "both added and kept"),
    ):
        both = np.flatnonzero(one & other)
        if len(both):
            raise AdaptError(f"new id {int(both[0])} is {what}")
    nothing = np.flatnonzero(~(is_added | is_hole | is_kept))
    if len(nothing):
        raise AdaptError(
            f"new id {int(nothing[0])} is neither kept nor added nor a hole "
            f"({len(nothing):,} such ids)"
        )


def _check_parts(change: VocabularyChange) -> None:
    offsets = change.offsets
    if (
        len(offsets) != len(change.added_ids) + 1
        or offsets[0] != 0
        or offsets[-1] != len(change.parts)
        or (np.diff(offsets) < 0).any()
    ):
        raise AdaptError(
            f"offsets of {len(change.added_ids):,} added ids do not cut the "
            f"{len(change.parts):,} parts"
        )
    if len(change.part_bytes) != len(change.parts):
        raise AdaptError(
            f"{len(change.parts):,} parts have {len(change.part_bytes):,} lengths; expected as many"
        )
    if (change.part_bytes < 0).any():
        raise AdaptError("a part has a negative length")


def _check_range(what: str, ids: Ids, least: int, end: int) -> None:
    wrong = np.flatnonzero((ids < least) | (ids >= end))
    if len(wrong):
        raise AdaptError(f"{what} is {int(ids[wrong[0]])}; expected {least} to {end - 1}")
