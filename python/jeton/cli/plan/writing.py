"""Traffic of a plan, and its outputs: files where options say, tables in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jeton._plain import counted
from jeton.cli import streams, tables

if TYPE_CHECKING:
    from jeton.cli.options import ReportOptions
    from jeton.corpus.traces import Trace
    from jeton.report.result_page import PageTable


def read_traffic(path: str, *, rate: float | None, strict: bool) -> Trace:
    """Read a trace, and say which rows were left out or sorted in."""
    from jeton.corpus.traces import read_trace

    trace = read_trace(path, requests_per_second=rate, strict=strict)
    if trace.rejected:
        reasons = ", ".join(f"{n:,} with {reason}" for reason, n in trace.rejected.items())
        first = next(iter(trace.examples.values()), ("",))[0]
        streams.say(f"{path}: left out rows that cannot be meant: {reasons}; the first is {first}")
    if trace.n_out_of_order:
        streams.say(
            f"{path}: {counted(trace.n_out_of_order, 'row')} came before one above; sorted in"
        )
    return trace


def write_plan(
    files: ReportOptions,
    *,
    words: Callable[[], tuple[str, ...]],
    grids: Callable[[], tuple[PageTable, ...]],
    **forms: Any,
) -> None:
    """Write a plan in every form asked for; ``forms`` are those of `ReportOptions.write`."""

    def show() -> None:
        for grid in grids():
            _print(grid)

    if not files.quiet:
        for line in words():
            streams.say(line)
    files.write(show=show, **forms)


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
