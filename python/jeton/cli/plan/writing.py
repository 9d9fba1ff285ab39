"""Outputs of a plan: files where options say, tables in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jeton.cli import outputs, streams, tables

if TYPE_CHECKING:
    from jeton.report.result_page import PageTable


def write_plan(
    *,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
    make_html: Callable[[], str],
    make_json: Callable[[], str],
    make_markdown: Callable[[], str],
    words: Callable[[], tuple[str, ...]],
    grids: Callable[[], tuple[PageTable, ...]],
) -> None:
    """Write a plan in every form that was asked for."""

    def show() -> None:
        for grid in grids():
            _print(grid)

    if not quiet:
        for line in words():
            streams.say(line)
    outputs.write_forms(
        html=html,
        json_file=json_file,
        markdown=markdown,
        quiet=quiet,
        make_html=make_html,
        make_json=make_json,
        make_markdown=make_markdown,
        show=show,
    )


def _print(grid: PageTable) -> None:
    from jeton.report.result_page import cell_text

    streams.write_line(grid.title)
    body = [[cell_text(cell) for cell in row] for row in grid.rows]
    header = [*grid.header]
    if grid.best is not None:
        header.append("")
        body = [[*row, "best" if i == grid.best else ""] for i, row in enumerate(body)]
    tables.print_table(header, body, right=grid.header[grid.n_text :])
    for note in grid.notes:
        streams.write_line(f"  {note}")
    streams.write_line("")
