"""The optional parts of an audit for a terminal: plain rows of text, which the printer lays out."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.report import evidence_views as evidence
from jeton.report.money_views import bill_view, waterfall_view
from jeton.report.numbers import Numbers, Shown, lookup
from jeton.report.visible import visible

__all__ = ["Grid", "domains", "lines", "signed", "waterfall"]

_BASIS_SIGNS = {"exact": "", "calibrated": "\u2248", "estimated": "~"}
_MAX_DOMAINS = 10


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the first column is text, the others are numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def signed(shown: Shown | None) -> str:
    """A number with the sign of its basis, or nothing."""
    return "" if shown is None else _BASIS_SIGNS[shown.basis] + shown.text


def waterfall(numbers: Numbers) -> Grid | None:
    """The bill and what each remedy leaves of it; None where there is no remedy."""
    view = waterfall_view(numbers)
    if view is None or len(view.rows) < 2:
        return None
    return Grid(
        "Naive against engineered",
        ("Step", "Change", "Bill a month"),
        tuple(
            (
                row.name if row.index is None else visible(str(lookup(numbers.data, row.name))),
                signed(row.delta),
                signed(row.after),
            )
            for row in view.rows
        ),
    )


def domains(numbers: Numbers, *, current: int) -> Grid | None:
    """Tokens of each domain with the tokenizer in use; None where there is only one domain."""
    found = evidence.domain_rows(numbers, current=current)
    if not found:
        return None
    n_more = len(numbers.data["domains"]) - _MAX_DOMAINS
    return Grid(
        f"Domains{f', the first {_MAX_DOMAINS} of {n_more + _MAX_DOMAINS:,}' * (n_more > 0)}",
        ("Domain", "Documents", "Tokens", "Share", "p95", "Bytes per token"),
        tuple(
            (
                visible(numbers.data["domains"][row.index]["name"]),
                *map(
                    signed,
                    (row.documents, row.tokens, row.share, row.p95, row.bytes_per_token[current]),
                ),
            )
            for row in found[:_MAX_DOMAINS]
        ),
    )


def lines(numbers: Numbers) -> tuple[tuple[str, str], ...]:
    """One line each (label, text) for the bill, the logs, the trade-off and the maturity."""
    found: list[tuple[str, str]] = []
    bill = bill_view(numbers)
    if bill is not None:
        share = f" ({bill.unexplained_share.text})" if bill.unexplained_share else ""
        found.append(
            ("Bill", f"{signed(bill.billed)}, of it unexplained {signed(bill.unexplained)}{share}")
        )
    if numbers.data.get("requests"):
        n_requests = signed(numbers.show("requests.n_requests", "count"))
        usage = signed(numbers.share("requests.n_with_usage", "requests.n_requests"))
        issues = ", ".join(
            f"{visible(issue.name)} {signed(issue.n)}" for issue in evidence.log_issues(numbers)
        )
        trouble = f"; trouble: {issues}" if issues else ""
        found.append(("Logs", f"{n_requests} requests, {usage} with usage{trouble}"))
    tradeoff = numbers.data.get("tradeoff")
    if tradeoff:
        best = "" if evidence.names_the_best(tradeoff) else f"{visible(tradeoff['best'])}: "
        found.append(("Best", best + visible(tradeoff["reason"])))
    maturity = numbers.data.get("maturity")
    if maturity:
        following = f"; next: {visible(maturity['next_step'])}" if maturity["next_step"] else ""
        found.append(("Stage", visible(maturity["level"]) + following))
    return tuple(found)
