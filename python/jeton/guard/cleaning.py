"""Characters that may be dropped from any text: for the audit and for preprocessing alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from jeton.guard.characters import CLASSES, Properties, properties, ranges_of
from jeton.guard.hidden import has_reason
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


@lru_cache(maxsize=1)
def invisible() -> re.Pattern[str]:
    """Return the pattern of runs that nobody sees: characters without ink, and controls.

    White space is none of them, nor is a joiner or a selector of colour behind an emoji. Joiners of
    scripts and marks of direction are: the result is for comparing, not for reading.

    Example:
        >>> invisible().sub("", "a" + chr(0x200B) + "b" + chr(7) + chr(0x202E))
        'ab'
    """
    emoji = _class(lambda row: CLASSES[row.kind] in ("emoji", "modifier"), but=frozenset())
    unseen = _class(
        lambda row: row.is_hidden or CLASSES[row.kind] == "control",
        but=_WHITE_SPACE | {0x200D, 0xFE0F},
    )
    return re.compile(f"(?:[{unseen}]|[\\u200d\\ufe0f](?<![{emoji}\\ufe0f].))+")


_WHITE_SPACE = frozenset({*range(0x09, 0x0E), *range(0x1C, 0x20), 0x85})


def _class(wanted: Callable[[Properties], bool], *, but: frozenset[int]) -> str:
    """Return a character class in ranges: single characters beyond U+FFFF are tried one by one."""
    codes = {code for first, last in ranges_of(wanted) for code in range(first, last + 1)} - but
    firsts = sorted(code for code in codes if code - 1 not in codes)
    lasts = sorted(code for code in codes if code + 1 not in codes)
    return "".join(
        f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(firsts, lasts, strict=True)
    )


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
        if len(run) == 1 and has_reason(text, place.start):
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
