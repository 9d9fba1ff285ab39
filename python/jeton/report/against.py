"""Two corpora side by side: for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jeton.auditing.gate import BudgetResult, GateResult
from jeton.report.gate import (
    budget_lines,
    change_of,
    figure_number,
    gate_to_markdown,
    main_result,
    name_in_words,
)
from jeton.report.visible import visible

if TYPE_CHECKING:
    from jeton.auditing.result import AuditReport

AGAINST_SCHEMA = "jeton.against/1"


def against_lines(result: GateResult) -> list[str]:
    """Return the comparison as plain lines: the figures, then why the mean moved."""
    before, after = _sides(result)
    rows = [("", "before", "after", "change")]
    rows += [_row(item) for item in result.results if item.budget is None]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [f"Before  {visible(before)}", f"After   {visible(after)}", ""]
    for name, *values in rows:
        cells = [f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True)]
        lines.append("  ".join([f"{name:<{widths[0]}}", *cells]).rstrip())
    main = main_result(result)
    if main is not None and main.causes:
        first, *rest = budget_lines(main, with_details=True)
        lines += ["", f"Why: {first}", *(f"     {line}" for line in rest)]
    elif main is not None:
        lines += ["", "Both sides have equal tokens a document."]
    return [*lines, *(f"note: {visible(note)}" for note in result.notes)]


def against_to_markdown(result: GateResult) -> str:
    """Return the comparison as Markdown."""
    before, after = _sides(result)
    heading = f"# {visible(after)} against {visible(before)}".replace("<", "&lt;")
    return f"{heading}\n\n{gate_to_markdown(result)}"


def against_data(before: AuditReport, after: AuditReport, result: GateResult) -> dict[str, Any]:
    """Return both reports and the comparison as JSON values."""
    return {
        "schema_version": AGAINST_SCHEMA,
        "before": before.to_dict(),
        "after": after.to_dict(),
        "comparison": result.to_dict(),
    }


def _row(item: BudgetResult) -> tuple[str, str, str, str]:
    before = "" if item.before is None else figure_number(item.before)
    change = "same" if item.difference == 0 else change_of(item)
    return name_in_words(item.metric), before, figure_number(item.after), change


def _sides(result: GateResult) -> tuple[str, str]:
    return result.sides or ("the baseline", "this audit")
