"""The workload in a few facts: its name, its period, its size, its models, the date of prices."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from jeton.report.numbers import Numbers, Shown, lookup
from jeton.report.visible import visible

_N_MODELS = 3
"""Models named in the header; a list of more is a table."""
_MAX_NAME_CHARS = 60
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DateRange:
    """First and last day, as ISO dates and in words."""

    first: str
    last: str
    words: str


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """Facts of the header.

    Attributes:
        title: Name of the workload.
        period: First and last day of the requests; None where they have no times.
        requests: Number of requests of the log; None for documents.
        models: Paths of the names of the models, the dearest first.
        n_more_models: Models beyond those.
        price_date: Date of the price list in words; empty without a price.
        price_date_iso: The date as the report has it.
    """

    title: str
    period: DateRange | None
    requests: Shown | None
    models: tuple[str, ...]
    n_more_models: int
    price_date: str
    price_date_iso: str


def workload_view(numbers: Numbers) -> WorkloadView:
    """Return the facts of the header."""
    data = numbers.data
    requests = data.get("requests")
    paths = _models(data)
    ledger = data.get("ledger") or {}
    price_date = ledger.get("price_date") or data["workload"]["price_date"] or ""
    return WorkloadView(
        title=title_of(data),
        period=_period(requests),
        requests=numbers.show("requests.n_requests", "count") if requests else None,
        models=paths[:_N_MODELS],
        n_more_models=max(0, len(paths) - _N_MODELS),
        price_date=_day(price_date) or price_date,
        price_date_iso=price_date,
    )


def workload_line(numbers: Numbers) -> str:
    """Return the facts of the header in one line: name, period, models, date of prices."""
    view = workload_view(numbers)
    names = [visible(str(lookup(numbers.data, path))) for path in view.models]
    if view.n_more_models:
        names.append(f"{view.n_more_models} more models")
    parts = [
        view.title,
        view.period.words if view.period else "",
        ", ".join(names),
        f"prices of {view.price_date}" if view.price_date else "",
    ]
    return "; ".join(part for part in parts if part)


def title_of(data: dict[str, Any]) -> str:
    """Return the name of the workload: as given, or after its inputs."""
    given = data.get("title") or ""
    if given:
        return visible(given)
    corpus = data["corpus"]
    paths = [source["path"] for source in corpus["sources"]]
    # Where not all are listed, the last entry stands for the others.
    if paths and re.fullmatch(r"\([\d,]+ more\)", paths[-1]):
        del paths[-1]
    return title_of_inputs(paths, n_more=max(0, corpus["n_sources"] - len(paths)))


def title_of_inputs(paths: Sequence[str], *, n_more: int = 0) -> str:
    """Return a name after inputs: the file, their folder, or the first one and how many more.

    ``n_more``: how many there are besides these.
    """
    names = ["standard input" if path == "-" else path.replace("\\", "/") for path in paths]
    if not names:
        return "Workload"
    if len(names) == 1:
        return _short(_last(names[0]))
    try:
        folder = posixpath.commonpath([posixpath.dirname(name) for name in names])
    except ValueError:  # absolute and relative ones
        folder = ""
    if _last(folder):
        return f"{_short(_last(folder))}, {len(names) + n_more:,} files"
    n_others = len(names) - 1 + n_more
    return f"{_short(_last(names[0]))} and {n_others:,} more {'file' if n_others == 1 else 'files'}"


def _last(path: str) -> str:
    name = posixpath.basename(path.rstrip("/"))
    return "" if name in (".", "..") else name


def _short(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _MAX_NAME_CHARS else f"{shown[: _MAX_NAME_CHARS - 1]}\u2026"


def _models(data: dict[str, Any]) -> tuple[str, ...]:
    """Paths of the models' names: those of the log, else that of the price, else the own one."""
    priced = (data.get("ledger") or {}).get("by_model") or [] if data.get("requests") else []
    if priced:
        of_name: dict[str, str] = {}
        for index, use in enumerate(priced):
            of_name.setdefault(use["logged_as"], f"ledger.by_model[{index}].logged_as")
        return tuple(path for name, path in of_name.items() if name)
    by_model = (data.get("requests") or {}).get("by_model") or []
    named = [(i, m) for i, m in enumerate(by_model) if m["name"]]
    if named:
        ranked = sorted(named, key=lambda entry: (-entry[1]["n_requests"], entry[0]))
        return tuple(f"requests.by_model[{index}].name" for index, _ in ranked)
    workload = data["workload"]
    return tuple(f"workload.{key}" for key in ("price_model", "model") if workload[key])[:1]


def _period(requests: dict[str, Any] | None) -> DateRange | None:
    if not requests or not requests["first_time"] or not requests["last_time"]:
        return None
    first, last = _date(requests["first_time"]), _date(requests["last_time"])
    if first is None or last is None:
        return None
    words = period_words(first, last)
    return DateRange(first.date().isoformat(), last.date().isoformat(), words)


def period_words(first: datetime, last: datetime) -> str:
    """``1 to 31 October 2026``: what two dates share is said once."""
    end = f"{last.day} {_MONTHS[last.month - 1]} {last.year}"
    if first.date() == last.date():
        return end
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {end}"
    begin = f"{first.day} {_MONTHS[first.month - 1]}"
    return f"{begin} to {end}" if first.year == last.year else f"{begin} {first.year} to {end}"


def _date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def _day(text: str) -> str:
    """``3 November 2026`` of an ISO date; empty where it is none."""
    found = _date(text) if text else None
    return "" if found is None else day_words(found)


def day_words(day: date) -> str:
    """``3 November 2026``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
