"""Tables for people: aligned columns on standard output, coloured only in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from jeton.cli import streams

if TYPE_CHECKING:
    from rich.console import Console

_Item = TypeVar("_Item")

_UNBOUNDED_COLUMNS = 10_000
"""Width where nobody looks at it: a pipe gets every row on one line, nothing cut."""

_GAP_COLUMNS = 2
"""Between two columns."""


def console(*, width: int | None = None) -> Console:
    """A console on standard output; a reader that leaves early is not its business."""
    from rich.console import Console as RichConsole

    class _Console(RichConsole):
        def on_broken_pipe(self) -> None:
            # Rich would end the process with exit code 1; for us it is no error.
            raise BrokenPipeError

    return _Console(
        file=sys.stdout, width=width, no_color=not streams.colour_wanted(), highlight=False
    )


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> None:
    """Print rows under headings; the columns named in ``right`` are aligned to the right.

    In a terminal that is too narrow for names and numbers, each row becomes lines of its own.
    """
    from rich.table import Table
    from rich.text import Text

    shown = [[streams.shown_name(cell) for cell in row] for row in rows]
    if sys.stdout.isatty() and not _fits(headings, shown, right=right, width=console().width):
        _print_stacked(headings, shown)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        is_whole = heading in right or number == 0
        justify: Literal["left", "right"] = "right" if heading in right else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=is_whole)
    for row in shown:
        # Text, not markup: a name may hold square brackets.
        table.add_row(*map(Text, row))
    if sys.stdout.isatty():
        console().print(table)
        return
    wide = console(width=_UNBOUNDED_COLUMNS)
    with wide.capture() as captured:
        wide.print(table)
    for line in captured.get().splitlines():
        streams.write_line(line.rstrip(), styled=True)


def _fits(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str], width: int
) -> bool:
    """True if a line of this width holds names and numbers whole, other texts folded at words."""
    from rich.cells import cell_len

    needed = _GAP_COLUMNS * (len(headings) - 1)
    for number, (heading, *cells) in enumerate(zip(headings, *rows, strict=True)):
        is_whole = heading in right or number == 0
        parts = cells if is_whole else [word for cell in cells for word in cell.split()]
        needed += max(map(cell_len, (heading, *parts)), default=0)
    return needed <= width


def _print_stacked(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each row as a name and a line for every other cell, where no table would fit."""
    width = max(map(len, headings[1:]), default=0)
    for name, *cells in rows:
        streams.write_line(name, styled=True)
        for heading, cell in zip(headings[1:], cells, strict=True):
            if cell:
                streams.write_line(f"  {heading:<{width}}  {cell}", styled=True)


def print_rows(items: Iterable[_Item], columns: Mapping[str, Callable[[_Item], str]]) -> None:
    """Print a row for each item: a column is its heading and what it shows of the item.

    A heading that begins with ``>`` is of a column that is aligned to the right.
    """
    print_table(
        [heading.removeprefix(">") for heading in columns],
        [[cell(item) for cell in columns.values()] for item in items],
        right=[heading[1:] for heading in columns if heading.startswith(">")],
    )


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print name and value pairs, one a line, the values aligned."""
    rows = list(facts)
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        streams.write_line(f"{name:<{width}}  {streams.shown_name(value)}")
