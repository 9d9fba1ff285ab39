"""Looking into the tree of a report."""

from __future__ import annotations

from typing import Any

from jeton.report.numbers import Shown
from jeton.report.terminal import spelled
from jeton.report.tree import Fold, Gauge, Group, Marked, Section, Table, Words


def tables(section: Section | None) -> dict[str, Table]:
    """All tables of a section by their titles, whatever form they are for."""
    assert section is not None
    found: dict[str, Table] = {}
    waiting: list[Any] = list(section.blocks)
    while waiting:
        block = waiting.pop(0)
        if isinstance(block, Fold | Group):
            waiting = [*block.blocks, *waiting]
        elif isinstance(block, Table):
            found[spelled(block.title, "h")] = block
    return found


def labels(table: Table) -> list[str]:
    """Headings of the columns on the page."""
    return [spelled(column.label, "h") for column in table.columns]


def column(table: Table, label: str) -> list[Words]:
    """Cells of a column."""
    place = labels(table).index(label)
    return [row.cells[place] for row in table.rows]


def number(cell: Words) -> Shown | None:
    """The number of a cell."""
    if isinstance(cell, Marked | Gauge):
        return cell.shown
    assert cell is None or isinstance(cell, Shown)
    return cell


def texts(cells: list[Words], form: str = "h") -> list[str]:
    """Cells as plain text."""
    return [spelled(cell, form) for cell in cells]
