"""The traffic against the limits of an API."""

from __future__ import annotations

from jeton.report.numbers import Numbers
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Column,
    Fold,
    Line,
    Only,
    Paragraph,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    quoted,
    words_column,
)

_LIMITS = (
    ("tokens_per_minute", "Tokens a minute"),
    ("requests_per_minute", "Requests a minute"),
    ("requests_per_day", "Requests a day"),
)
_TITLE = "Limits of the API"


def quota(numbers: Numbers) -> Section | None:
    """The limits with the peaks against them; None where none were given."""
    data = numbers.data.get("quota")
    if data is None:
        return None
    basis = data["basis"]
    rows, parts = [], list[Words]()
    for name, label in _LIMITS:
        limit = numbers.show(f"quota.quota.{name}", "count")
        peak = numbers.show(f"quota.peak_{name}", "count", basis=basis)
        if limit is None or peak is None:
            continue
        share = numbers.share(f"quota.peak_{name}", f"quota.quota.{name}", basis=basis)
        is_over = data[f"peak_{name}"] > data["quota"][name]
        verdict = "over the limit" if is_over else "within the limit"
        verdicts = (
            Only(PAGE, "\u2715 " if is_over else "\u2713 "),
            Styled(verdict, "bold") if is_over else verdict,
        )
        tag = Only(PAGE, Styled("nearest", "tag")) if name == data["binding"] else ""
        rows.append((is_over, TableRow((label, tag), (peak, limit, share, verdicts))))
        over = ": over the limit" if is_over else ""
        parts += ["; " * bool(parts), label.lower(), " ", peak, " of ", limit, " (", share]
        parts.append(f"){over}")
    is_exceeded = any(is_over for is_over, _ in rows)
    refused = numbers.show("quota.n_refused", "count")
    months = None
    if not data["used_share"] > 1:
        months = numbers.show("quota.months_until_exhausted", "ratio", basis="estimated")
    if refused and is_exceeded:
        parts += ["; ", refused, " requests of the log would be refused"]
    if months:
        parts += ["; reached in ", months, " months"]
    table = Table(
        "Peaks against the limits",
        "Limit",
        (Column("", "Peak"), Column("", "Allowed"), Column("", "Used"), words_column("Verdict")),
        tuple(row for _, row in rows),
        forms=PAPER,
        label="Limits and peaks",
    )
    if is_exceeded:
        at = _time(data["first_exceeded_s"])
        said: Words = (
            f"Your traffic passes a limit{f', first at {at}' if at else ''}.",
            (" ", refused, " requests", Only(PAGE, " of the log"), " would be refused.")
            if refused
            else "",
        )
    else:
        left = (" At this growth it reaches them in ", months, " months.") if months else ""
        said = ("Your traffic stays within the limits.", left)
    formula = Paragraph(quoted(numbers, "quota.formula"), "where")
    blocks = (
        Line("Limits", tuple(parts)),
        Fold(_TITLE, (Paragraph(said), table, formula), MARKDOWN),
    )
    return Section("quota", _TITLE, "Limits", blocks)


def _time(seconds: float | None) -> str:
    """``2025-10-09 08:53:32 UTC``; empty where it is not known, or no time of our calendar."""
    if seconds is None:
        return ""
    from datetime import UTC, datetime

    try:
        return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return ""
