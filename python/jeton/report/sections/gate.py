"""The gate's verdict on the page: budgets and figures, main causes, documents."""

from __future__ import annotations

from typing import Any

from jeton.report.gate import name_in_words
from jeton.report.numbers import Kind, Numbers
from jeton.report.tree import (
    PAGE,
    Block,
    Column,
    Fold,
    Heading,
    Paragraph,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    quoted,
    words_column,
)

MIN_SHARE = 0.005
"""Causes below half a percent of the difference are left out: the JSON has them."""


def gate(numbers: Numbers) -> Section | None:
    """The gate; None where there was none, or nothing to compare.

    Causes are listed for one figure: the others have nearly always the same, and the table names
    the main one of each.
    """
    data = numbers.data.get("gate")
    if not data or not data["results"]:
        return None
    results = list(enumerate(data["results"]))
    results.sort(key=lambda item: (not item[1]["is_exceeded"], item[1]["budget"] is None))
    is_beside = data["sides"] is not None
    n_budgets = sum(result["budget"] is not None for _, result in results)
    n_failed = sum(result["is_exceeded"] for _, result in results)
    title = (
        "Before and after"
        if is_beside
        else "Against the baseline"
        if not n_budgets
        else "The gate failed"
        if n_failed
        else "The gate passed"
    )
    if is_beside:
        before, after = (quoted(numbers, f"gate.sides.{side}") for side in ("before", "after"))
        end = "; the rest of this page is about this one."
        said: Words = ("Before: ", before, ". After: ", after, end)
    elif not n_budgets:
        said = "This audit against the saved one; no budget was given."
    elif data["is_passed"]:
        said = "\u2713 Every budget is kept."
    else:
        said = f"\u2715 {n_failed} of {n_budgets} budgets exceeded."
    notes = (quoted(numbers, f"gate.notes[{i}]") for i in range(len(data["notes"])))
    moved = next((one for one in results if one[1]["causes"]), None)
    figures = _figures(numbers, results, is_beside=is_beside, has_budgets=bool(n_budgets))
    blocks = (
        Paragraph(said, forms=PAGE),
        *(Paragraph(note, "where", PAGE) for note in notes),
        figures,
        *(_explained(numbers, f"gate.results[{moved[0]}]", moved[1]) if moved else ()),
    )
    return Section("gate", title, "Before and after", blocks)


def _figures(
    numbers: Numbers, results: list[tuple[int, Any]], *, is_beside: bool, has_budgets: bool
) -> Table:
    rows = []
    for index, result in results:
        path, kind = f"gate.results[{index}]", _kind(result["metric"])
        change = None
        if result["before"] is not None and result["before"] != result["after"]:
            change = numbers.change(f"{path}.after", f"{path}.before")
        main = _main(result)
        budget = "" if result["budget"] is None else quoted(numbers, f"{path}.budget")
        cells: tuple[Words, ...] = (
            numbers.show(f"{path}.before", kind),
            numbers.show(f"{path}.after", kind),
            change,
            "" if main is None else quoted(numbers, f"{path}.causes[{main}].label"),
        )
        sign = "\u2715 " if result["is_exceeded"] else ""
        rows.append(TableRow(f"{sign}{_name(result)}", (budget, *cells) if has_budgets else cells))
    columns = (
        *((words_column("Budget"),) if has_budgets else ()),
        Column("", "Before" if is_beside else "Baseline"),
        Column("", "After" if is_beside else "Now"),
        Column("", "Change"),
        words_column("Main cause"),
    )
    return Table(
        "Budgets and figures" if has_budgets else "Figures",
        "Figure",
        columns,
        tuple(rows),
        forms=PAGE,
        label="Figures before and after",
    )


def _explained(numbers: Numbers, path: str, result: dict[str, Any]) -> tuple[Block | None, ...]:
    """Why one figure moved."""
    main = _main(result)
    cause = None if main is None else _main_cause(numbers, path, result, main)
    rows = []
    for index, one in enumerate(result["causes"]):
        if one["share"] is not None and abs(one["share"]) < MIN_SHARE:
            continue
        at = f"{path}.causes[{index}]"
        label, detail = (quoted(numbers, f"{at}.{key}") for key in ("label", "detail"))
        value = numbers.show(f"{at}.value", _kind(result["metric"]))
        rows.append(TableRow(label, (value, numbers.show(f"{at}.share", "share"), detail)))
    evidence = words_column("Evidence", look="text wrap")
    columns = (Column("", "Part"), Column("", "Share"), evidence)
    return (
        Heading(f"Why {_name(result)} moved"),
        cause,
        _interval(numbers, path, result),
        Table(
            "Causes; they add up to the change",
            "Cause",
            columns,
            tuple(rows),
            forms=PAGE,
            label="Causes",
            style="stack",
        ),
        _documents(numbers, path, result),
    )


def _main_cause(numbers: Numbers, path: str, result: dict[str, Any], main: int) -> Block:
    at, cause = f"{path}.causes[{main}]", result["causes"][main]
    share, usd = numbers.show(f"{at}.share", "share"), numbers.show(f"{path}.usd_per_year", "usd")
    label = Styled(quoted(numbers, f"{at}.label"), "strong")
    said: list[Words] = ["Main cause: ", label]
    said += [", ", share, " of what moved."] if share else ["."]
    said += [" A year: ", usd, "."] if usd else []
    if cause["value"] > 0 and cause["remedy"]:
        said += [" To do: ", quoted(numbers, f"{at}.remedy"), "."]
    return Paragraph(tuple(said), "", PAGE)


def _interval(numbers: Numbers, path: str, result: dict[str, Any]) -> Block | None:
    if result["change_interval_95"] is None:
        return None
    low, high = (numbers.show(f"{path}.change_interval_95[{i}]", "count") for i in (0, 1))
    matched = numbers.show(f"{path}.n_matched_documents", "count")
    both: Words = (", ", matched, " documents on both sides") if matched else ""
    kind = result["change_interval_kind"] or ""
    said = ("95% interval of the change: ", low, " to ", high, f" ({kind}", both, ").")
    return Paragraph(said, "where", PAGE)


def _documents(numbers: Numbers, path: str, result: dict[str, Any]) -> Block | None:
    found = result["documents"] if result["is_exceeded"] or not result["budget"] else []
    if not found:
        return None
    rows = []
    for index, document in enumerate(found):
        at = f"{path}.documents[{index}]"
        line, number = document["line"], document["index"] + 1
        place = f", line {line}" if line else f", number {number}"
        cells: tuple[Words, ...] = (
            document["status"],
            numbers.show(f"{at}.n_tokens_before", "count"),
            numbers.show(f"{at}.n_tokens_after", "count"),
            quoted(numbers, f"{at}.label") if document["label"] else "",
        )
        rows.append(TableRow((quoted(numbers, f"{at}.source"), place), cells))
    columns = (
        words_column("Change"),
        Column("", "Tokens before"),
        Column("", "Tokens now"),
        words_column("Cause"),
    )
    title = "Documents that moved it most"
    table = Table(
        title, "Document", columns, tuple(rows), forms=PAGE, label="Documents", style="stack"
    )
    return Fold(title, (table,), look="fold")


def _main(result: dict[str, Any]) -> int | None:
    names = [cause["cause"] for cause in result["causes"]]
    return names.index(result["main_cause"]) if result["main_cause"] in names else None


def _name(result: dict[str, Any]) -> str:
    domain = f"{result['domain']}:" if result["domain"] is not None else ""
    return name_in_words(f"{domain}{result['metric']}")


def _kind(metric: str) -> Kind:
    if metric.startswith("usd_"):
        return "usd"
    if "_per_token" in metric and not metric.startswith("kv_"):
        return "ratio"
    if metric.endswith("_share"):
        return "share"
    if metric.startswith("kv_bytes") or metric in ("n_bytes", "bytes_per_document"):
        return "bytes"
    return "count"
