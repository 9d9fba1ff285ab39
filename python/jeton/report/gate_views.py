"""The gate's verdict as the page shows it: budgets and figures, main causes, documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jeton.report.numbers import Kind, Numbers, Shown

MAX_EXPLAINED = 1
"""Figures whose causes are listed on the page: the others have nearly always the same, and the
table names the main one of each."""

MIN_SHARE = 0.005
"""Causes below half a percent of the difference are left out: the JSON has them."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One budget or figure of both sides. ``path`` is its result in the report's JSON."""

    path: str
    name: str
    is_exceeded: bool
    has_budget: bool
    before: Shown | None
    after: Shown | None
    change: Shown | None
    main_cause: str


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One part of a difference."""

    path: str
    value: Shown | None
    share: Shown | None


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One document that moved a figure."""

    path: str
    number: int
    line: int
    status: str
    before: Shown | None
    after: Shown | None
    cause: str


@dataclass(frozen=True, slots=True)
class Explained:
    """Why one figure moved."""

    path: str
    name: str
    main_cause: str
    share: Shown | None
    remedy: str
    interval: tuple[Shown, Shown] | None
    interval_kind: str
    n_matched: Shown | None
    usd_per_year: Shown | None
    causes: tuple[CauseRow, ...]
    documents: tuple[DocumentRow, ...]


@dataclass(frozen=True, slots=True)
class GateView:
    """The part of the page.

    Attributes:
        title: Its heading.
        has_budgets: True if anything could fail.
        is_passed: True if nothing did.
        is_side_by_side: True if two corpora were audited.
        n_failed: Budgets that were exceeded.
        rows: All budgets and figures, failures first.
        explained: Why the first of them moved.
        notes: How many sentences there are to read beside.
    """

    title: str
    has_budgets: bool
    is_passed: bool
    is_side_by_side: bool
    n_failed: int
    rows: tuple[FigureRow, ...]
    explained: tuple[Explained, ...]
    notes: int


def gate_view(numbers: Numbers) -> GateView | None:
    """View of the gate; None where there was none, or nothing to compare."""
    gate = numbers.data.get("gate")
    if not gate or not gate["results"]:
        return None
    results = list(enumerate(gate["results"]))
    results.sort(key=lambda item: (not item[1]["is_exceeded"], item[1]["budget"] is None))
    rows = tuple(_row(numbers, f"gate.results[{i}]", result) for i, result in results)
    n_failed = sum(row.is_exceeded for row in rows)
    is_side_by_side = gate["sides"] is not None
    moved = [(i, result) for i, result in results if result["causes"]]
    return GateView(
        title=_title(gate, n_failed),
        has_budgets=any(row.has_budget for row in rows),
        is_passed=gate["is_passed"],
        is_side_by_side=is_side_by_side,
        n_failed=n_failed,
        rows=rows,
        explained=tuple(
            _explained(numbers, f"gate.results[{i}]", result) for i, result in moved[:MAX_EXPLAINED]
        ),
        notes=len(gate["notes"]),
    )


def _title(gate: dict[str, Any], n_failed: int) -> str:
    if gate["sides"] is not None:
        return "Before and after"
    if all(result["budget"] is None for result in gate["results"]):
        return "Against the baseline"
    return "The gate failed" if n_failed else "The gate passed"


def _row(numbers: Numbers, path: str, result: dict[str, Any]) -> FigureRow:
    kind = _kind(result["metric"])
    change = None
    if result["before"] is not None and result["before"] != result["after"]:
        change = numbers.change(f"{path}.after", f"{path}.before")
    main = _main(result)
    return FigureRow(
        path=path,
        name=_name(result),
        is_exceeded=result["is_exceeded"],
        has_budget=result["budget"] is not None,
        before=numbers.show(f"{path}.before", kind),
        after=numbers.show(f"{path}.after", kind),
        change=change,
        main_cause="" if main is None else f"{path}.causes[{main}].label",
    )


def _explained(numbers: Numbers, path: str, result: dict[str, Any]) -> Explained:
    kind = _kind(result["metric"])
    main = _main(result)
    at = None if main is None else f"{path}.causes[{main}]"
    interval = None
    if result["change_interval_95"] is not None:
        ends = (numbers.show(f"{path}.change_interval_95[{i}]", "count") for i in (0, 1))
        low, high = ends
        interval = None if low is None or high is None else (low, high)
    documents = result["documents"] if result["is_exceeded"] or not result["budget"] else []
    return Explained(
        path=path,
        name=_name(result),
        main_cause="" if at is None else f"{at}.label",
        share=None if at is None else numbers.show(f"{at}.share", "share"),
        remedy="" if at is None or not _grew(result, main) else f"{at}.remedy",
        interval=interval,
        interval_kind=result["change_interval_kind"] or "",
        n_matched=numbers.show(f"{path}.n_matched_documents", "count"),
        usd_per_year=numbers.show(f"{path}.usd_per_year", "usd"),
        causes=tuple(
            CauseRow(
                f"{path}.causes[{i}]",
                numbers.show(f"{path}.causes[{i}].value", kind),
                numbers.show(f"{path}.causes[{i}].share", "share"),
            )
            for i, cause in enumerate(result["causes"])
            if cause["share"] is None or abs(cause["share"]) >= MIN_SHARE
        ),
        documents=tuple(
            DocumentRow(
                f"{path}.documents[{i}]",
                document["index"] + 1,
                document["line"] or 0,
                document["status"],
                numbers.show(f"{path}.documents[{i}].n_tokens_before", "count"),
                numbers.show(f"{path}.documents[{i}].n_tokens_after", "count"),
                f"{path}.documents[{i}].label" if document["label"] else "",
            )
            for i, document in enumerate(documents)
        ),
    )


def _grew(result: dict[str, Any], main: int | None) -> bool:
    return (
        main is not None
        and result["causes"][main]["value"] > 0
        and bool(result["causes"][main]["remedy"])
    )


def _main(result: dict[str, Any]) -> int | None:
    names = [cause["cause"] for cause in result["causes"]]
    return names.index(result["main_cause"]) if result["main_cause"] in names else None


def _name(result: dict[str, Any]) -> str:
    domain = f"{result['domain']}:" if result["domain"] is not None else ""
    return f"{domain}{result['metric']}"


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
