"""The gate's verdict, and two corpora side by side: lines of a terminal, and Markdown."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jeton.auditing.gate import (
    DOCUMENT_LABELS,
    BudgetResult,
    Cause,
    ChangedDocument,
    ChangeInterval,
    GateResult,
    IntervalKind,
)
from jeton.findings import Basis
from jeton.report.visible import visible

if TYPE_CHECKING:
    from jeton.auditing.result import AuditReport


AGAINST_SCHEMA = "jeton.against/1"
_MIN_SHARE = 0.005
"""Causes below half a percent of the difference are summed up in one line."""


def gate_lines(result: GateResult) -> list[str]:
    """The verdict as plain lines, the failures first."""
    lines = [_headline(result)]
    if result.is_tokenizer_changed and result.baseline_tokenizer is not None:
        old, new = result.baseline_tokenizer, result.tokenizer
        lines.append(
            f"  the tokenizer changed: {visible(old[0])} ({old[1][:12]}) -> "
            f"{visible(new[0])} ({new[1][:12]})"
        )
    for item in _ordered(result):
        first, *rest = budget_lines(item)
        lines += ["", f"{_word(item):<4} {first}", *(f"     {line}" for line in rest)]
    lines += [f"note: {visible(note)}" for note in result.notes]
    return lines


def budget_lines(item: BudgetResult, *, with_details: bool = False) -> list[str]:
    """One budget in plain lines: what happened, why, and in which documents.

    Args:
        item: The budget.
        with_details: Say the interval and the documents though nothing was exceeded.
    """
    is_told = item.is_exceeded or with_details
    lines = [_sentence(item), *main_cause_lines(item), *_where_lines(item), *_cause_lines(item)]
    if item.interval is not None and is_told:
        lines.append(interval_line(item.interval))
    if item.documents and is_told:
        lines.append("documents that moved it most:")
        lines += [f"  {document_line(document)}" for document in item.documents]
    return lines


def gate_to_markdown(result: GateResult) -> str:
    """The verdict as Markdown: a table of the budgets, then the causes of each that moved."""
    lines = [f"## {_headline(result)}", ""]
    if result.is_tokenizer_changed and result.baseline_tokenizer is not None:
        old, new = result.baseline_tokenizer, result.tokenizer
        lines += [
            f"The tokenizer changed: {_code(old[0])} (`{old[1][:12]}`) → {_code(new[0])} "
            f"(`{new[1][:12]}`).",
            "",
        ]
    if result.results:
        lines += [
            "| | figure | budget | baseline | now | change | main cause |",
            "| --- | --- | --- | ---: | ---: | ---: | --- |",
        ]
    for item in _ordered(result):
        main = item.main_cause
        budget = "" if item.budget is None else _code(item.budget.text)
        cells = [
            _word(item),
            _code(item.name),
            budget,
            "" if item.before is None else figure_number(item.before),
            figure_number(item.after),
            change_of(item),
            "" if main is None else f"{main.label} ({_share(main)})",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    for note in result.notes:
        lines += ["", f"> {_cell(note)}"]
    explained = [item for item in _ordered(result) if item.causes]
    main_item = main_result(result)
    if result.sides is not None and main_item is not None:
        explained = [main_item] if main_item.causes else explained[:1]
    for item in explained:
        lines += ["", f"### Why {_code(item.name)} moved", ""]
        main = item.main_cause
        if main is not None:
            words = f"Main cause: **{main.label}**{_of_all(main)}."
            if _is_dearer(item, main):
                words += f" To do: {_cell(main.remedy)}."
            lines += [words, ""]
        money = _money(item)
        if money:
            lines += [f"It costs {money}." if item.usd_per_year is not None else money, ""]
        lines += ["| cause | part | share | |", "| --- | ---: | ---: | --- |"]
        shown, rest = _told(item)
        for cause in shown:
            lines.append(
                f"| {cause.label} | {_signed(cause.part.value)} | {_share(cause)} | "
                f"{_cell(cause.detail)}{_basis(cause)} |"
            )
        if rest:
            lines.append(f"| {len(rest)} smaller ones | {_signed(_sum(rest))} | | |")
        if item.interval is not None and (item.is_exceeded or result.sides is not None):
            lines += ["", f"{interval_line(item.interval)}."]
        if item.documents and (item.is_exceeded or result.sides is not None):
            lines += ["", "| document | | tokens before | now | cause |"]
            lines.append("| --- | --- | ---: | ---: | --- |")
            for document in item.documents:
                lines.append(
                    f"| {_code(_place(document))} | {document.status} | "
                    f"{_count(document.n_tokens_before)} | {_count(document.n_tokens_after)} | "
                    f"{_label(document)} |"
                )
    return "\n".join(lines) + "\n"


def main_result(result: GateResult) -> BudgetResult | None:
    """Return the figure whose causes are shown for two corpora; the other causes follow from it.

    That is the mean of the tokens, unless dollars moved for another reason than the text.
    """
    by_metric = {item.metric: item for item in result.results if item.domain is None}
    money = by_metric.get("usd_per_request")
    main = None if money is None else money.main_cause
    if main is not None and (main.part.level == "price" or main.kind in ("unlogged", "output")):
        return money
    return by_metric.get("tokens_per_document")


def _ordered(result: GateResult) -> list[BudgetResult]:
    return sorted(result.results, key=lambda item: not item.is_exceeded)


def _headline(result: GateResult) -> str:
    n = len([item for item in result.results if item.budget is not None])
    if not n and result.sides is not None:
        return "Before and after"
    if not n:
        return "gate: compared with the baseline; no budget was given"
    noun = "budget" if n == 1 else "budgets"
    if result.is_passed:
        return f"gate: passed, {n} {noun} kept"
    return f"gate: failed, {len(result.failures)} of {n} {noun} exceeded"


def _word(item: BudgetResult) -> str:
    if item.budget is None:
        return "info"
    return "FAIL" if item.is_exceeded else "ok"


def _sentence(item: BudgetResult) -> str:
    name = visible(item.name)
    budget = "" if item.budget is None else f"  [{visible(item.budget.text)}]"
    if item.before is None:
        return f"{name} is {figure_number(item.after)}{budget}"
    if item.before == item.after:
        return f"{name} is {figure_number(item.after)}, as in the baseline{budget}"
    numbers = f"{figure_number(item.before)} -> {figure_number(item.after)}"
    text = f"{name}: {numbers}, {change_of(item)}{budget}"
    money = _money(item)
    if money:
        text += f"; {money}"
    return text


def _cause_lines(item: BudgetResult) -> list[str]:
    shown, rest = _told(item)
    lines = []
    names = [
        f"text: {c.label}" if c.kind == "text" and c.part.where in ("", "prompt") else c.label
        for c in shown
    ]
    width = max(map(len, names), default=0)
    for name, cause in zip(names, shown, strict=True):
        words = f"{name:<{width}}  {_signed(cause.part.value):>10}  {_share(cause):>6}"
        lines.append(f"{words}  {visible(cause.detail)}{_basis(cause)}".rstrip())
    if rest:
        lines.append(f"{len(rest)} smaller ones, together {_signed(_sum(rest))}")
    return lines


def _where_lines(item: BudgetResult) -> list[str]:
    """The first level in a line, where more than one part moved."""
    moved = [move for move in item.by_part if abs(move.share) >= _MIN_SHARE]
    if len(moved) < 2:
        return []
    words = [f"{move.label} {_signed(move.value)} ({abs(move.share):.0%})" for move in moved]
    return [f"where: {', '.join(words)}"]


def _told(item: BudgetResult) -> tuple[list[Cause], list[Cause]]:
    """Causes that are worth a line, and the others."""
    is_told = [abs(c.share) >= _MIN_SHARE for c in item.causes]
    pairs = list(zip(item.causes, is_told, strict=True))
    return [c for c, told in pairs if told], [c for c, told in pairs if not told]


def _sum(causes: list[Cause]) -> Fraction:
    return sum((c.part.value for c in causes), Fraction(0))


def main_cause_lines(item: BudgetResult) -> list[str]:
    """The main cause in plain words, with what to do about it; nothing where nothing moved."""
    main = item.main_cause
    if main is None:
        return []
    lines = [f"main cause: {main.label}, {_signed(main.part.value)}{_of_all(main)}{_basis(main)}"]
    if _is_dearer(item, main):
        lines.append(f"to do: {visible(main.remedy)}")
    return lines


def _is_dearer(item: BudgetResult, main: Cause) -> bool:
    """True if something is to be done: nothing for a figure that moved the right way."""
    falls = item.metric.endswith("_per_token") and not item.metric.startswith(("kv_", "usd_"))
    return bool(main.remedy) and (main.part.value < 0) is falls


def interval_line(interval: ChangeInterval) -> str:
    """The interval of a change in a sentence."""
    words = {
        IntervalKind.PAIRED: f"all {interval.n_matched:,} documents compared with themselves",
        IntervalKind.PARTLY_PAIRED: (
            f"{interval.n_matched:,} documents compared with themselves, the others are new or gone"
        ),
        IntervalKind.UNPAIRED: "no document could be matched with one of the baseline",
    }[interval.kind]
    return (
        f"95% interval of the change: {interval.low:+,.1f} to {interval.high:+,.1f} "
        f"({interval.kind}: {words})"
    )


def document_line(document: ChangedDocument) -> str:
    """One document in a line: where it is, its tokens before and now, and why."""
    place = visible(_place(document))
    if document.n_tokens_before is None:
        return f"{place}  new, {_count(document.n_tokens_after)} tokens"
    if document.n_tokens_after is None:
        return f"{place}  gone, {_count(document.n_tokens_before)} tokens"
    counts = f"{_count(document.n_tokens_before)} -> {_count(document.n_tokens_after)} tokens"
    return f"{place}  {counts}: {_label(document)}"


def _place(document: ChangedDocument) -> str:
    return f"{document.source}#{document.index + 1}"


def _label(document: ChangedDocument) -> str:
    return DOCUMENT_LABELS.get(document.cause, "")


def _count(n: int | None) -> str:
    return "" if n is None else f"{n:,}"


def change_of(item: BudgetResult) -> str:
    """The change of a figure, as a share where there is one."""
    if item.difference is None:
        return ""
    relative = item.relative_change
    if relative is None or item.difference == 0:
        return _signed(item.difference)
    return f"{relative:+.2%}" if abs(relative) < 0.1 else f"{relative:+.1%}"


def _money(item: BudgetResult) -> str:
    if item.usd_per_year is None or item.usd_per_year == 0:
        return ""
    more = "more" if item.usd_per_year > 0 else "less"
    return f"{abs(item.usd_per_year):,} USD a year {more}"


def _of_all(cause: Cause) -> str:
    return f" ({cause.share:.0%} of what moved)"


def name_in_words(metric: str) -> str:
    """The name of a figure as people say it."""
    words = metric.replace("_p50", " (median)").replace("_max", " (longest)")
    words = re.sub(r"_p(\d\d)", r" (p\1)", words.removeprefix("n_")).replace("_", " ")
    return re.sub(r"\busd\b", "USD", re.sub(r"\bkv\b", "KV", words))


def _share(cause: Cause) -> str:
    return f"{cause.share:.0%}"


def _basis(cause: Cause) -> str:
    return " (estimated)" if cause.part.basis is Basis.ESTIMATED else ""


def figure_number(value: Fraction) -> str:
    """A figure as short as its size deserves."""
    number = float(value)
    if value.denominator == 1 and abs(number) < 1e15:
        return f"{int(value):,}"
    if abs(number) >= 1000:
        return f"{number:,.1f}"
    return f"{number:.4g}"


def _signed(value: Fraction) -> str:
    return ("+" if value > 0 else "-" if value < 0 else "") + figure_number(abs(value))


def _cell(text: str) -> str:
    """Words in a cell of a Markdown table: bars and line ends would end it."""
    return visible(text).replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    """A name as code; back-quotes and bars in it would end that or the cell."""
    shown = visible(text).replace("|", "\\|")
    fence = "``" if "`" in shown else "`"
    pad = " " if "`" in shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


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
