"""A benchmark of libraries in a terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from jeton.report.json_report import safe_json
from jeton.report.markdown_text import escaped, rows, text
from jeton.report.numbers import Kind, write_number
from jeton.report.visible import visible

if TYPE_CHECKING:
    from jeton.benchmarking import BenchReport, LibraryResult, Timing

HEADINGS = (
    "Library",
    "Version",
    "Ids",
    "First pass",
    "One by one",
    "Ratio",
    "Batch",
    "Ratio",
    "First call",
    "Import",
    "Load",
    "Memory loaded",
    "Memory encoding",
)
N_TEXT_COLUMNS = 3
_MAX_REASON_CHARS = 200
"""Characters of the reason why a library fell out: two lines; the JSON has all."""

_IDS = {"ok": "equal", "differs": "DIFFER", "cannot": "-", "failed": "-", "absent": "-"}


def bench_json(report: BenchReport) -> str:
    """As JSON text with a line end."""
    return safe_json(report.to_dict())


def bench_rows(report: BenchReport) -> list[list[str]]:
    """A row for each library that encoded the text; cells as people read them."""
    return [_row(report, item) for item in report.libraries if item.one_by_one is not None]


def bench_lines(report: BenchReport) -> list[str]:
    """Lines around the table: text, machine, libraries that fell out, how to read it."""
    machine = report.machine
    memory = "" if machine.memory_bytes is None else f", {_written(machine.memory_bytes, 'bytes')}"
    how = "all" if report.is_whole else "an even draw"
    lines = [
        f"{report.n_documents:,} documents, {_written(report.n_bytes, 'bytes')} ({how}); "
        f"{visible(report.tokenizer)}; ids are compared with those of {report.reference or 'none'}",
        f"{machine.cpu}, {machine.cores} cores{memory}; {machine.system}; {machine.python}; "
        f"{report.date}",
        f"Medians of {report.n_rounds} rounds in which libraries take turns, each in a process of "
        f"its own; one thread one by one, {report.num_threads} in batches. Ratios: speed over "
        f"that of {report.compared_with or 'none'}, above 1 is faster. The first pass meets the "
        "text for the first time, later rounds find caches full",
    ]
    lines += [
        f"{item.name} {item.version}: {_shortened(visible(item.why))}".replace(" :", ":")
        for item in report.libraries
        if item.why
    ]
    return lines


def bench_markdown(report: BenchReport) -> str:
    """As GitHub-flavoured Markdown."""
    lines = bench_lines(report)
    body = [[text(cell) for cell in row] for row in bench_rows(report)]
    table = rows(list(HEADINGS), body, n_text=N_TEXT_COLUMNS)
    notes = "\n".join(f"- {escaped(line)}" for line in lines)
    return f"# Tokenization libraries on one text\n\n{table}\n\n{notes}\n"


def _row(report: BenchReport, item: LibraryResult) -> list[str]:
    return [
        item.name,
        item.version,
        _IDS[item.status] + (" (reference)" if item.is_reference else ""),
        _rate(report.n_bytes, item.first_pass_s),
        *_speed(item.one_by_one),
        *_speed(item.batch),
        _written(item.first_call_s, "seconds"),
        _written(item.import_s, "seconds"),
        _written(item.load_s, "seconds"),
        _written(item.load_bytes, "bytes"),
        _written(item.peak_bytes, "bytes"),
    ]


def _speed(timing: Timing | None) -> Sequence[str]:
    if timing is None:
        return "", ""
    ratio = "" if timing.ratio is None else f"{timing.ratio:.2f}"
    return f"{_written(round(timing.bytes_per_second), 'bytes')}/s", ratio


def _rate(n_bytes: int, seconds: float | None) -> str:
    return f"{_written(round(n_bytes / seconds), 'bytes')}/s" if seconds else ""


def _written(value: Any, kind: Kind) -> str:
    return "" if value is None else write_number(Decimal(str(value)), kind)


def _shortened(words: str) -> str:
    return words if len(words) <= _MAX_REASON_CHARS else words[: _MAX_REASON_CHARS - 1] + "\u2026"
