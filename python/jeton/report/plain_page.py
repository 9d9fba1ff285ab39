"""The page of a result that has none of its own: its short line, its figures, its rows."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

from jeton._core import __version__
from jeton._shown import NotebookResult, flat_rows
from jeton.report.result_page import Opening, PageTable, result_html, sentence

__all__ = ["plain_html"]

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
    """The result's own sentence if it has one, else its short line."""
    for name in ("headline", "verdict", "reason", "in_words"):
        said = getattr(result, name, None)
        if isinstance(said, str) and said:
            return sentence(said)
    held = {field.name for field in fields(result)}  # type: ignore[arg-type]
    said = repr(result).partition("(")[2].removesuffix(")")
    return f"{type(result).__name__}: {said}" if held else type(result).__name__


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
