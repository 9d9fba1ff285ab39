"""The change between two tokenizers that nobody wrote down, by the bytes of their tokens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.adapt.change import VocabularyChange, added_fields, no_added
from jeton.adapt.segmenting import Segmenter, shadowed_bytes
from jeton.errors import AdaptError

Name = TypeVar("Name", str, tuple[str, bytes])

_N_NAMED = 5
"""Ambiguous tokens that an error names."""


def change_between(old: Tokenizer, new: Tokenizer) -> VocabularyChange:
    """Returns the change between two tokenizers.

    Tokens are the same if their bytes are and no other token of their kind has them; else if they
    are written alike. Kinds are added tokens, raw bytes that text never becomes (``<0x21>`` beside
    ``!``), and all others. An id that has no token on either side keeps its row.

    Raises:
        AdaptError: Several tokens have the same bytes, and no writing tells them apart.
    """
    if old.fingerprint == new.fingerprint:
        return VocabularyChange.identity(old)
    before, after = _Tokens(old), _Tokens(new)
    old_of = np.full(new.vocab_size, -1, dtype=np.int64)
    taken: set[int] = set()
    for key in ("by_bytes", "by_token"):
        ours = _unique(getattr(after, key), (id for id in after.ids if old_of[id] < 0))
        theirs = _unique(getattr(before, key), (id for id in before.ids if id not in taken))
        for name, id in ours.items():
            if (other := theirs.get(name)) is not None:
                old_of[id] = other
                taken.add(other)
    _refuse_ambiguous(before, after, old_of, taken)
    return change_with(old, new, old_of)


def change_with(old: Tokenizer, new: Tokenizer, old_of: NDArray[np.int64]) -> VocabularyChange:
    """Returns the change whose kept ids are known.

    Args:
        old: The tokenizer before.
        new: The tokenizer after.
        old_of: int64 (n_new_ids,): the old id of each new token, -1 for an added one.
    """
    old_of = old_of.copy()
    has_token = new.is_token_mask()
    holes = np.flatnonzero(~has_token)
    # Rows without a token stay where they are, if nothing else took them.
    was_hole = ~old.is_token_mask()
    used = set(old_of[old_of >= 0].tolist())
    for hole in holes.tolist():
        if hole < old.vocab_size and was_hole[hole] and hole not in used:
            old_of[hole] = hole
    plain = {token.id for token in new.added_tokens}
    added: dict[int, tuple[list[int], list[int]]] = {}
    missing = np.flatnonzero(has_token & (old_of < 0)).tolist()
    if missing:
        segmenter = Segmenter(old)
        for id in missing:
            added[id] = segmenter.parts(
                new.id_to_token(id) or "", new.id_to_bytes(id), is_text=id in plain
            )
    return VocabularyChange(
        old_fingerprint=old.fingerprint,
        new_fingerprint=new.fingerprint,
        n_old_ids=old.vocab_size,
        old_of=old_of,
        holes=holes,
        **added_fields(added),
    )


class _Tokens:
    """The tokens of a tokenizer under both of their names.

    Attributes:
        ids: Ids that have a token.
        by_bytes: For each id: its kind, and its bytes.
        by_token: For each id: the token as it is written.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        added = {token.id for token in tokenizer.added_tokens}
        self.ids: list[int] = np.flatnonzero(tokenizer.is_token_mask()).tolist()
        kinds = dict.fromkeys(added, "added") | dict.fromkeys(shadowed_bytes(tokenizer), "raw")
        self.by_bytes: dict[int, tuple[str, bytes]] = {
            id: (kinds.get(id, ""), tokenizer.id_to_bytes(id)) for id in self.ids
        }
        self.by_token: dict[int, str] = {id: tokenizer.id_to_token(id) or "" for id in self.ids}


def _unique(names: dict[int, Name], ids: Iterable[int]) -> dict[Name, int]:
    """Returns the id of each name that only one id has."""
    found: dict[Name, int] = {}
    several: set[Name] = set()
    for id in ids:
        if names[id] in found:
            several.add(names[id])
        found[names[id]] = id
    return {name: id for name, id in found.items() if name not in several}


def _refuse_ambiguous(
    before: _Tokens, after: _Tokens, old_of: NDArray[np.int64], taken: set[int]
) -> None:
    left: dict[tuple[str, bytes], list[int]] = defaultdict(list)
    for id in before.ids:
        if id not in taken:
            left[before.by_bytes[id]].append(id)
    unclear = [
        (id, left[after.by_bytes[id]])
        for id in after.ids
        if old_of[id] < 0 and after.by_bytes[id] in left
    ]
    if not unclear:
        return
    named = "; ".join(
        f"{after.by_token[id]!r:.40} (new {id}: old {' or '.join(map(str, olds))})"
        for id, olds in unclear[:_N_NAMED]
    )
    more = f" and {len(unclear) - _N_NAMED:,} more" if len(unclear) > _N_NAMED else ""
    raise AdaptError(
        f"{len(unclear):,} tokens have the bytes of other tokens, so it is not clear which old "
        f"ids are theirs: {named}{more}\n"
        "hint: put the vocabulary_change.json of the tool that made the new tokenizer beside it"
    )


# Changes one after another, and the way back.


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
