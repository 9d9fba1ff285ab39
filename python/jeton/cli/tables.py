"""Tables for people: aligned columns on standard output, coloured only in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from jeton.cli import streams

if TYPE_CHECKING:
    from rich.console import Console

_Item = TypeVar("_Item")

_UNBOUNDED_COLUMNS = 10_000
"""Width where nobody looks at it: a pipe gets every row on one line, nothing cut."""


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
    """Print rows under headings; the columns named in ``right`` are aligned to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(
            heading,
            justify="right" if heading in right else "left",
            overflow="fold",
            no_wrap=heading in right,
        )
    for row in rows:
        # Text, not markup: a name may hold square brackets.
        table.add_row(*(Text(streams.shown_name(cell)) for cell in row))
    if sys.stdout.isatty():
        console().print(table)
        return
    wide = console(width=_UNBOUNDED_COLUMNS)
    with wide.capture() as captured:
        wide.print(table)
    for line in captured.get().splitlines():
        streams.write_line(line.rstrip(), styled=True)


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
