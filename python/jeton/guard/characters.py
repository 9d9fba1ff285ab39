"""Properties of characters that the guard judges by, from one generated table.

The table is ``unicode.json`` (``python -m scripts.guard_tables``), made from Unicode 18.0.0. Each
code point has a class, a script, a joining type and flags. The core's scanner and its twin in
Python read this table, so both know the same characters.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

CLASSES: Final = (
    "other",
    "letter",
    "digit",
    "mark",
    "virama",
    "compatible",
    "emoji",
    "modifier",
    "braille",
    "control",
    "line-end",
    "private",
    "noncharacter",
    "unassigned",
    "surrogate",
    # From here on: characters without ink.
    "ignorable",
    "non-joiner",
    "joiner",
    "zero-width-space",
    "byte-order-mark",
    "soft-hyphen",
    "selector",
    "ideographic-selector",
    "mongolian-selector",
    "tag",
    "bidi-control",
    "bidi-mark",
)
"""Classes of code points; a code point has one. The core knows them by their numbers."""

FIRST_HIDDEN: Final = CLASSES.index("ignorable")
"""Number of the first class of characters without ink; all later ones have none either."""

JOINING_TYPES: Final = (
    "Non_Joining",
    "Join_Causing",
    "Dual_Joining",
    "Right_Joining",
    "Left_Joining",
    "Transparent",
)
"""Joining types (The Unicode Standard, section 9.2), by number."""


class Flag(IntFlag):
    """Properties of a code point that are true or false."""

    EMOJI = 1
    """U+FE0E and U+FE0F may follow it (property Emoji)."""
    VARIANT_BASE = 2
    """A standardized variation sequence begins with it."""
    BREAKS = 4
    """It belongs to a script without spaces between words."""
    RTL = 8
    """It is written from right to left (Bidi_Class R or AL)."""
    IDEOGRAPH = 16
    """Ideographic variation sequences begin with such a character."""


@dataclass(frozen=True, slots=True)
class Properties:
    """Row of the table.

    Attributes:
        kind: Number of the class in ``CLASSES``.
        script: Number of the script in ``scripts()``; 0 Common, 1 Inherited.
        joining: Number of the joining type in ``JOINING_TYPES``.
        flags: Flags.
    """

    kind: int
    script: int
    joining: int
    flags: Flag

    @property
    def is_hidden(self) -> bool:
        """True if the character has no ink of its own."""
        return self.kind >= FIRST_HIDDEN


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """Return the generated table as it lies in its file."""
    text = files("jeton.guard").joinpath("unicode.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@lru_cache(maxsize=1)
def _ranges() -> tuple[list[int], list[Properties]]:
    found = table()
    rows = [
        Properties(kind, script, joining, Flag(flags))
        for kind, script, joining, flags in found["rows"]
    ]
    flat = found["ranges"]
    starts, start = [], 0
    for step in flat[0::2]:
        start += step
        starts.append(start)
    return starts, [rows[number] for number in flat[1::2]]


@lru_cache(maxsize=65_536)
def properties(char: str) -> Properties:
    """Return the properties of one character.

    Example:
        >>> CLASSES[properties(chr(0x200D)).kind]
        'joiner'
    """
    starts, rows = _ranges()
    return rows[bisect_right(starts, ord(char)) - 1]


def ranges_of(wanted: Callable[[Properties], bool]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of code points whose properties are wanted, first and last."""
    starts, rows = _ranges()
    for start, end, row in zip(starts, [*starts[1:], sys.maxunicode + 1], rows, strict=True):
        if wanted(row):
            yield start, end - 1


def scripts() -> list[str]:
    """Return the names of the scripts, by number."""
    names: list[str] = table()["scripts"]
    return names


def script_of(char: str) -> str:
    """Return the script of a character (``"Latin"``, ``"Common"``)."""
    return scripts()[properties(char).script]


@lru_cache(maxsize=1)
def folds() -> dict[str, str]:
    """Return the plain ASCII character for each character that passes for one."""
    return {char: plain for plain, chars in table()["folds"].items() for char in chars}


@lru_cache(maxsize=1)
def _skeletons() -> dict[str, str]:
    return {char: plain for plain, chars in table()["skeletons"].items() for char in chars}


def skeleton(text: str) -> str:
    """Return the text with its confusable characters in ASCII (UTS #39, ASCII skeletons only).

    Two ASCII letters that look alike stay different here: the skeleton is for showing what a
    reader sees.

    Example:
        >>> skeleton("p" + chr(0x430) + "ypal")
        'paypal'
    """
    known = _skeletons()
    return "".join(known.get(char, char) for char in unicodedata.normalize("NFC", text))


_CONTROL_NAMES: Final = {
    0x00: "NULL",
    0x07: "BELL",
    0x08: "BACKSPACE",
    0x0B: "LINE TABULATION",
    0x1B: "ESCAPE",
    0x7F: "DELETE",
    0x9B: "CONTROL SEQUENCE INTRODUCER",
}


def name_of(char: str) -> str:
    """Return the name of a character; for one without a name, its class.

    Example:
        >>> name_of(chr(0x200B))
        'ZERO WIDTH SPACE'
    """
    named = unicodedata.name(char, "") or _CONTROL_NAMES.get(ord(char), "")
    return named or CLASSES[properties(char).kind].upper()
