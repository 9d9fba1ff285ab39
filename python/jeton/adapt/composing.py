"""Changes one after another, and the way back."""

from __future__ import annotations

import numpy as np

from jeton.adapt.change import VocabularyChange, added_fields, no_added
from jeton.errors import AdaptError


def composed(first: VocabularyChange, later: VocabularyChange) -> VocabularyChange:
    """Returns the change that does both.

    A token that is added on the way and kept has its parts of the first change. When a later token
    is added, parts that were added on the way are replaced by their own parts.
    """
    if first.new_fingerprint != later.old_fingerprint or first.n_new_ids != later.n_old_ids:
        raise AdaptError(
            f"the later change begins at vocabulary {later.old_fingerprint[:12]} of "
            f"{later.n_old_ids:,} ids, this one ends at {first.new_fingerprint[:12]} of "
            f"{first.n_new_ids:,}\nhint: give the changes in the order in which they were made"
        )
    between = later.old_of
    old_of = np.full(later.n_new_ids, -1, dtype=np.int64)
    carried = between >= 0
    old_of[carried] = first.old_of[between[carried]]
    parts_between = _parts_by_id(first)
    is_hole = np.zeros(later.n_new_ids, dtype=bool)
    is_hole[later.holes] = True
    added: dict[int, tuple[list[int], list[int]]] = {}
    for new in np.flatnonzero(carried & (old_of < 0) & ~is_hole).tolist():
        # A hole on the way that carried no row may make a token: it has no parts.
        added[new] = parts_between.get(int(between[new]), ([], []))
    for new, (parts, lengths) in _parts_by_id(later).items():
        added[new] = _expanded(first, parts_between, parts, lengths)
    return VocabularyChange(
        old_fingerprint=first.old_fingerprint,
        new_fingerprint=later.new_fingerprint,
        n_old_ids=first.n_old_ids,
        old_of=old_of,
        holes=later.holes,
        **added_fields(added),
    )


def _parts_by_id(change: VocabularyChange) -> dict[int, tuple[list[int], list[int]]]:
    ends = change.offsets.tolist()
    parts, lengths = change.parts.tolist(), change.part_bytes.tolist()
    return {
        new: (parts[ends[i] : ends[i + 1]], lengths[ends[i] : ends[i + 1]])
        for i, new in enumerate(change.added_ids.tolist())
    }


def _expanded(
    first: VocabularyChange,
    parts_between: dict[int, tuple[list[int], list[int]]],
    parts: list[int],
    lengths: list[int],
) -> tuple[list[int], list[int]]:
    ids: list[int] = []
    sizes: list[int] = []
    for part, length in zip(parts, lengths, strict=True):
        old = int(first.old_of[part])
        if old >= 0:
            ids.append(old)
            sizes.append(length)
        elif part in parts_between:
            ids += parts_between[part][0]
            sizes += parts_between[part][1]
    return ids, sizes


def inverse(change: VocabularyChange) -> VocabularyChange:
    """Returns the change back: kept rows return to their places, other old ids are holes."""
    new_of = change.new_of
    holes = set(np.flatnonzero(new_of < 0).tolist())
    is_hole = np.zeros(change.n_new_ids, dtype=bool)
    is_hole[change.holes] = True
    carried = new_of >= 0
    holes |= set(np.flatnonzero(carried)[is_hole[new_of[carried]]].tolist())
    return VocabularyChange(
        old_fingerprint=change.new_fingerprint,
        new_fingerprint=change.old_fingerprint,
        n_old_ids=change.n_new_ids,
        old_of=new_of,
        holes=np.array(sorted(holes), dtype=np.int64),
        **no_added(),
    )
