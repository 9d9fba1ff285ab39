"""Rows of tokens, to look at: coloured in a terminal, separated elsewhere, ids below."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

# Backgrounds of the 256-colour palette that black text is readable on, far apart in hue.
_BACKGROUNDS = (117, 223, 157, 219, 229)
_SPECIAL_BACKGROUND = 203
_SEPARATOR = "│"
_MAX_NAME_CHARS = 20
_MIN_ROOM = 20
"""Columns for tokens that names never take away."""

Below = Literal["id", "bytes", "rank"]
"""Content of a row below the tokens."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token as it is shown; ``start`` and ``end`` count code points, the others bytes."""

    id: int
    text: str
    bytes: str
    start: int
    end: int
    special: bool
    start_byte: int = 0
    end_byte: int = 0
    rank: int | None = None

    def to_dict(self, *, with_rank: bool) -> dict[str, Any]:
        """As plain JSON values."""
        value = asdict(self)
        if not with_rank:
            del value["rank"]
        return value


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


def token_lines(
    tokens: Sequence[Token], *, below: Sequence[Below] = (), colour: bool, width: int
) -> Iterator[str]:
    """The token row, with the rows of ``below`` under it, for each stretch that fits the width."""
    row: list[_Cell] = []
    used = 0
    for cell in _cells(tokens, below):
        if row and used + cell.width + 1 > width:
            yield from _row(row, colour=colour)
            row, used = [], 0
        row.append(cell)
        used += cell.width + 1
        if cell.token.text.endswith("↵"):
            yield from _row(row, colour=colour)
            row, used = [], 0
    if row:
        yield from _row(row, colour=colour)


def aligned_lines(
    cuts: Sequence[tuple[str, Sequence[Token]]],
    *,
    below: Sequence[Below] = (),
    colour: bool,
    width: int,
) -> Iterator[str]:
    """Several cuts of one text under each other, the same stretch of the text at a time.

    A stretch ends where all cuts have a boundary. Names stand at the left; an empty line stands
    between stretches.
    """
    from rich.cells import cell_len

    names = [visible(name.encode("utf-8", "replace"))[:_MAX_NAME_CHARS] for name, _ in cuts]
    margin = max(cell_len(name) for name in names) + 2
    room = max(_MIN_ROOM, width - margin)
    is_first = True
    for stretch in _stretches([tokens for _, tokens in cuts], below, room):
        if not is_first:
            yield ""
        is_first = False
        for name, tokens in zip(names, stretch, strict=True):
            label = name + " " * (margin - cell_len(name))
            for line in token_lines(tokens, below=below, colour=colour, width=room):
                yield (label + line).rstrip()
                label = " " * margin


def _stretches(
    cuts: Sequence[Sequence[Token]], below: Sequence[Below], room: int
) -> Iterator[list[Sequence[Token]]]:
    """The tokens of each cut, stretch by stretch; a stretch fits the room if it can."""
    widths = [[cell.width + 1 for cell in _cells(tokens, below)] for tokens in cuts]
    first = [0] * len(cuts)
    last = [0] * len(cuts)
    for boundary in _common_boundaries(cuts):
        reached = [_index_at(tokens, boundary, at) for tokens, at in zip(cuts, last, strict=True)]
        too_wide = any(
            sum(widths[i][first[i] : reached[i]]) > room and last[i] > first[i]
            for i in range(len(cuts))
        )
        if too_wide:
            yield [cuts[i][first[i] : last[i]] for i in range(len(cuts))]
            first = list(last)
        last = reached
        if any(at and cuts[i][at - 1].text.endswith("↵") for i, at in enumerate(last)):
            yield [cuts[i][first[i] : last[i]] for i in range(len(cuts))]
            first = list(last)
    if any(first[i] < len(tokens) for i, tokens in enumerate(cuts)):
        yield [tokens[first[i] :] for i, tokens in enumerate(cuts)]


def _common_boundaries(cuts: Sequence[Sequence[Token]]) -> list[int]:
    """Code points at which no token of any cut is divided, ascending; the end of the text too."""
    common: set[int] | None = None
    for tokens in cuts:
        here: set[int] = set()
        reached = 0
        for token in tokens:
            if token.start >= reached:
                here.add(token.start)
            reached = max(reached, token.end)
        here.add(reached)
        common = here if common is None else common & here
    return sorted(common or ())


def _index_at(tokens: Sequence[Token], boundary: int, start: int) -> int:
    """The first token from ``start`` on that begins at the boundary or after it."""
    index = start
    while index < len(tokens) and tokens[index].start < boundary:
        index += 1
    return index


@dataclass(frozen=True, slots=True)
class _Cell:
    """A token with its colour, the lines below it and the columns it takes."""

    index: int
    token: Token
    lines: tuple[str, ...]
    width: int


def _cells(tokens: Sequence[Token], below: Sequence[Below]) -> list[_Cell]:
    from rich.cells import cell_len

    cells = []
    for index, token in enumerate(tokens):
        lines = tuple(_below(token, name) for name in below)
        width = max(cell_len(token.text), *(len(line) for line in lines), 0)
        cells.append(_Cell(index, token, lines, width))
    return cells


def _below(token: Token, name: Below) -> str:
    if name == "bytes":
        return token.bytes
    value = token.id if name == "id" else token.rank
    return "-" if value is None else str(value)


def _row(row: Sequence[_Cell], *, colour: bool) -> Iterator[str]:
    from rich.cells import cell_len

    n_below = len(row[0].lines)
    texts = []
    for cell in row:
        token = cell.token
        padding = " " * (cell.width - cell_len(token.text)) if n_below else ""
        if colour:
            background = (
                _SPECIAL_BACKGROUND
                if token.special
                else _BACKGROUNDS[cell.index % len(_BACKGROUNDS)]
            )
            texts.append(f"\x1b[38;5;16;48;5;{background}m{token.text}\x1b[0m{padding}")
        else:
            texts.append(token.text + padding)
    # The rows below keep tokens apart by their own spaces; colours do so without any.
    between = (" " if n_below else "") if colour else _SEPARATOR
    yield between.join(texts).rstrip()
    for place in range(n_below):
        line = (" " if colour else _SEPARATOR).join(f"{c.lines[place]:<{c.width}}" for c in row)
        line = line.rstrip()
        yield f"\x1b[2m{line}\x1b[0m" if colour else line
