"""Ids that follow a change of vocabulary, or the reason why they cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange
from jeton.errors import AdaptError, UsageError

_N_NAMED = 5


def remap_ids(
    change: VocabularyChange, ids: NDArray[np.integer[Any]], *, ignore: Sequence[int] = ()
) -> NDArray[np.integer[Any]]:
    """Returns new ids for old ones, of the same shape and type.

    Args:
        change: The change of vocabulary.
        ids: Old ids.
        ignore: Numbers that are no ids, such as -100 in labels; they stay.

    Raises:
        AdaptError: An id is gone, or is none of the old vocabulary.
        UsageError: The type does not hold the new ids.
    """
    check_fits(change, ids.dtype)
    wide = ids.astype(np.int64)
    skipped = np.isin(wide, list(ignore)) if ignore else np.zeros(wide.shape, dtype=bool)
    wrong = ~skipped & ((wide < 0) | (wide >= change.n_old_ids))
    if wrong.any():
        raise AdaptError(
            f"{int(wide[wrong].flat[0])} is not an id of the old vocabulary of "
            f"{change.n_old_ids:,}\nhint: is it a file of another tokenizer, or of another type? "
            "--ignore names numbers that are no ids"
        )
    gone = gone_ids(change, ids, ignore=ignore)
    if gone:
        raise AdaptError(gone_words(gone, ids.size))
    new = change.new_of[np.where(skipped, 0, wide)] if change.n_old_ids else wide
    return np.where(skipped, wide, new).astype(ids.dtype)


def gone_ids(
    change: VocabularyChange, ids: NDArray[np.integer[Any]], *, ignore: Sequence[int] = ()
) -> dict[int, int]:
    """Returns the ids that the new vocabulary lacks, with how often each occurs.

    Numbers that are no old ids are passed over.
    """
    wide = ids.astype(np.int64).reshape(-1)
    wide = wide[(wide >= 0) & (wide < change.n_old_ids)]
    gone = wide[change.new_of[wide] < 0]
    gone = gone[~np.isin(gone, list(ignore))]
    found, counts = np.unique(gone, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def gone_words(gone: Mapping[int, int], n_ids: int) -> str:
    """Returns the message of an error about ids that are gone, the most frequent named first."""
    order = sorted(gone, key=lambda id: (-gone[id], id))
    named = ", ".join(f"{id} ({gone[id]:,} times)" for id in order[:_N_NAMED])
    more = f" and {len(order) - _N_NAMED:,} other ids" if len(order) > _N_NAMED else ""
    return (
        f"{sum(gone.values()):,} of {n_ids:,} ids are gone from the new vocabulary: {named}{more}\n"
        "hint: tokenize the text anew; this file cannot follow exactly"
    )


def check_fits(change: VocabularyChange, dtype: np.dtype[Any]) -> None:
    """Raises ``UsageError`` if numbers of a type do not hold the new ids."""
    if dtype.kind not in "iu":
        raise UsageError(
            f"ids of the type {dtype} are no whole numbers\n"
            "hint: ids are; look whether this is the file of the ids"
        )
    if change.n_new_ids - 1 > np.iinfo(dtype).max:
        raise UsageError(
            f"{dtype} does not hold {change.n_new_ids:,} ids\nhint: write the file with a wider "
            "type first"
        )
