"""A comparison of tokenizers as tables: in a terminal, as Markdown, as JSON, on a page.

All forms are made from `Comparison.to_dict`, so that they show the same numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jeton._plain import counted
from jeton.metrics.quality import loses_text
from jeton.report.inspector import inspector_context
from jeton.report.json_report import embed_json, safe_json
from jeton.report.markdown import block_markdown, table_markdown, written
from jeton.report.markdown_text import escaped, signed, text
from jeton.report.numbers import Numbers, Shown
from jeton.report.page import asset, page_context, rendered
from jeton.report.result_page import Opening, Sum
from jeton.report.sections.tokenizers import side_by_side, stability
from jeton.report.tables import columns_of, fidelity_table, quality_table, table_of, tokens_table
from jeton.report.terminal import TextPrinter, spelled
from jeton.report.tree import (
    MARKDOWN,
    PAPER,
    Column,
    Marked,
    Paragraph,
    Section,
    Table,
    TableRow,
    Words,
    quoted,
    tokenizer_name,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    from jeton.comparing import Comparison

_TITLES = {
    "domain": "By domain",
    "script": "By script",
    "language": "By language",
}


def current_of(data: dict[str, Any]) -> int:
    """The place of the tokenizer that the others are compared with."""
    return next(i for i, item in enumerate(data["tokenizers"]) if item["is_current"])


def tables(numbers: Numbers) -> tuple[Table, ...]:
    """The tables of whole-text figures; columns that no tokenizer has are left out."""
    quality = quality_table(numbers)
    return (
        tokens_table(numbers, current=current_of(numbers.data)),
        _extra(numbers),
        *((replace(quality, heading="Quality of the cuts"),) if quality else ()),
        replace(fidelity_table(numbers), heading="Vocabulary and fidelity"),
    )


def _extra(numbers: Numbers) -> Table:
    """Words, unknown text and speed."""
    tokenizers = numbers.data["tokenizers"]

    def has(item: dict[str, Any], key: str) -> bool:
        first, _, last = key.partition(".")
        return item[first] is not None and (not last or item[first][last] is not None)

    def cell(index: int, column: Column) -> Shown | None:
        if not has(tokenizers[index], column.key):
            return None
        return numbers.show(f"tokenizers[{index}].{column.key}", column.kind)

    columns = tuple(
        c for c in columns_of("comparison") if any(has(item, c.key) for item in tokenizers)
    )
    title = "Fertility of letter words, unknown text, and speed on this machine"
    return table_of(numbers, title, columns, cell, heading="Words, unknown text, speed")


def group_table(numbers: Numbers, index: int) -> Table:
    """Bytes per token of the parts of the text; the best of each row is marked."""
    group = numbers.data["groups"][index]
    basis = group["basis"]
    lossy = [loses_text(item["unreturned_by_cause"]) for item in numbers.data["tokenizers"]]
    rows = []
    for place, row in enumerate(group["rows"]):
        path = f"groups[{index}].rows[{place}]"
        values = [cell["bytes_per_token"] for cell in row["cells"]]
        # As in all tables: what loses text needs few tokens because it encodes less.
        known = [v for v, lost in zip(values, lossy, strict=True) if v is not None and not lost]
        best = max(known) if len(set(known)) > 1 else None
        cells = (
            numbers.show(f"{path}.n_documents", "count", basis=basis),
            numbers.show(f"{path}.n_bytes", "bytes", basis=basis),
            *(
                Marked(
                    numbers.show(f"{path}.cells[{i}].bytes_per_token", "ratio", basis=basis),
                    value is not None and value == best and not lossy[i],
                )
                for i, value in enumerate(values)
            ),
        )
        rows.append(TableRow(quoted(numbers, f"{path}.name"), cells))
    columns = (
        Column("", "Documents", forms=MARKDOWN if group["kind"] == "script" else PAPER),
        Column("", "Text", forms=PAPER),
        *(Column("", tokenizer_name(numbers, i)) for i in range(len(lossy))),
    )
    kind, title = group["kind"].capitalize(), _TITLES[group["kind"]]
    return Table(
        title, kind, columns, tuple(rows), label=f"{title}, the table", style="sortable domains"
    )


def sections_of(numbers: Numbers) -> tuple[Section, ...]:
    """The parts of the page."""
    current = current_of(numbers.data)
    tokens = tokens_table(numbers, current=current)
    groups = []
    for index, group in enumerate(numbers.data["groups"]):
        drawn = "" if group["basis"] == "exact" else " From an even draw of the text."
        said = f"Bytes per token, more is better. {group['meaning'].capitalize()}.{drawn}"
        table, title = group_table(numbers, index), _TITLES[group["kind"]]
        groups.append(Section(f"by-{group['kind']}", title, title, (Paragraph(said), table)))
    title = "Tokenizers side by side"
    more = (_extra(numbers),)
    return (
        Section("tokenizers", title, "Side by side", (tokens, *side_by_side(numbers, current))),
        Section("more", "Words, unknown text, speed", "Words, speed", more),
        *groups,
    )


def comparison_json(comparison: Comparison) -> str:
    """As JSON text with a line end.

    Raises:
        ValueError: A figure is not a finite number.
    """
    return safe_json(comparison.to_dict())


def comparison_markdown(comparison: Comparison) -> str:
    """As GitHub-flavoured Markdown."""
    data = comparison.to_dict()
    numbers = Numbers(data)
    summary = data["text"]
    blocks = [
        "# Tokenizers side by side",
        f"{signed(numbers.show('text.n_documents', 'count'))} documents, "
        f"{signed(numbers.show('text.n_bytes', 'bytes'))}; words are cut at white space "
        f"(splitter `{summary['word_splitter']}`).",
    ]
    for table in tables(numbers):
        blocks += [f"## {written(table.heading)}", table_markdown(table)]
    for block in stability(numbers):
        blocks += block_markdown(block)
    for index, group in enumerate(data["groups"]):
        blocks += [
            f"## {_TITLES[group['kind']]}",
            f"Bytes per token ({group['basis']}). {escaped(group['meaning'].capitalize())}.",
            table_markdown(group_table(numbers, index)),
        ]
    blocks.append(
        "**Bold** marks the best value; a tokenizer that does not restore the text is never the "
        "best; \\~ marks estimates from a sample. Intervals are in the JSON. Made by "
        f"Jeton {text(data['jeton_version'])}."
    )
    return "\n\n".join(blocks) + "\n"


def comparison_html(comparison: Comparison) -> str:
    """The page: the tables, charts, and the token inspector where there is an inspection.

    Raises:
        ValueError: A figure is not a finite number.
    """
    data = comparison.to_dict()
    numbers = Numbers(data)
    context = {
        **page_context(numbers, current_of(data)),
        "title": "Tokenizers on one text",
        "opening": _opening(numbers),
        "parts": sections_of(numbers),
        "css": asset("report.css") + asset("tokens.css") + asset("inspector.css"),
        "js": asset("tokens.js") + asset("inspector.js") + asset("copy.js"),
        "embedded": embed_json(data),
        "inspector": (
            None if comparison.inspection is None else inspector_context(comparison.inspection)
        ),
        "version": data["jeton_version"],
    }
    return rendered("compare.html.j2", context)


def _opening(numbers: Numbers) -> Opening:
    """The tokenizer to take, and its tokens beside those of the one in use."""
    data = numbers.data
    current = current_of(data)
    items = data["tokenizers"]
    others = [
        n
        for n, item in enumerate(items)
        if n != current and not loses_text(item["unreturned_by_cause"])
    ]
    best = min(others, key=lambda n: items[n]["n_tokens"], default=current)
    sums = tuple(
        Sum(items[n]["name"], numbers.show(f"tokenizers[{n}].n_tokens", "count") or "", "tokens")
        for n in dict.fromkeys((current, best))
    )
    name, other = items[current]["name"], items[best]["name"]
    saved = 1 - items[best]["n_tokens"] / max(items[current]["n_tokens"], 1)
    if best == current:
        return Opening(f"Name a second tokenizer to compare {name} with", sums)
    if saved <= 0:
        return Opening(f"Keep {name}: no other needs fewer tokens for this text", sums)
    return Opening(f"{other} needs {saved:.1%} fewer tokens than {name} for this text", sums)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the tables: measures below each other, tokenizers side by side.

    More tokenizers than fit the width are printed in further blocks.
    """
    _Printer(Numbers(comparison.to_dict()), console).print()


_LABEL_COLUMNS, _VALUE_COLUMNS = 24, 20
_MAX_ROWS = 20
"""Parts of the text that a terminal shows: one screen."""


class _Printer(TextPrinter):
    """Prints one comparison to one console."""

    def __init__(self, numbers: Numbers, console: Console) -> None:
        super().__init__(console)
        self._numbers = numbers
        room = console.width - _LABEL_COLUMNS
        self._n_abreast = max(1, room // _VALUE_COLUMNS)

    def print(self) -> None:
        data, show = self._numbers.data, self._numbers.show
        self.line(
            f"Text  {counted(data['text']['n_documents'], 'document')}, "
            f"{signed(show('text.n_bytes', 'bytes'))}, "
            f"{signed(show('text.n_words', 'count'))} words ({data['text']['word_splitter']})"
        )
        n = len(data["tokenizers"])
        for first in range(0, n, self._n_abreast):
            places = range(first, min(first + self._n_abreast, n))
            for table in tables(self._numbers):
                self._turned(table, places)
            for index in range(len(data["groups"])):
                self._group(index, places)
        self.line(f"{self.best} best of its row   ~ estimated from a sample", "dim")

    def _grid(self, title: str, first: str, places: range) -> RichTable:
        grid = self.grid(title)
        grid.add_column(self.text(first), overflow="fold", min_width=_LABEL_COLUMNS - 2)
        for place in places:
            name = tokenizer_name(self._numbers, place, current_of(self._numbers.data))
            grid.add_column(self.text(spelled(name, "t")), justify="right", overflow="fold")
        return grid

    def _turned(self, table: Table, places: range) -> None:
        """Print a table with its columns as rows."""
        grid = self._grid(spelled(table.heading, "t"), "", places)
        for position, column in enumerate(table.columns):
            cells = [table.rows[place].cells[position] for place in places]
            grid.add_row(self.text(spelled(column.label, "t")), *(self._cell(c) for c in cells))
            if any(isinstance(cell, Marked) and cell.interval for cell in cells):
                grid.add_row(self.text("  95%", "dim"), *(self._ends(cell) for cell in cells))
        self.below(grid)

    def _group(self, index: int, places: range) -> None:
        table = group_table(self._numbers, index)
        title = f"{spelled(table.title, 't')}: bytes per token"
        grid = self._grid(title, spelled(table.head, "t"), places)
        for row in table.rows[:_MAX_ROWS]:
            _, size, *cells = row.cells
            name = f"{spelled(row.head, 't')}  {spelled(size, 't')}"
            grid.add_row(self.text(name), *(self._cell(cells[place]) for place in places))
        self.below(grid)
        n_more = len(table.rows) - _MAX_ROWS
        if n_more > 0:
            self.line(f"{n_more} more; the other forms have them", "dim")

    def _cell(self, cell: Words) -> RichText:
        return self.cell(cell, has_star=True)

    def _ends(self, cell: Words) -> RichText:
        if not isinstance(cell, Marked) or cell.interval is None:
            return self.text("")
        low, high = cell.interval
        return self.text(f"{low.text} to {high.text}  ", "dim")
