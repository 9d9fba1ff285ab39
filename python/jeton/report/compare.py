"""A comparison of tokenizers as tables: in a terminal, as Markdown, as JSON, on a page.

All forms are made from `Comparison.to_dict`, so that they show the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jeton.metrics.quality import loses_text
from jeton.report import markdown_parts
from jeton.report.inspector import inspector_context
from jeton.report.json_report import embed_json, safe_json
from jeton.report.markdown_text import escaped, rows, signed, text, written
from jeton.report.numbers import Numbers, Shown
from jeton.report.result_page import Opening, Sum
from jeton.report.tables import (
    Column,
    NumberCell,
    Table,
    fidelity_table,
    quality_table,
    table_of,
    tokens_table,
)
from jeton.report.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from jeton.comparing import Comparison

_EXTRA = (
    Column(
        "tokens_per_letter_word",
        "Tokens per letter word",
        "tokens that overlap a run of letters, of scripts that put spaces between words",
        "ratio",
        "less",
    ),
    Column("n_unknown_tokens", "Unknown", "tokens for text without a token", "count", "less"),
    Column("unknown_token_share", "Unknown share", "of all tokens", "share", "less"),
    Column(
        "unseen_mass",
        "Unseen",
        "tokens of more such text that will be ids not seen yet (Good-Turing)",
        "share",
    ),
    Column(
        "speed.bytes_per_second",
        "Bytes a second",
        "encoded by one thread on this machine, the median of rounds",
        "bytes",
        "more",
    ),
)

_TITLES = {
    "domain": "By domain",
    "script": "By script",
    "language": "By language",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its title; rows are tokenizers."""

    title: str
    table: Table


@dataclass(frozen=True, slots=True)
class GroupTableRow:
    """One part of the text; ``cells`` are bytes per token, in the order of the tokenizers."""

    index: int
    name: str
    documents: Shown | None
    size: Shown | None
    cells: tuple[NumberCell, ...]


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The text in parts; ``basis`` says whether all of it was counted."""

    index: int
    kind: str
    title: str
    basis: str
    meaning: str
    rows: tuple[GroupTableRow, ...]


def current_of(data: dict[str, Any]) -> int:
    """The place of the tokenizer that the others are compared with."""
    return next(i for i, item in enumerate(data["tokenizers"]) if item["is_current"])


def sections(numbers: Numbers) -> tuple[Section, ...]:
    """The tables of whole-text figures; columns that no tokenizer has are left out."""
    tokenizers = numbers.data["tokenizers"]

    def has(item: dict[str, Any], key: str) -> bool:
        first, _, last = key.partition(".")
        return item[first] is not None and (not last or item[first][last] is not None)

    columns = tuple(c for c in _EXTRA if any(has(item, c.key) for item in tokenizers))

    def cell(index: int, column: Column) -> Shown | None:
        if not has(tokenizers[index], column.key):
            return None
        return numbers.show(f"tokenizers[{index}].{column.key}", column.kind)

    found = [
        Section("Tokens", tokens_table(numbers, current=current_of(numbers.data))),
        Section("Words, unknown text, speed", table_of(numbers, columns, cell)),
    ]
    quality = quality_table(numbers)
    if quality is not None:
        found.append(Section("Quality of the cuts", quality))
    found.append(Section("Vocabulary and fidelity", fidelity_table(numbers)))
    return tuple(found)


def group_tables(numbers: Numbers) -> tuple[GroupTable, ...]:
    """Bytes per token by domain, script and language; the best of each row is marked."""
    return tuple(
        GroupTable(
            index,
            group["kind"],
            _TITLES[group["kind"]],
            group["basis"],
            group["meaning"],
            tuple(
                _group_row(numbers, f"groups[{index}].rows[{place}]", place, row, group["basis"])
                for place, row in enumerate(group["rows"])
            ),
        )
        for index, group in enumerate(numbers.data["groups"])
    )


def _group_row(
    numbers: Numbers, path: str, place: int, row: dict[str, Any], basis: str
) -> GroupTableRow:
    lossy = [loses_text(item["unreturned_by_cause"]) for item in numbers.data["tokenizers"]]
    values = [cell["bytes_per_token"] for cell in row["cells"]]
    # As in all tables: what loses text needs few tokens because it encodes less.
    known = [v for v, is_lossy in zip(values, lossy, strict=True) if v is not None and not is_lossy]
    best = max(known) if len(set(known)) > 1 else None
    return GroupTableRow(
        index=place,
        name=row["name"],
        documents=numbers.show(f"{path}.n_documents", "count", basis=basis),
        size=numbers.show(f"{path}.n_bytes", "bytes", basis=basis),
        cells=tuple(
            NumberCell(
                numbers.show(f"{path}.cells[{index}].bytes_per_token", "ratio", basis=basis),
                value is not None and value == best and not lossy[index],
            )
            for index, value in enumerate(values)
        ),
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
    is_alone = len(data["tokenizers"]) == 1
    names = [
        text(item["name"]) + (" (current)" if item["is_current"] and not is_alone else "")
        for item in data["tokenizers"]
    ]
    summary = data["text"]
    blocks = [
        "# Tokenizers side by side",
        f"{written(numbers.show('text.n_documents', 'count'))} documents, "
        f"{written(numbers.show('text.n_bytes', 'bytes'))}; words are cut at white space "
        f"(splitter `{summary['word_splitter']}`).",
    ]
    for section in sections(numbers):
        body = [
            [name, *(_markdown_cell(cell) for cell in row)]
            for name, row in zip(names, section.table.rows, strict=True)
        ]
        header = ["Tokenizer", *(column.label for column in section.table.columns)]
        blocks += [f"## {section.title}", rows(header, body)]
    blocks += markdown_parts.stability(numbers)
    for group in group_tables(numbers):
        body = [
            [
                text(row.name),
                signed(row.documents),
                escaped(signed(row.size)),
                *(_markdown_cell(cell) for cell in row.cells),
            ]
            for row in group.rows
        ]
        header = [group.kind.capitalize(), "Documents", "Text", *names]
        blocks += [
            f"## {group.title}",
            f"Bytes per token ({group.basis}). {escaped(group.meaning.capitalize())}.",
            rows(header, body),
        ]
    blocks.append(
        "**Bold** marks the best value; a tokenizer that does not restore the text is never the "
        "best; \\~ marks estimates from a sample. Intervals are in the JSON. Made by "
        f"Jeton {text(data['jeton_version'])}."
    )
    return "\n\n".join(blocks) + "\n"


def _markdown_cell(cell: NumberCell) -> str:
    shown = escaped(signed(cell.shown))
    return f"**{shown}**" if cell.is_best else shown


def comparison_html(comparison: Comparison) -> str:
    """The page: the tables, charts, and the token inspector where there is an inspection.

    Raises:
        ValueError: A figure is not a finite number.
    """
    from jeton.report.charts import bar_chart, length_charts
    from jeton.report.evidence_views import stability_rows
    from jeton.report.page import MARKERS, N_LOOKS, asset, environment

    data = comparison.to_dict()
    numbers = Numbers(data)
    n_tokenizers = len(data["tokenizers"])
    by_title = {section.title: section.table for section in sections(numbers)}
    context = {
        "data": data,
        "numbers": numbers,
        "title": "Tokenizers on one text",
        "opening": _opening(numbers),
        "current": current_of(data),
        "tokens": by_title["Tokens"],
        "extra": by_title["Words, unknown text, speed"],
        "quality": by_title.get("Quality of the cuts"),
        "fidelity": by_title["Vocabulary and fidelity"],
        "stability": stability_rows(numbers),
        "groups": group_tables(numbers),
        "charts": {
            "lengths": length_charts(numbers),
            "compression": bar_chart(
                numbers,
                name="compression",
                key="bytes_per_token",
                title="Bytes per token",
                kind="ratio",
            ),
        },
        "markers": [MARKERS[i % N_LOOKS] for i in range(n_tokenizers)],
        "looks": [i % N_LOOKS for i in range(n_tokenizers)],
        "css": asset("report.css") + asset("tokens.css") + asset("inspector.css"),
        "js": asset("tokens.js") + asset("inspector.js") + asset("copy.js"),
        "embedded": embed_json(data),
        "inspector": (
            None if comparison.inspection is None else inspector_context(comparison.inspection)
        ),
        "version": data["jeton_version"],
    }
    return environment().get_template("compare.html.j2").render(context)


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
    data = comparison.to_dict()
    _Printer(Numbers(data), console).print()


_LABEL_COLUMNS, _VALUE_COLUMNS = 24, 20
_MAX_ROWS = 20
"""Parts of the text that a terminal shows: one screen."""


class _Printer:
    """Prints one comparison to one console."""

    def __init__(self, numbers: Numbers, console: Console) -> None:
        self._numbers = numbers
        self._console = console
        self._unicode = console.encoding.lower().startswith("utf")
        self._best = " \u2605" if self._unicode else " *"
        room = console.width - _LABEL_COLUMNS
        self._n_abreast = max(1, room // _VALUE_COLUMNS)

    def print(self) -> None:
        data, show = self._numbers.data, self._numbers.show
        self._line(
            f"Text  {written(show('text.n_documents', 'count'))} "
            f"{'document' if data['text']['n_documents'] == 1 else 'documents'}, "
            f"{written(show('text.n_bytes', 'bytes'))}, "
            f"{written(show('text.n_words', 'count'))} words ({data['text']['word_splitter']})"
        )
        n = len(data["tokenizers"])
        for first in range(0, n, self._n_abreast):
            places = range(first, min(first + self._n_abreast, n))
            for section in sections(self._numbers):
                self._section(section, places)
            for group in group_tables(self._numbers):
                self._group(group, places)
        self._line(f"{self._best.strip()} best of its row   ~ estimated from a sample", "dim")

    def _line(self, words: str, style: str = "") -> None:
        self._console.print(self._text(words, style))

    def _text(self, words: str, style: str = "") -> Any:
        # Never markup: names may contain brackets and escape sequences.
        from rich.text import Text

        shown = words if self._unicode else _ascii(words)
        return Text(shown, style=style)

    def _grid(self, title: str, first: str, places: range) -> Any:
        from rich import box
        from rich.table import Table as RichTable

        table = RichTable(
            title=self._text(title, "bold"),
            title_justify="left",
            title_style="",
            box=box.SIMPLE_HEAD if self._unicode else box.ASCII2,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            header_style="",
        )
        table.add_column(self._text(first), overflow="fold", min_width=_LABEL_COLUMNS - 2)
        for place in places:
            item = self._numbers.data["tokenizers"][place]
            sign = "> " if item["is_current"] and len(self._numbers.data["tokenizers"]) > 1 else ""
            table.add_column(
                self._text(sign + visible(item["name"])), justify="right", overflow="fold"
            )
        return table

    def _section(self, section: Section, places: range) -> None:
        table = self._grid(section.title, "", places)
        for position, column in enumerate(section.table.columns):
            cells = [section.table.rows[place][position] for place in places]
            table.add_row(self._text(column.label), *(self._cell(cell) for cell in cells))
            if any(cell.interval for cell in cells):
                table.add_row(self._text("  95%", "dim"), *(self._ends(cell) for cell in cells))
        self._console.print()
        self._console.print(table)

    def _group(self, group: GroupTable, places: range) -> None:
        table = self._grid(f"{group.title}: bytes per token", group.kind.capitalize(), places)
        for row in group.rows[:_MAX_ROWS]:
            name = f"{visible(row.name)}  {signed(row.size)}"
            table.add_row(self._text(name), *(self._cell(row.cells[place]) for place in places))
        self._console.print()
        self._console.print(table)
        n_more = len(group.rows) - _MAX_ROWS
        if n_more > 0:
            self._line(f"{n_more} more; the other forms have them", "dim")

    def _cell(self, cell: NumberCell) -> Any:
        words = signed(cell.shown) + (self._best if cell.is_best else "  ")
        return self._text(words, "bold" if cell.is_best else "")

    def _ends(self, cell: NumberCell) -> Any:
        if cell.interval is None:
            return self._text("")
        low, high = cell.interval
        return self._text(f"{low.text} to {high.text}  ", "dim")


def _ascii(words: str) -> str:
    plain = words.replace("\u00a0", " ").replace("\u2212", "-")
    return plain.encode("ascii", "backslashreplace").decode()
