"""The audit in a terminal: a few tables and the findings in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._plain import counted
from jeton.report.numbers import Numbers, Shown, signed
from jeton.report.sections import sections_of
from jeton.report.sections.caches import SESSIONS
from jeton.report.sections.spending import since
from jeton.report.summary import FindingView, Headline, headline
from jeton.report.tree import (
    Block,
    Findings,
    Gauge,
    Line,
    Marked,
    Named,
    Quoted,
    Styled,
    Table,
    Words,
    blocks_of,
    leaves,
)
from jeton.report.visible import visible
from jeton.report.workload import workload_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from jeton.auditing.result import AuditReport

_WIDE_COLUMNS = 100
"""From this width on the tables show all columns; 80 columns hold the most important ones."""

_LINES = ("spending", "provider", "quota", "waterfall", "basis", "bill", "requests", "tradeoff")
_TABLES = (
    "models", "spending", "caches", "tokenizers", "economics", "domains", "waterfall", "traffic",
    "training",
)  # fmt: skip
"""Order of sections in a terminal, which ends with what to do; others follow in the page's."""
_LAST = ("terms", "findings")
_SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan", "good": "green"}


def print_audit(
    report: AuditReport, console: Console | None = None, *, sessions: bool = False
) -> None:
    """Print an audit.

    Args:
        report: The audit.
        console: Where to print; standard output if not given. Colour follows the terminal and
            ``NO_COLOR``; no fact is told by colour alone.
        sessions: True if the sessions of a log are listed.
    """
    from rich.console import Console as RichConsole

    _Printer(report, console or RichConsole(highlight=False), sessions=sessions).print()


def spelled(words: Words, form: str) -> str:
    """Words as plain text: hidden characters visible, numbers with the sign of their basis."""
    return "".join(_spelled(leaf, form) for leaf in leaves(words, form))


def _spelled(leaf: Words, form: str) -> str:
    match leaf:
        case str():
            return leaf
        case Quoted():
            return visible(leaf.text)
        case Shown():
            return signed(leaf)
        case Marked() | Gauge():
            return signed(leaf.shown)
        case Named():
            is_marked = leaf.is_current and not leaf.is_alone
            return ("> " if is_marked else "") + visible(leaf.name.text)
        case Styled():
            return (", " if leaf.look == "tag" else "") + spelled(leaf.words, form)
        case _:
            return ""


class TextPrinter:
    """Prints lines and tables to a console, whatever it can write.

    Args:
        console: Where to print.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.form = "w" if console.width >= _WIDE_COLUMNS else "t"
        self._unicode = console.encoding.lower().startswith("utf")
        self.best = "\u2605" if self._unicode else "*"

    def text(self, text: str, style: str = "") -> Text:
        """Text that is never markup: names may contain brackets and escape sequences."""
        from rich.text import Text

        return Text(text if self._unicode else as_ascii(text), style=style)

    def line(self, text: str, style: str = "") -> None:
        """Print a line."""
        self.console.print(self.text(text, style))

    def below(self, grid: RichTable) -> None:
        """Print a table below an empty line."""
        self.console.print()
        self.console.print(grid)

    def cell(self, cell: Words, *, has_star: bool) -> Text:
        """A cell; where one of a column has a star, all keep its room."""
        is_best = isinstance(cell, Marked) and cell.is_best
        room = f" {self.best}" if is_best else "  " * has_star
        return self.text(spelled(cell, self.form) + room, "bold" if is_best else "")

    def grid(self, title: str) -> RichTable:
        """An empty table."""
        from rich import box
        from rich.table import Table as RichTable

        return RichTable(
            title=self.text(title, "bold"),
            title_justify="left",
            title_style="",
            box=box.SIMPLE_HEAD if self._unicode else box.ASCII2,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            header_style="",
        )


class _Printer(TextPrinter):
    """Prints one report to one console."""

    def __init__(self, report: AuditReport, console: Console, *, sessions: bool) -> None:
        super().__init__(console)
        self._data = report.to_dict()
        self._numbers = Numbers(self._data)
        self._blocks = {
            section.id: [
                block
                for block in blocks_of(section.blocks, self.form)
                if sessions or not (isinstance(block, Table) and block.label == SESSIONS)
            ]
            for section in sections_of(self._numbers)
        }

    def print(self) -> None:
        for notice in self._data["notices"]:
            self.line(f"Note    {visible(notice)}", "bold yellow")
        self._print_headline()
        for block in self._ordered(_LINES):
            if isinstance(block, Line):
                self._print_line(block)
        for line in since(self._numbers):
            self._print_line(line)
        for block in self._ordered(_TABLES):
            if isinstance(block, Table):
                self._print_table(block)
        if len(self._data["tokenizers"]) > 1:
            figures = [f for t in self._data["tokenizers"] for f in t["economics"].values()]
            is_estimated = any(figure is not None for figure in figures)
            estimated = "   ~ estimated" if is_estimated else ""
            signs = f"{self.best} best of its column   > in use{estimated}"
            self.line(signs, "dim")
        for name in _LAST:
            for block in self._blocks.get(name, ()):
                if isinstance(block, Table):
                    self._print_table(block)
                elif isinstance(block, Findings):
                    self._print_findings(block)

    def _ordered(self, first: tuple[str, ...]) -> list[Block]:
        names = [*first, *(n for n in self._blocks if n not in first and n not in _LAST)]
        return [block for name in names for block in self._blocks.get(name, ())]

    def _print_line(self, line: Line) -> None:
        self._print_beside(f"{line.label:<8}", spelled(line.words, self.form))

    def _print_headline(self) -> None:
        corpus, first = self._data["corpus"], headline(self._numbers)
        show = self._numbers.show
        facts = (
            counted(corpus["n_documents"], "document"),
            signed(show("corpus.n_bytes", "bytes")),
            f"{signed(show('corpus.n_words', 'count'))} words",
            counted(corpus["n_sources"], "source"),
        )
        self._print_beside("Input   ", workload_line(self._numbers))
        if self._data["tokenizers"]:
            self.line("Text    " + ", ".join(facts))
        line = self.text("Cost    " if first.is_money else "Length  ")
        line.append_text(self.text(f"{signed(first.total)} {first.period}", "bold"))
        if not first.is_money and self._data["tokenizers"]:
            name = visible(self._data["tokenizers"][first.tokenizer]["name"])
            line.append_text(self.text(f" with {name}"))
        self.console.print(line)
        self._print_saving(first)

    def _print_saving(self, first: Headline) -> None:
        if first.saving is None:
            return
        share = f" ({first.saving_share.text})" if first.saving_share else ""
        saved, how = f"{signed(first.saving)} a year{share}", ""
        if first.n_remedies:
            how = f" with {counted(first.n_remedies, 'change')}"
        elif first.finding is not None:
            how = f": finding {first.finding + 1}"
        elif first.candidate is not None:
            saved = f"{first.saving.text} tokens"
            how = f" with {visible(self._data['tokenizers'][first.candidate]['name'])}"
        line = self.text("Save    ")
        line.append_text(self.text(saved, "bold"))
        line.append_text(self.text(how))
        self.console.print(line)

    def _print_table(self, table: Table) -> None:
        """Print a table; where one cell of a column has a star, all keep its room."""
        table = table.of(self.form)
        n_more = table.n_all - len(table.rows)
        more = f", the first {len(table.rows)} of {table.n_all:,}" if n_more > 0 else ""
        grid = self.grid(f"{spelled(table.heading or table.title, self.form)}{more}")
        head = self.text(spelled(table.head, self.form))
        grid.add_column(head, overflow="fold", min_width=10)
        for column in table.columns:
            label = self.text(spelled(column.label, self.form))
            grid.add_column(label, justify="left" if column.is_text else "right", overflow="fold")
        starred = table.starred()
        for row in table.rows:
            name = self.text(spelled(row.head, self.form))
            cells = zip(row.cells, starred, strict=True)
            grid.add_row(name, *(self.cell(cell, has_star=has_star) for cell, has_star in cells))
        self.below(grid)

    def _print_findings(self, found: Findings) -> None:
        self.console.print()
        self.line("Findings", "bold")
        if not found.views:
            self.line("none: no check found anything worth changing")
        for view in found.views[: found.n_open]:
            self._print_head(view)
            for label, key in (("", "title"), ("why  ", "cause"), ("do   ", "remedy")):
                if view.data[key]:
                    self._print_under(label, visible(view.data[key]), "bold")
        for view in found.views[found.n_open :]:
            self._print_head(view)
            self._print_under("", visible(view.data["title"]))
        if len(found.views) > found.n_open:
            self.console.print(
                self.text("--html, --markdown and --json have causes and remedies of all", "dim")
            )

    def _print_head(self, view: FindingView) -> None:
        severity = view.data["severity"]
        head = self.text(f"{view.index + 1:>2} ")
        head.append_text(self.text(f"{severity}  ", _SEVERITY_STYLES[severity]))
        if view.saving is not None:
            head.append_text(self.text(f"saves {signed(view.saving)} a year", "bold"))
        self.console.print(head)

    def _print_under(self, label: str, text: str, style: str = "") -> None:
        """Print words of a finding below its head."""
        from rich.padding import Padding

        if label:
            self._print_beside(label, text, "dim", 3)
        else:
            self.console.print(Padding(self.text(text, style), (0, 0, 0, 3)))

    def _print_beside(self, label: str, text: str, style: str = "", indent: int = 0) -> None:
        from rich.padding import Padding
        from rich.table import Table as RichTable

        grid = RichTable.grid(padding=0)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(self.text(label, style), self.text(text))
        self.console.print(Padding(grid, (0, 0, 0, indent)))


def as_ascii(text: str) -> str:
    """Replace signs that a terminal without Unicode cannot print by their plain twins."""
    plain = text.replace("\u2212", "-").replace("\u00a0", " ").replace("\u2248", "~")
    return plain.encode("ascii", "backslashreplace").decode("ascii")
