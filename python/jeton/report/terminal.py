"""The audit in a terminal: a few tables and the findings in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jeton._plain import counted
from jeton.report import terminal_parts as parts_of
from jeton.report.numbers import Numbers, Shown
from jeton.report.simulation_text import simulation_grid
from jeton.report.summary import (
    FindingView,
    Headline,
    current_tokenizer,
    findings,
    headline,
    n_open_findings,
    worst_terms,
)
from jeton.report.tables import Table, economics_table, tokens_table
from jeton.report.terminal_parts import signed
from jeton.report.training_text import training_grid
from jeton.report.visible import visible
from jeton.report.workload import workload_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from jeton.auditing.result import AuditReport

_N_TERMS = 8
_N_CHANGES = 3
_WIDE_COLUMNS = 100
"""From this width on the tables show all columns; 80 columns hold the most important ones."""

_NARROW_TOKENS = (
    "n_tokens",
    "change",
    "bytes_per_token",
    "tokens_per_document.mean",
    "tokens_per_document.p95",
)
_NARROW_MEMORY = (
    "kv_bytes_per_request_mean",
    "weights_bytes",
    "n_gpus",
    "longest_context_tokens",
    "concurrent_requests_mean",
)
_NARROW_OWN = ("own_gpu_seconds_per_request", "own_gpu_usd_per_mtok", "own_gpu_usd_per_month")
_WIDE_MEMORY = (
    "kv_bytes_per_token",
    "kv_bytes_per_request_mean",
    "kv_bytes_per_request_p95",
    "kv_bytes_per_request_full_pages",
    "weights_bytes",
    "n_gpus",
    "kv_cache_tokens",
    "longest_context_tokens",
    "concurrent_requests_mean",
    "concurrent_requests_p95",
)
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


class _Printer:
    """Prints one report to one console."""

    def __init__(self, report: AuditReport, console: Console, *, sessions: bool) -> None:
        self._sessions = sessions
        self._data = report.to_dict()
        self._numbers = Numbers(self._data)
        self._console = console
        self._current = current_tokenizer(self._data)
        unicode = console.encoding.lower().startswith("utf")
        self._best = "\u2605" if unicode else "*"
        self._unicode = unicode

    def print(self) -> None:
        for notice in self._data["notices"]:
            self._console.print(self._text(f"Note    {visible(notice)}", "bold yellow"))
        self._print_headline()
        self._print_tables()
        self._print_terms()
        self._print_findings()

    def _text(self, text: str, style: str = "") -> Text:
        # Never markup: names and terms may contain brackets and escape sequences.
        from rich.text import Text

        return Text(text if self._unicode else _ascii(text), style=style)

    def _print_headline(self) -> None:
        corpus, first = self._data["corpus"], headline(self._numbers)
        show = self._numbers.show
        facts = [
            counted(corpus["n_documents"], "document"),
            f"{_written(show('corpus.n_bytes', 'bytes'))}",
            f"{_written(show('corpus.n_words', 'count'))} words",
            counted(corpus["n_sources"], "source"),
        ]
        self._print_labelled("Input   ", workload_line(self._numbers))
        if self._data["tokenizers"]:
            self._console.print(self._text("Text    " + ", ".join(facts)))
        line = self._text("Cost    " if first.is_money else "Length  ")
        line.append_text(self._text(f"{signed(first.total)} {first.period}", "bold"))
        if not first.is_money and self._data["tokenizers"]:
            name = visible(self._data["tokenizers"][first.tokenizer]["name"])
            line.append_text(self._text(f" with {name}"))
        self._console.print(line)
        self._print_saving(first)
        for label, text in parts_of.lines(self._numbers):
            self._print_labelled(f"{label:<8}", text)

    def _print_saving(self, first: Headline) -> None:
        if first.saving is None:
            return
        line = self._text("Save    ")
        share = f" ({first.saving_share.text})" if first.saving_share else ""
        if first.n_remedies:
            line.append_text(self._text(f"{signed(first.saving)} a year{share}", "bold"))
            words = "change" if first.n_remedies == 1 else "changes"
            line.append_text(self._text(f" with {first.n_remedies} {words}"))
        elif first.finding is not None:
            line.append_text(self._text(f"{signed(first.saving)} a year{share}", "bold"))
            line.append_text(self._text(f": finding {first.finding + 1}"))
        elif first.candidate is not None:
            candidate = visible(self._data["tokenizers"][first.candidate]["name"])
            line.append_text(self._text(f"{first.saving.text} tokens", "bold"))
            line.append_text(self._text(f" with {candidate}"))
        self._console.print(line)

    def _print_tables(self) -> None:
        self._print_changes()
        self._print_grid(parts_of.models(self._numbers))
        self._print_grid(parts_of.spending(self._numbers))
        self._print_grid(parts_of.billed(self._numbers))
        self._print_grid(parts_of.caches(self._numbers))
        if self._sessions:
            self._print_grid(parts_of.sessions(self._numbers))
        if not self._data["tokenizers"]:
            return
        wide = self._console.width >= _WIDE_COLUMNS
        tokens = tokens_table(self._numbers, current=self._current)
        self._print_table("Tokens", tokens if wide else tokens.only(*_NARROW_TOKENS))
        money = economics_table(self._numbers, part="money")
        if money is not None:
            self._print_table(self._money_title(), money)
        memory = economics_table(self._numbers, part="memory")
        if memory is not None:
            self._print_table(
                self._memory_title(), memory.only(*(_WIDE_MEMORY if wide else _NARROW_MEMORY))
            )
        own = economics_table(self._numbers, part="own")
        if own is not None:
            self._print_table("On your own GPUs", own if wide else own.only(*_NARROW_OWN))
        self._print_grid(parts_of.domains(self._numbers, current=self._current))
        self._print_grid(parts_of.domain_bills(self._numbers))
        self._print_grid(parts_of.waterfall(self._numbers))
        self._print_grid(parts_of.comparison(self._numbers))
        self._print_grid(simulation_grid(self._numbers, wide=wide))
        self._print_grid(training_grid(self._numbers))
        if len(self._data["tokenizers"]) > 1:
            signs = f"{self._best} best of its column   > in use"
            if money is not None or memory is not None:
                signs += "   ~ estimated"
            self._console.print(self._text(signs, "dim"))

    def _print_changes(self) -> None:
        """Since when something is different."""
        timeline = self._data["timeline"]
        for change in (timeline["changes"] if timeline else ())[:_N_CHANGES]:
            self._print_labelled("Since   ", visible(change["text"]))

    def _money_title(self) -> str:
        workload = self._data["workload"]
        # The dollars of a log are those of all its models.
        n_models = len((self._data.get("ledger") or {}).get("by_model") or ())
        priced = f"{n_models} models" if n_models > 1 else visible(workload["price_model"] or "")
        title = f"Cost with each tokenizer  {priced}".rstrip()
        return f"{title}, prices of {workload['price_date']}" if workload["price_date"] else title

    def _memory_title(self) -> str:
        workload = self._data["workload"]
        title = "Memory  " + visible(workload["model"] or "")
        if workload.get("weights"):
            title += f" (weights {visible(workload['weights'])})"
        if not workload["gpu"]:
            return title
        held = {
            t["economics"]["n_gpus"]["value"]
            for t in self._data["tokenizers"]
            if t["economics"].get("n_gpus")
        }
        # Tokenizers with another vocabulary may need another number: then the column tells.
        many = f"{held.pop()} x " if len(held) == 1 else ""
        return f"{title} on {many}{visible(workload['gpu'])}"

    def _rich_table(self, title: str) -> RichTable:
        from rich import box
        from rich.table import Table as RichTable

        return RichTable(
            title=self._text(title, "bold"),
            title_justify="left",
            title_style="",
            box=box.SIMPLE_HEAD if self._unicode else box.ASCII2,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            header_style="",
        )

    def _print_table(self, title: str, table: Table) -> None:
        if not table.columns:
            return
        rich_table = self._rich_table(title)
        rich_table.add_column(self._text("Tokenizer"), overflow="fold", ratio=None, min_width=10)
        for column in table.columns:
            rich_table.add_column(self._text(column.label), justify="right", overflow="fold")
        has_best = [any(cell.is_best for cell in cells) for cells in zip(*table.rows, strict=True)]
        for index, row in enumerate(table.rows):
            texts = []
            for position, cell in enumerate(row):
                # Where one cell has the sign, all keep its room: digits stay below digits.
                room = f" {self._best}" if cell.is_best else "  " if has_best[position] else ""
                texts.append(self._text(signed(cell.shown) + room, "bold" if cell.is_best else ""))
            rich_table.add_row(self._name(index), *texts)
        self._console.print()
        self._console.print(rich_table)

    def _print_grid(self, grid: parts_of.Grid | None) -> None:
        if grid is None:
            return
        table = self._rich_table(grid.title)
        table.add_column(self._text(grid.header[0]), overflow="fold", min_width=10)
        for label in grid.header[1:]:
            table.add_column(self._text(label), justify="right", overflow="fold")
        for row in grid.rows:
            table.add_row(*(self._text(cell) for cell in row))
        self._console.print()
        self._console.print(table)

    def _name(self, index: int) -> Text:
        name = visible(self._data["tokenizers"][index]["name"])
        is_marked = index == self._current and len(self._data["tokenizers"]) > 1
        return self._text(f"> {name}" if is_marked else name)

    def _print_terms(self) -> None:
        terms = worst_terms(self._numbers, limit=_N_TERMS)
        if not terms:
            return
        current = self._data["tokenizers"][self._current]["name"]
        has_cost = any(term.cost is not None for term in terms)
        table = self._rich_table(f"Terms that cost most, as {visible(current)} splits them")
        table.add_column(self._text("Term"), overflow="fold", min_width=10)
        table.add_column(self._text("Occurs"), justify="right")
        table.add_column(self._text("Tokens"), justify="right")
        table.add_column(self._text("Pieces"), overflow="fold")
        if has_cost:
            table.add_column(self._text("Per year"), justify="right")
        for term in terms:
            cut = next((c for c in term.data["cuts"] if c["tokenizer"] == current), None)
            if cut is None:
                continue
            cells = [
                self._text(visible(term.data["term"])),
                self._text(term.occurrences.text),
                self._text(str(cut["n_tokens"])),
                self._text(" | ".join(visible(piece.strip(" ")) for piece in cut["pieces"])),
            ]
            table.add_row(*cells, *([self._text(signed(term.cost))] if has_cost else []))
        self._console.print()
        self._console.print(table)

    def _print_findings(self) -> None:
        views = findings(self._numbers)
        self._console.print()
        self._console.print(self._text("Findings", "bold"))
        if not views:
            self._console.print(self._text("none: no check found anything worth changing"))
        n_open = n_open_findings(self._data)
        for view in views[:n_open]:
            self._print_finding(view)
        for view in views[n_open:]:
            self._print_head(view)
            self._print_indented("", visible(view.data["title"]), "")
        if len(views) > n_open:
            self._console.print(
                self._text("--html, --markdown and --json have causes and remedies of all", "dim")
            )

    def _print_head(self, view: FindingView) -> None:
        severity = view.data["severity"]
        head = self._text(f"{view.index + 1:>2} ")
        head.append_text(self._text(f"{severity}  ", _SEVERITY_STYLES[severity]))
        if view.saving is not None:
            head.append_text(self._text(f"saves {signed(view.saving)} a year", "bold"))
        self._console.print(head)

    def _print_finding(self, view: FindingView) -> None:
        finding: dict[str, Any] = view.data
        self._print_head(view)
        for label, text in (
            ("", finding["title"]),
            ("why  ", finding["cause"]),
            ("do   ", finding["remedy"]),
        ):
            if text:
                self._print_indented(label, visible(text))

    def _print_indented(self, label: str, text: str, style: str = "bold") -> None:
        from rich.padding import Padding

        if not label:
            self._console.print(Padding(self._text(text, style), (0, 0, 0, 3)))
            return
        self._print_labelled(label, text, label_style="dim", indent=3)

    def _print_labelled(
        self, label: str, text: str, *, label_style: str = "", indent: int = 0
    ) -> None:
        from rich.padding import Padding
        from rich.table import Table as RichTable

        grid = RichTable.grid(padding=0)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(self._text(label, label_style), self._text(text))
        self._console.print(Padding(grid, (0, 0, 0, indent)))


def _written(shown: Shown | None) -> str:
    return "" if shown is None else shown.text


def _ascii(text: str) -> str:
    """Replace signs that a terminal without Unicode cannot print by their plain twins."""
    plain = text.replace("\u2212", "-").replace("\u00a0", " ").replace("\u2248", "~")
    return plain.encode("ascii", "backslashreplace").decode("ascii")
