"""Pages and Markdown of results: one sentence to act on, two figures, pictures, then all tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jeton.report.json_report import embed_json
from jeton.report.markdown_text import escaped, rows, text
from jeton.report.numbers import Shown
from jeton.report.tree import Plot

_PLAIN_NUMBER = re.compile(r"[~+\u2212-]?[$\d][\d.,%]*")


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table; ``best`` is the row to point at, ``n_text`` its columns of words in Markdown."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Shown | str | None, ...], ...]
    best: int | None = None
    notes: tuple[str, ...] = ()
    n_text: int = 1

    @property
    def text_columns(self) -> tuple[bool, ...]:
        """True for each column that has words: those begin at the left."""
        return tuple(
            any(_is_words(row[place]) for row in self.rows) for place in range(len(self.header))
        )


@dataclass(frozen=True, slots=True)
class Sum:
    """A figure of the first screen: its name, the number, a word behind it."""

    label: str
    value: Shown | str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """The first screen: a sentence to act on, and today's figure beside the new one."""

    action: str
    sums: tuple[Sum, ...] = ()


def sentence(words: str) -> str:
    """Words as a sentence: a capital letter, a full stop."""
    end = "" if words.endswith((".", "!", "?", ":")) else "."
    return f"{words[:1].upper()}{words[1:]}{end}"


def result_html(
    data: dict[str, Any],
    *,
    title: str,
    opening: Opening,
    words: Sequence[str] = (),
    plots: Sequence[Plot] = (),
    grids: Sequence[PageTable] = (),
    basis: str = "",
) -> str:
    """The page of a result; its figures are in it as JSON."""
    from jeton.report.page import asset, environment

    return (
        environment()
        .get_template("result.html.j2")
        .render(
            data=data,
            title=title,
            opening=opening,
            words=[sentence(line) for line in words],
            plots=plots,
            grids=grids,
            basis=basis,
            css=asset("report.css"),
            js=asset("copy.js"),
            embedded=embed_json(data),
            version=data["jeton_version"],
        )
    )


def result_markdown(
    data: dict[str, Any], *, title: str, words: Sequence[str], grids: Sequence[PageTable]
) -> str:
    """A result as GitHub-flavoured Markdown."""
    blocks = [f"# {text(title)}", *(escaped(line) for line in words)]
    for grid in grids:
        body = [[escaped(cell_text(cell)) for cell in row] for row in grid.rows]
        if grid.best is not None:
            body[grid.best] = [f"**{cell}**" if cell else "" for cell in body[grid.best]]
        blocks += [f"## {text(grid.title)}", rows(list(grid.header), body, n_text=grid.n_text)]
        if grid.notes:
            blocks.append("\n".join(f"- {escaped(note)}" for note in grid.notes))
    blocks.append(f"Made by Jeton {text(data['jeton_version'])}.")
    return "\n\n".join(blocks) + "\n"


def _is_words(cell: Shown | str | None) -> bool:
    return isinstance(cell, str) and cell != "" and not _PLAIN_NUMBER.fullmatch(cell)


def cell_text(cell: Shown | str | None) -> str:
    """A cell as plain text."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else cell.text
