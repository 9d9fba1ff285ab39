"""A report as a tree: sections of blocks, built once from the data.

A block says what stands there; the terminal, Markdown and the page each write it in their own way.
``forms`` names the forms that have it, a letter each: ``t`` a terminal of 80 columns, ``w`` a wide
one, ``m`` Markdown, ``h`` the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from jeton._plain import strict_json
from jeton.report.numbers import Kind, Numbers, Shown, lookup

if TYPE_CHECKING:
    from jeton.report.summary import FindingView

ALL, TERMINAL, PAPER, MARKDOWN, PAGE = "twmh", "tw", "mh", "m", "h"

Better = Literal["less", "more", ""]


@dataclass(frozen=True, slots=True)
class Quoted:
    """Other people's text, and its path in the report."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """A tokenizer by its place; ``is_current`` marks the one in use."""

    index: int
    name: Quoted
    is_current: bool = False
    is_alone: bool = False


@dataclass(frozen=True, slots=True)
class Styled:
    """Words with a look: ``tag``, ``hint``, ``strong``, ``none``."""

    words: Words
    look: str


@dataclass(frozen=True, slots=True)
class Only:
    """Words that only some forms have."""

    forms: str
    words: Words


@dataclass(frozen=True, slots=True)
class Marked:
    """A number of a column; ``interval`` holds its ends where it speaks for more text."""

    shown: Shown | None
    is_best: bool = False
    interval: tuple[Shown, Shown] | None = None


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number with a bar of some percent beside it."""

    shown: Shown | None
    percent: float


Words = str | Shown | Quoted | Named | Styled | Only | Marked | Gauge | None | tuple["Words", ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its value below a row, its heading, its meaning.

    ``better`` is empty where neither more nor less is better; ``look`` begins with ``text`` for
    words.
    """

    key: str
    label: Words
    meaning: str = ""
    kind: Kind = "count"
    better: Better = ""
    forms: str = ALL
    look: str = ""

    @property
    def is_text(self) -> bool:
        """True for words: they begin at the left."""
        return self.look.startswith("text")


def words_column(label: Words, *, look: str = "text", forms: str = ALL) -> Column:
    """A column of words."""
    return Column("", label, look=look, forms=forms)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: its name, and a cell for each column."""

    head: Words
    cells: tuple[Words, ...]
    look: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        title: Caption; ``heading`` is the title in a terminal where that says more.
        head: Heading of the first column, which names the rows.
        label: Name of the region for a screen reader, where it is not the title.
        most: Rows that a terminal, Markdown and the page show.
        n_all: Rows that the report has.
        style: Classes of the page's table; ``head_look`` those of the names of rows.
        has_meanings: True if the page explains the columns below.
    """

    title: Words
    head: Words
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    forms: str = ALL
    heading: Words = ""
    label: str = ""
    most: tuple[int, int, int] = (1000, 1000, 1000)
    n_all: int = 0
    style: str = "sortable stack"
    head_look: str = "text"
    has_meanings: bool = False

    def of(self, form: str) -> Table:
        """Keep the columns and the rows of a form."""
        places = [i for i, column in enumerate(self.columns) if form in column.forms]
        most = self.most["tmh".index("t" if form == "w" else form)]
        rows = (replace(r, cells=tuple(r.cells[i] for i in places)) for r in self.rows[:most])
        columns = tuple(self.columns[i] for i in places)
        return replace(self, columns=columns, rows=tuple(rows))

    def starred(self) -> list[bool]:
        """True for each column in which a value is the best."""
        return [
            any(isinstance(cell, Marked) and cell.is_best for cell in cells)
            for cells in zip(*(row.cells for row in self.rows), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the first screen of a terminal: a label of at most seven letters, and words."""

    label: str
    words: Words
    forms: str = TERMINAL


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; ``look`` is its class on the page."""

    words: Words
    look: str = "intro"
    forms: str = PAPER


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section."""

    words: Words
    forms: str = PAGE


@dataclass(frozen=True, slots=True)
class Items:
    """Sentences below one another."""

    items: tuple[Words, ...]
    look: str = "sentences"
    forms: str = PAPER
    item_look: str = ""


@dataclass(frozen=True, slots=True)
class FactList:
    """Names and values on the page; a third word is a class."""

    pairs: tuple[tuple[Words, ...], ...]
    look: str = "plain"
    forms: str = PAGE


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawn chart, its title, how to read it, and sentences below it."""

    title: Words
    hint: str
    svg: Markup
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Charts:
    """Charts of the page, drawn when it is written."""

    draw: Callable[[], tuple[Plot, ...]]
    look: str = "charts"
    forms: str = PAGE


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that one unfolds in some forms; in the others they stand open."""

    summary: Words
    blocks: tuple[Block | None, ...]
    forms: str = PAGE
    look: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks in a frame of the page."""

    look: str
    blocks: tuple[Block, ...]
    forms: str = PAGE


@dataclass(frozen=True, slots=True)
class Special:
    """A part of the page that has a template of its own, with its values."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    forms: str = PAGE


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings, of which the first ``n_open`` are said in full."""

    views: tuple[FindingView, ...]
    n_open: int
    forms: str = ALL


Block = (
    Line
    | Findings
    | Paragraph
    | Heading
    | Items
    | FactList
    | Table
    | Charts
    | Fold
    | Group
    | Special
)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        id: Anchor.
        title: Heading; ``link`` are the words of its link in the navigation.
        blocks: Its content.
        is_open: True if it stands open on the page; ``hint`` says what is folded.
        is_headed: True if Markdown writes the title; else the blocks speak for themselves.
    """

    id: str
    title: str
    link: str
    blocks: tuple[Block | None, ...]
    is_open: bool = True
    hint: str = ""
    is_headed: bool = False


def blocks_of(blocks: Iterable[Block | None], form: str) -> Iterator[Block]:
    """The blocks of a form; what a form does not fold stands open there, and nothing is empty."""
    for block in blocks:
        if block is None:
            continue
        if isinstance(block, Fold | Group):
            if form not in block.forms:
                yield from blocks_of(block.blocks, form)
            elif any(True for _ in blocks_of(block.blocks, form)):
                yield block
        elif form in block.forms and not _is_empty(block):
            yield block


def _is_empty(block: Block) -> bool:
    match block:
        case Table():
            return not block.rows
        case Items():
            return not block.items
        case FactList():
            return not block.pairs
        case _:
            return False


def leaves(words: Words, form: str) -> Iterator[Words]:
    """The pieces of some words that a form has."""
    if isinstance(words, tuple):
        for part in words:
            yield from leaves(part, form)
    elif isinstance(words, Only):
        if form in words.forms:
            yield from leaves(words.words, form)
    else:
        yield words


def quoted(numbers: Numbers, path: str) -> Quoted:
    """Text of the report at a path."""
    return Quoted(path, str(lookup(numbers.data, path)))


def any_value(numbers: Numbers, path: str) -> Words:
    """A value of the report: a number, a text, or other JSON."""
    found = lookup(numbers.data, path)
    if isinstance(found, bool):
        return Quoted("", "yes" if found else "no")
    if isinstance(found, int | float):
        return numbers.show(path, "count" if isinstance(found, int) else "ratio")
    return quoted(numbers, path) if isinstance(found, str) else Quoted("", strict_json(found))


def tokenizer_name(numbers: Numbers, index: int, current: int | None = None) -> Named:
    """The name of a tokenizer; marked if it is the one in use."""
    name = quoted(numbers, f"tokenizers[{index}].name")
    return Named(index, name, index == current, len(numbers.data["tokenizers"]) == 1)


def measured(
    numbers: Numbers, path: str, columns: tuple[Column, ...], *, basis: str = "exact"
) -> tuple[Shown | None, ...]:
    """The numbers of a row; a figure brings its own basis."""
    return tuple(numbers.at(f"{path}.{c.key}", c.kind, basis=basis) for c in columns)


_FIGURE_COLUMNS = (
    Column("", "Value"),
    words_column("Unit"),
    words_column("Basis"),
    words_column("Formula", look="text formula"),
)


def figure_table(
    numbers: Numbers, label: str, entries: list[tuple[Words, str]], *, title: str = "",
    more: tuple[TableRow, ...] = (), head_look: str = "text",
) -> Table:  # fmt: skip
    """Figures as JSON has them: name and path of each; value, unit, basis, formula, source."""

    def row(name: Words, path: str) -> TableRow:
        source = quoted(numbers, f"{path}.source")
        unit, basis, formula = (
            quoted(numbers, f"{path}.{k}") for k in ("unit", "basis", "formula")
        )
        said = (formula, Styled(source, "source")) if source.text else formula
        return TableRow(name, (numbers.figure(path), unit, basis, said))

    return Table(
        title,
        "Figure",
        _FIGURE_COLUMNS,
        (*(row(*entry) for entry in entries), *more),
        forms=PAGE,
        label=label,
        style="figures",
        head_look=head_look,
    )
