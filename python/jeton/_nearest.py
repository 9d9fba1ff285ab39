"""The known names nearest to a name that is not known.

Used wherever a name is looked up (tokenizers, models, GPUs, prices), so that every error offers
the same kind of help. Cost: O(names) string comparisons, only on the way to an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

DEFAULT_LIMIT = 3
"""Names offered: enough to hold the wanted one, few enough for one line."""

MIN_SIMILARITY = 0.55
"""Below this `difflib` ratio a name reads as unrelated; found by trying misspelt model names."""

CONTAINED_SIMILARITY = 0.9
"""Least score of a name that contains what was asked: above nearly every typo, since an incomplete
name (``llama-3`` for ``llama-3-8b``) is the commonest mistake."""

MIN_CONTAINED_CHARS = 3
"""Shorter fragments are contained in unrelated names by chance."""

MIN_PREFIX_CHARS = 2
"""A name may begin with what was asked, from so many characters on (``t5`` for ``t5-small``)."""

_SEPARATORS = re.compile(r"[\s_]+")


def fold(name: str) -> str:
    """Return a name in the form names are compared in: lower case, ``-`` for spaces and ``_``."""
    return _SEPARATORS.sub("-", name.strip().casefold())


def nearest(name: str, names: Iterable[str], *, limit: int = DEFAULT_LIMIT) -> tuple[str, ...]:
    """Return up to ``limit`` of ``names`` that resemble ``name``, best first.

    Case, spaces and underscores do not count. A name that contains the asked one ranks above a
    misspelling. Ties go by length, then by alphabet, so the answer does not depend on the order
    of ``names``.
    """
    asked = fold(name)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(asked)
    scored: list[tuple[float, int, str]] = []
    for candidate in dict.fromkeys(names):
        folded = fold(candidate)
        is_part = len(asked) >= MIN_CONTAINED_CHARS and asked in folded
        if is_part or (len(asked) >= MIN_PREFIX_CHARS and folded.startswith(asked)):
            share = len(asked) / len(folded)
            score = CONTAINED_SIMILARITY + (1 - CONTAINED_SIMILARITY) * share
        else:
            matcher.set_seq1(folded)
            if matcher.real_quick_ratio() < MIN_SIMILARITY:
                continue
            if matcher.quick_ratio() < MIN_SIMILARITY:
                continue
            score = matcher.ratio()
        if score >= MIN_SIMILARITY:
            scored.append((-score, len(candidate), candidate))
    return tuple(candidate for _, _, candidate in sorted(scored)[:limit])
