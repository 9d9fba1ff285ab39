"""The ledger as rows: what was spent by model, by kind of use and by day, and what is not in it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jeton.report.numbers import Numbers, Shown, money_kind
from jeton.report.stated_views import StatedRow, stated_rows

_N_MODELS = 10
_N_DAYS = 100
_N_UNPRICED = 10
_N_CHANGES = 4
_KINDS = {
    "input_tokens": "input",
    "input_text_tokens": "input",
    "cache_read_tokens": "input read from a cache",
    "cache_write_tokens": "input written to a cache",
    "cache_write_1h_tokens": "input written to a cache for an hour",
    "output_tokens": "output",
    "output_text_tokens": "output",
    "output_reasoning_tokens": "output, reasoning",
}
_JOINED = {
    "same_answer_again": "the same answer logged again",
    "stream_pieces": "pieces of streamed answers",
    "stream_events": "events of streamed answers",
    "running_totals": "running totals",
    "wrapping_span": "spans that only wrap other spans",
    "same_span_again": "the same span logged again",
}
"""Kinds of records that are no requests of their own."""


@dataclass(frozen=True, slots=True)
class ModelSpending:
    """A model with what it used and cost; the paths are those of its names."""

    path: str
    has_other_name: bool
    provider: str
    tariff: str
    requests: Shown | None
    input_tokens: Shown | None
    output_tokens: Shown | None
    usd: Shown | None
    share: Shown | None
    bar: float


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind of use: its amount, its rate and its cost."""

    name: str
    unit: str
    amount: Shown | None
    usd: Shown | None
    share: Shown | None


@dataclass(frozen=True, slots=True)
class DayRow:
    """One day; ``day`` is empty for requests without a time."""

    path: str
    day: str
    requests: Shown | None
    input_tokens: Shown | None
    output_tokens: Shown | None
    usd: Shown | None


@dataclass(frozen=True, slots=True)
class UnpricedRow:
    """Requests that are not in the sum; the paths are those of the name and the reason."""

    path: str
    has_name: bool
    requests: Shown | None
    tokens: Shown | None
    share: Shown | None


@dataclass(frozen=True, slots=True)
class SpendingView:
    """Spending, and the models outside the sum.

    Attributes:
        usd: Cost of all requests in the period of the log.
        requests_per_day: Rate that a month and a year are computed with.
        joined: Records that are no requests of their own: number and words.
        half_known: Requests of which one count is not known; None where there are none.
        issues: Paths of what had to be assumed.
        stated: Models of which the log states a cost.
        changes: Paths of the sentences that say since when something is different.
        n_more_models, n_more_days: Rows beyond those that are shown.
    """

    usd: Shown | None
    requests: Shown | None
    requests_per_day: Shown | None
    models: tuple[ModelSpending, ...]
    n_more_models: int
    kinds: tuple[KindRow, ...]
    days: tuple[DayRow, ...]
    n_more_days: int
    unpriced: tuple[UnpricedRow, ...]
    unpriced_share: float
    joined: tuple[tuple[Shown, str], ...]
    half_known: Shown | None
    from_gateway_cache: Shown | None
    issues: tuple[str, ...]
    stated: tuple[StatedRow, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def is_lower_bound(self) -> bool:
        """True if something that was used is not in the sum."""
        return bool(self.unpriced or self.half_known)


def spending_view(numbers: Numbers) -> SpendingView | None:
    """Return what the log says was spent; None without a log or a price."""
    ledger = numbers.data.get("ledger")
    if not ledger or not numbers.data.get("requests"):
        return None
    days = ledger["by_day"]
    half_known = numbers.show("ledger.n_half_known", "count")
    gateway = numbers.show("ledger.n_from_gateway_cache", "count")
    return SpendingView(
        usd=numbers.show("ledger.usd", "usd"),
        requests=numbers.show("ledger.n_requests", "count"),
        requests_per_day=numbers.show("ledger.period.requests_per_day", "count"),
        models=_models(numbers, ledger["by_model"]),
        n_more_models=max(0, len(ledger["by_model"]) - _N_MODELS),
        kinds=_kinds(numbers, ledger["dimensions"]),
        days=_days(numbers, days),
        n_more_days=max(0, len(days) - _N_DAYS),
        unpriced=_unpriced(numbers, ledger["not_priced"]),
        unpriced_share=sum(entry["share_of_tokens"] for entry in ledger["not_priced"]),
        joined=_joined(numbers, ledger["joined"]),
        half_known=half_known if ledger["n_half_known"] else None,
        from_gateway_cache=gateway if ledger["n_from_gateway_cache"] else None,
        issues=tuple(f"ledger.issues[{index}].text" for index in range(len(ledger["issues"]))),
        stated=stated_rows(numbers),
        changes=_changes(numbers),
    )


def _changes(numbers: Numbers) -> tuple[str, ...]:
    found = (numbers.data.get("timeline") or {}).get("changes") or ()
    return tuple(f"timeline.changes[{index}].text" for index in range(min(len(found), _N_CHANGES)))


def _models(numbers: Numbers, uses: list[dict[str, Any]]) -> tuple[ModelSpending, ...]:
    kind = money_kind(use["usd"] for use in uses)
    top = max((Decimal(use["usd"]) for use in uses), default=Decimal(0)) or Decimal(1)
    rows = []
    for index, use in enumerate(uses[:_N_MODELS]):
        path = f"ledger.by_model[{index}]"
        amounts = use["amounts"]

        def amount(key: str, path: str = path, amounts: Any = amounts) -> Shown | None:
            return numbers.show(f"{path}.amounts.{key}", "count") if key in amounts else None

        rows.append(
            ModelSpending(
                path,
                bool(use["model"]) and use["model"] != use["logged_as"],
                use["provider"],
                "" if use["tariff"] == "standard" else use["tariff"].replace("-", " "),
                numbers.show(f"{path}.n_requests", "count"),
                amount("input_tokens"),
                amount("output_tokens"),
                numbers.show(f"{path}.usd", kind, basis=use["basis"]),
                _share(numbers, f"{path}.usd"),
                round(float(100 * Decimal(use["usd"]) / top), 2),
            )
        )
    return tuple(rows)


def _share(numbers: Numbers, path: str) -> Shown | None:
    if not Decimal(numbers.data["ledger"]["usd"]):
        return None
    return numbers.share(path, "ledger.usd")


def _kinds(numbers: Numbers, uses: list[dict[str, Any]]) -> tuple[KindRow, ...]:
    kind = money_kind(use["usd"] for use in uses)
    rows = []
    for index, use in enumerate(uses):
        path = f"ledger.dimensions[{index}]"
        rows.append(
            KindRow(
                _KINDS.get(use["name"], use["name"].replace("_", " ")),
                use["unit"],
                numbers.show(f"{path}.amount", "count"),
                numbers.show(f"{path}.usd", kind, basis=use["basis"]),
                _share(numbers, f"{path}.usd"),
            )
        )
    return tuple(rows)


def _days(numbers: Numbers, uses: list[dict[str, Any]]) -> tuple[DayRow, ...]:
    first = max(0, len(uses) - _N_DAYS)
    kind = money_kind(use["usd"] for use in uses)
    return tuple(
        DayRow(
            path,
            uses[index]["day"] or "",
            numbers.show(f"{path}.n_requests", "count"),
            numbers.show(f"{path}.input_tokens", "count"),
            numbers.show(f"{path}.output_tokens", "count"),
            numbers.show(f"{path}.usd", kind),
        )
        for index in range(first, len(uses))
        for path in (f"ledger.by_day[{index}]",)
    )


def _unpriced(numbers: Numbers, entries: list[dict[str, Any]]) -> tuple[UnpricedRow, ...]:
    return tuple(
        UnpricedRow(
            path,
            bool(entry["model"]),
            numbers.show(f"{path}.n_requests", "count"),
            numbers.show(f"{path}.n_tokens", "count"),
            numbers.show(f"{path}.share_of_tokens", "share"),
        )
        for index, entry in enumerate(entries[:_N_UNPRICED])
        for path in (f"ledger.not_priced[{index}]",)
    )


def _joined(numbers: Numbers, counts: dict[str, int]) -> tuple[tuple[Shown, str], ...]:
    found = []
    for kind in sorted(counts, key=lambda kind: (-counts[kind], kind)):
        shown = numbers.show(f"ledger.joined.{kind}", "count")
        if shown is not None and counts[kind]:
            found.append((shown, _JOINED.get(kind, kind.replace("_", " "))))
    return tuple(found)
