"""Differences between two changes of the same vocabularies, as sentences.

A change that a file states may keep a row under another text, as where a reserved token is renamed.
It is wrong where it keeps the row of one token for another one that the old vocabulary has, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange

_N_NAMED = 5


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Differences of a stated change from the one that the bytes of tokens give.

    Attributes:
        wrong: Sentences about ids that carry on another row than the bytes say.
        other: Sentences about ids that only one of the two keeps, or that are made of other parts.
    """

    wrong: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        """True if both agree."""
        return not (self.wrong or self.other)


def disagreement(stated: VocabularyChange, derived: VocabularyChange) -> Disagreement:
    """Returns the differences of two changes, each with the first ids that differ.

    Args:
        stated: The change that a file states.
        derived: The change by the bytes of tokens (``VocabularyChange.between``).

    Example:
        >>> import jeton
        >>> from jeton.adapt import VocabularyChange, disagreement
        >>> same = VocabularyChange.identity(jeton.load("jeton-code-32k"))
        >>> disagreement(same, same).is_none
        True
    """
    wrong = [
        f"the {which} {what} is {a!r:.80} in one and {b!r:.80} in the other"
        for which, what, a, b in (
            ("old", "fingerprint", stated.old_fingerprint, derived.old_fingerprint),
            ("new", "fingerprint", stated.new_fingerprint, derived.new_fingerprint),
            ("old", "number of ids", stated.n_old_ids, derived.n_old_ids),
            ("new", "number of ids", stated.n_new_ids, derived.n_new_ids),
        )
        if a != b
    ]
    if (stated.n_old_ids, stated.n_new_ids) != (derived.n_old_ids, derived.n_new_ids):
        return Disagreement(tuple(wrong), ())
    a, b = stated.old_of, derived.old_of
    is_hole = np.zeros(stated.n_new_ids, dtype=bool)
    is_hole[np.intersect1d(stated.holes, derived.holes)] = True
    ids = np.flatnonzero((a >= 0) & (b >= 0) & (a != b) & ~is_hole)
    if len(ids):
        pairs = [f"{id} (row {a[id]}, by bytes {b[id]})" for id in ids[:_N_NAMED].tolist()]
        wrong.append(f"other rows are carried on for the new ids {_listed(pairs, len(ids))}")
    other = []
    for words, only in (
        ("only the stated change keeps a row for", (a >= 0) & (b < 0)),
        ("only the bytes of tokens keep a row for", (a < 0) & (b >= 0)),
    ):
        found = np.flatnonzero(only & ~is_hole)
        if len(found):
            other.append(f"{words} the new ids {_listed(_texts(found), len(found))}")
    both = np.intersect1d(stated.added_ids, derived.added_ids)
    parts = np.array(
        [id for id in both.tolist() if not np.array_equal(stated.made_of(id), derived.made_of(id))],
        dtype=np.int64,
    )
    if len(parts):
        other.append(f"other parts make the new ids {_listed(_texts(parts), len(parts))}")
    return Disagreement(tuple(wrong), tuple(other))


def _texts(ids: NDArray[np.int64]) -> list[str]:
    return [str(id) for id in ids[:_N_NAMED].tolist()]


def _listed(named: Sequence[str], n: int) -> str:
    more = f" and {n - len(named):,} more" if n > len(named) else ""
    return ", ".join(named) + more
