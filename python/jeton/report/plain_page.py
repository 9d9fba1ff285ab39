"""The page of a result that has none of its own: its short line, its figures, its rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from jeton._core import __version__
from jeton._plain import counted
from jeton._shown import NotebookResult, flat_rows
from jeton.report.result_page import Opening, PageTable, result_html

_MOST_ROWS = 500


def plain_html(result: NotebookResult) -> str:
    """The page: a result in one line, then what it holds."""
    rows = result._rows()
    names = [*dict.fromkeys(name for row in rows for name in row)]
    table = PageTable(
        result._table.replace("_", " ").capitalize() or "Values",
        tuple(_words(name) for name in names),
        tuple(tuple(_cell(row.get(name)) for name in names) for row in rows[:_MOST_ROWS]),
        notes=(f"the first {_MOST_ROWS} of {len(rows):,} rows",) if len(rows) > _MOST_ROWS else (),
    )
    grids = [table] if rows else []
    if result._table:
        own = flat_rows([result])[0]
        facts = tuple((_words(name), _cell(value)) for name, value in own.items())
        grids.append(PageTable("The result", ("Figure", "Value"), facts, n_text=2))
    return result_html(
        {"jeton_version": __version__, "schema_version": "jeton.result/1", "rows": _plain(rows)},
        title=type(result).__name__,
        opening=Opening(_action(result)),
        grids=grids,
    )


def _action(result: NotebookResult) -> str:
    """A sentence to act on, as far as a result has one; else its short line."""
    best = getattr(result, "best", None)
    if isinstance(best, str):
        return f"Take {best}"
    if result._table == "findings":
        n = len(getattr(result, result._table))
        return f"Look at {counted(n, 'finding')}, the gravest first" if n else "Nothing was found"
    if isinstance(is_same := getattr(result, "is_same", None), bool):
        return "Nothing changed" if is_same else "Look at what changed before you go on"
    return f"{type(result).__name__}: {repr(result).partition('(')[2].removesuffix(')')}"


def _words(name: str) -> str:
    words = name.removeprefix("n_").replace("_", " ").replace(".", ", ")
    return words[:1].upper() + words[1:]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return str(value)


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as JSON has them."""
    return [
        {name: str(value) if isinstance(value, Decimal) else value for name, value in row.items()}
        for row in rows
    ]
