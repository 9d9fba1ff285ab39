"""The optional parts of an audit for a terminal: plain rows of text, which the printer lays out."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from jeton.report import evidence_views as evidence
from jeton.report import traffic_views as traffic
from jeton.report.billed_views import billed_view
from jeton.report.model_views import model_cost_view
from jeton.report.money_views import BillView, bill_view, once_shown, payback_shown, waterfall_view
from jeton.report.numbers import Numbers, lookup, signed, write_number
from jeton.report.session_views import SESSION_LABELS, cache_view
from jeton.report.spending_views import spending_view
from jeton.report.visible import visible

__all__ = [
    "Grid",
    "billed",
    "caches",
    "comparison",
    "domain_bills",
    "domains",
    "lines",
    "models",
    "sessions",
    "signed",
    "spending",
    "waterfall",
]

_MAX_DOMAINS = 10
_NARROW_SESSION = ("n_requests", "context_tokens", "read_tokens", "missed_tokens", "usd")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the first column is text, the others are numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def models(numbers: Numbers) -> Grid | None:
    """Models by price per document; None for less than two."""
    view = model_cost_view(numbers)
    if view is None:
        return None
    return Grid(
        "Models by price per document",
        ("Model", *view.labels),
        tuple((visible(row.name), *map(signed, row.values)) for row in view.rows),
    )


def spending(numbers: Numbers) -> Grid | None:
    """Spending of the log, by model; None without a log or a price."""
    view = spending_view(numbers)
    if view is None or not view.models:
        return None
    return Grid(
        "Cost by model, in the period of the log",
        ("Model", "Requests", "Input tokens", "Output tokens", "Cost", "Share"),
        tuple(
            (
                visible(str(lookup(numbers.data, f"{row.path}.logged_as")))
                + (f", {visible(row.tariff)}" if row.tariff else ""),
                *map(
                    signed,
                    (row.requests, row.input_tokens, row.output_tokens, row.usd, row.share),
                ),
            )
            for row in view.models
        ),
    )


def billed(numbers: Numbers) -> Grid | None:
    """Billed tokens by part of the request; None without a log that shows parts."""
    view = billed_view(numbers)
    if view is None:
        return None
    return Grid(
        "Tokens by part of the request",
        ("Part", *view.labels),
        tuple((row.name, *map(signed, (row.tokens, row.cached, row.usd))) for row in view.rows),
    )


def caches(numbers: Numbers) -> Grid | None:
    """Requests by verdict of their prompt cache; None where nothing was missed."""
    view = cache_view(numbers)
    if view is None or not any(row.usd for row in view.verdicts):
        return None
    rows = []
    for row in view.verdicts:
        block = visible(str(lookup(numbers.data, f"{row.path}.block")))
        rows.append(
            (
                visible(row.words) + (f" ({block})" if block else ""),
                *(signed(value) if value else "" for value in (row.requests, row.tokens, row.usd)),
            )
        )
    return Grid("Prompt cache, request by request", ("Verdict", "Requests", "Tokens", "Cost"),
                tuple(rows))  # fmt: skip


def sessions(numbers: Numbers) -> Grid | None:
    """Sessions, those that missed most first; None where the log names none."""
    view = cache_view(numbers)
    if view is None or not view.sessions:
        return None
    wanted = [i for i, (key, _, _) in enumerate(SESSION_LABELS) if key in _NARROW_SESSION]
    rows = []
    for row in view.sessions:
        name = str(lookup(numbers.data, f"{row.path}.session"))
        values = (row.values[i] for i in wanted)
        rows.append(
            (
                f"{name}: {row.verdicts}" if row.verdicts else name,
                *(signed(value) if value else "" for value in values),
            )
        )
    return Grid("Sessions, those that missed most first",
                ("Session", *(SESSION_LABELS[i][1] for i in wanted)), tuple(rows))  # fmt: skip


def _not_in_the_sum(numbers: Numbers) -> list[tuple[str, str]]:
    """Requests without a price, or with half of their counts."""
    view = spending_view(numbers)
    if view is None or not view.is_lower_bound:
        return []
    parts = []
    if view.unpriced:
        n_models = len(numbers.data["ledger"]["not_priced"])
        names = ", ".join(
            visible(str(lookup(numbers.data, f"{row.path}.model"))) or "no model named"
            for row in view.unpriced[:3]
        )
        share = write_number(Decimal(str(view.unpriced_share)), "share")
        noun = "model" if n_models == 1 else "models"
        parts.append(f"{n_models} {noun} ({names}), {share} of the tokens, have no price")
    if view.half_known:
        parts.append(f"{view.half_known.text} requests report only a part of their tokens")
    return [("Missing", "; ".join(parts))]


def waterfall(numbers: Numbers) -> Grid | None:
    """The bill and what each remedy leaves of it; None where there is no remedy."""
    view = waterfall_view(numbers)
    if view is None or len(view.rows) < 2:
        return None
    return Grid(
        "The bill, change by change",
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


def comparison(numbers: Numbers) -> Grid | None:
    """Each figure that changes, today and after all changes; None where none does."""
    found = traffic.comparison_rows(numbers)
    if not found:
        return None
    return Grid(
        "Today and after all changes",
        ("Figure", "Today", "After", "Change"),
        tuple(
            (
                visible(str(lookup(numbers.data, row.path))),
                *map(signed, (row.naive, row.engineered, row.change)),
            )
            for row in found
        ),
    )


def domain_bills(numbers: Numbers) -> Grid | None:
    """Cost of the prompts of each domain; None without a price or domains."""
    found = traffic.domain_bill_rows(numbers)
    if not found:
        return None
    return Grid(
        "Cost of each domain",
        ("Domain", "Cost", "Of the cost", "Of the text", "Relative price"),
        tuple(
            (
                visible(str(lookup(numbers.data, row.path))),
                *map(signed, (row.usd, row.share_of_bill, row.share_of_chars, row.premium)),
            )
            for row in found[:_MAX_DOMAINS]
        ),
    )


def _provider(numbers: Numbers) -> list[tuple[str, str]]:
    view, data = traffic.provider_view(numbers), numbers.data.get("provider_count")
    if view is None or data is None:
        return []
    ledger = numbers.data.get("ledger")
    if ledger and numbers.data.get("requests"):
        return _billed(numbers, ledger["amounts"])
    if data["missing"]:
        return [("Counts", visible(data["missing"]))]
    about = numbers.show("provider_count.n_tokens.value", "about")
    if about is None:
        return []
    ends = ""
    if view.low is not None and view.high is not None and view.low.text != view.high.text:
        ends = f" ({view.low.text} to {view.high.text})"
    how = "learned from the usage in your log" if view.n_learnt else f"{view.basis}{ends}"
    words = f"{about.text} input tokens as {visible(data['model'])} bills them, {how}"
    return [("Billed", words if view.basis == "exact" else f"About {words}")]


def _billed(numbers: Numbers, amounts: dict[str, float]) -> list[tuple[str, str]]:
    """The tokens that the usage of the log states, of all models."""
    said = []
    for key, word in (("input_tokens", "input"), ("output_tokens", "output")):
        shown = numbers.show(f"ledger.amounts.{key}", "about") if amounts.get(key) else None
        if shown is not None:
            said.append(f"{shown.text} {word} tokens")
    return [("Billed", " and ".join(said))] if said else []


def _quota(numbers: Numbers) -> list[tuple[str, str]]:
    view = traffic.quota_view(numbers)
    if view is None:
        return []
    parts = [
        f"{row.label.lower()} {signed(row.peak)} of {signed(row.limit)} ({signed(row.share)})"
        + (": over the limit" if row.is_exceeded else "")
        for row in view.rows
    ]
    if view.refused and view.is_exceeded:
        parts.append(f"{signed(view.refused)} requests of the log would be refused")
    if view.months:
        parts.append(f"reached in {signed(view.months)} months")
    return [("Limits", "; ".join(parts))]


def lines(numbers: Numbers) -> tuple[tuple[str, str], ...]:
    """One line each (label, text) for the count, the limits, the bill, the log and the choice."""
    found: list[tuple[str, str]] = [
        *_not_in_the_sum(numbers),
        *_provider(numbers),
        *_quota(numbers),
    ]
    once, payback = once_shown(numbers), payback_shown(numbers)
    if once is not None:
        paid = f", paid back in {signed(payback)} months" if payback else ""
        found.append(("Once", f"The changes cost {signed(once)} once{paid}"))
    for row in traffic.sampled_rows(numbers):
        name = visible(str(lookup(numbers.data, row.path)))
        ends = f"{signed(row.low)} to {signed(row.high)}"
        found.append(("Whole", f"{signed(row.tokens)} tokens with {name}, {ends}"))
    bill = bill_view(numbers)
    if bill is not None:
        found.append(("Bill", _bill(numbers, bill)))
    if numbers.data.get("requests"):
        n_requests = signed(numbers.show("requests.n_requests", "count"))
        usage = signed(numbers.share("requests.n_with_usage", "requests.n_requests"))
        issues = ", ".join(
            f"{visible(issue.name)} {signed(issue.n)}" for issue in evidence.log_issues(numbers)
        )
        trouble = f"; to check: {issues}" if issues else ""
        found.append(("Log", f"{n_requests} requests, {usage} with usage{trouble}"))
    tradeoff = numbers.data.get("tradeoff")
    if tradeoff and evidence.point_rows(numbers):
        best = "" if evidence.names_the_best(tradeoff) else f"{visible(tradeoff['best'])}: "
        found.append(("Best", best + visible(tradeoff["reason"])))
    return tuple(found)


def _bill(numbers: Numbers, view: BillView) -> str:
    """The bill beside the log, and the causes of the difference."""
    share = f", {view.difference_share.text}" if view.difference_share else ""
    said = (
        f"{signed(view.billed)} billed, {signed(view.explained)} by your log at list prices; "
        f"difference {signed(view.difference)}{share}"
    )
    causes = [
        visible(str(lookup(numbers.data, cause.path)))
        + (f" ({signed(cause.usd)})" if cause.usd else "")
        for cause in view.causes
    ]
    return f"{said}. Cause: {'; '.join(causes)}" if causes else said
