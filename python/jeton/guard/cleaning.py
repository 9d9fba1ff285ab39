"""Characters that may be dropped from any text: for the audit and for preprocessing alike."""

from __future__ import annotations

import re

from jeton.guard.characters import CLASSES, properties
from jeton.guard.places import Code, places

_KEPT = frozenset(
    {"joiner", "non-joiner", "selector", "ideographic-selector", "mongolian-selector"}
)
"""Classes whose characters may have a reason again once others between them are gone."""

_DIRECTION = frozenset({"bidi-control", "bidi-mark"})
"""Classes that change how text is shown: they are content, right or wrong."""

_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")


def without_waste(text: str) -> tuple[str, int]:
    """Drop the characters without ink that have no reason to be where they are.

    Joiners where scripts and emoji need them, selectors behind a character that they vary, flags,
    and direction marks and controls stay. These are the kinds of ``KINDS`` with ``is_waste``.

    Returns:
        The text, and how many characters are gone.

    Example:
        >>> without_waste("zero" + chr(0x200B) + "width")
        ('zerowidth', 1)
    """
    if text.isascii():
        return text, 0
    before = len(text)
    text = _dropped(text, spares=_KEPT)
    text = _dropped(text, spares=frozenset())
    return text, before - len(text)


def _dropped(text: str, *, spares: frozenset[str]) -> str:
    found = [place for place in places(text, ()) if place.code is Code.HIDDEN]
    if not found:
        return text
    pieces = []
    at = 0
    for place in found:
        run = text[place.start : place.end]
        if place.start and _FLAG.fullmatch(text[place.start - 1] + run):
            continue
        classes = [CLASSES[properties(char).kind] for char in run]
        # In a run, joiners and selectors wait for the second round; one alone has no reason.
        is_mixed = len(set(classes)) > 1
        kept = "".join(
            char
            for char, name in zip(run, classes, strict=True)
            if name in _DIRECTION or (is_mixed and name in spares)
        )
        pieces += [text[at : place.start], kept]
        at = place.end
    pieces.append(text[at:])
    return "".join(pieces)
