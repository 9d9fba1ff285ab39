"""Rows of tokens, to look at: coloured in a terminal, separated elsewhere, ids below."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Token", "terminal_width", "token_lines", "visible"]

# Backgrounds of the 256-colour palette that black text is readable on, far apart in hue.
_BACKGROUNDS = (117, 223, 157, 219, 229)
_SPECIAL_BACKGROUND = 203
_SEPARATOR = "│"


@dataclass(frozen=True, slots=True)
class Token:
    """One token as it is shown; ``start`` and ``end`` count code points."""

    id: int
    text: str
    bytes: str
    start: int
    end: int
    special: bool


def visible(token_bytes: bytes) -> str:
    r"""A token as it can be seen, and safely printed.

    Example:
        >>> visible(b" a\n"), visible(b"\xe2\x80"), visible(b"\x1b[31m")
        ('·a↵', '\\xe2\\x80', '\\x1b[31m')
    """
    shown = {" ": "·", "\t": "→", "\n": "↵", "\r": "␍"}
    text = token_bytes.decode("utf-8", "backslashreplace")
    return "".join(
        shown.get(c) or (c if c.isprintable() else c.encode("unicode_escape").decode())
        for c in text
    )


def terminal_width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def token_lines(tokens: list[Token], *, ids: bool, colour: bool, width: int) -> Iterator[str]:
    """The token row, with the id row below, for each stretch that fits the width."""
    from rich.cells import cell_len

    row: list[tuple[int, Token, int]] = []
    used = 0
    for index, token in enumerate(tokens):
        cells = max(cell_len(token.text), len(str(token.id)) if ids else 0)
        if row and used + cells + 1 > width:
            yield from _row(row, ids=ids, colour=colour)
            row, used = [], 0
        row.append((index, token, cells))
        used += cells + 1
        if token.text.endswith("↵"):
            yield from _row(row, ids=ids, colour=colour)
            row, used = [], 0
    if row:
        yield from _row(row, ids=ids, colour=colour)


def _row(row: list[tuple[int, Token, int]], *, ids: bool, colour: bool) -> Iterator[str]:
    from rich.cells import cell_len

    texts, numbers = [], []
    for index, token, cells in row:
        padding = " " * (cells - cell_len(token.text)) if ids else ""
        if colour:
            background = (
                _SPECIAL_BACKGROUND if token.special else _BACKGROUNDS[index % len(_BACKGROUNDS)]
            )
            texts.append(f"\x1b[38;5;16;48;5;{background}m{token.text}\x1b[0m{padding}")
        else:
            texts.append(token.text + padding)
        numbers.append(f"{token.id:<{cells}}")
    # Ids keep tokens apart by their own spaces; colours do so without any.
    between = (" " if ids else "") if colour else _SEPARATOR
    yield between.join(texts).rstrip()
    if ids:
        line = (" " if colour else _SEPARATOR).join(numbers).rstrip()
        yield f"\x1b[2m{line}\x1b[0m" if colour else line
