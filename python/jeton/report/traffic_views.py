"""Views of a provider's counts, of its limits, and of money before, after and by domain."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jeton.report.money_views import weakest_basis
from jeton.report.numbers import Kind, Numbers, Shown, kind_of_unit, money_kind

N_DOMAIN_BILLS = 40
"""Domains whose bill is shown: as many as the page shows of the domains themselves."""

_LIMITS = (
    ("tokens_per_minute", "Tokens a minute"),
    ("requests_per_minute", "Requests a minute"),
    ("requests_per_day", "Requests a day"),
)


@dataclass(frozen=True, slots=True)
class ProviderView:
    """Token counts of a closed model's provider; numbers are None where there is no count.

    Attributes:
        basis: Basis of the count.
        change: The provider's tokens against those that were counted.
        usd: A month's, with its ends; None without a price or traffic.
        usd_request: Cost of a request, where a month's is not known.
    """

    basis: str
    tokens: Shown | None
    low: Shown | None
    high: Shown | None
    change: Shown | None
    per_request: Shown | None
    usd: Shown | None
    usd_low: Shown | None
    usd_high: Shown | None
    usd_request: Shown | None
    confidence: Shown | None
    request_error: Shown | None
    n_learnt: Shown | None


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One limit with the peak against it."""

    label: str
    peak: Shown
    limit: Shown
    share: Shown | None
    is_binding: bool
    is_exceeded: bool


@dataclass(frozen=True, slots=True)
class QuotaView:
    """The traffic against the limits; ``first_exceeded`` is a time in words."""

    rows: tuple[LimitRow, ...]
    is_exceeded: bool
    first_exceeded: str
    refused: Shown | None
    months: Shown | None


@dataclass(frozen=True, slots=True)
class RemedyRow:
    """A figure before and after all remedies; ``path`` is that of its name."""

    path: str
    naive: Shown | None
    engineered: Shown | None
    change: Shown | None


@dataclass(frozen=True, slots=True)
class DomainBillRow:
    """Cost of the prompts of a domain; ``path`` is that of its name."""

    path: str
    tokens: Shown | None
    usd: Shown | None
    share_of_bill: Shown | None
    share_of_chars: Shown | None
    usd_per_mchar: Shown | None
    premium: Shown | None


@dataclass(frozen=True, slots=True)
class SampledRow:
    """Tokens of the whole workload, carried over from the counted part."""

    path: str
    tokens: Shown | None
    low: Shown | None
    high: Shown | None
    confidence: Shown | None


def provider_view(numbers: Numbers) -> ProviderView | None:
    """Return what the provider counts; None where the report has nothing of it."""
    data = numbers.data.get("provider_count")
    if data is None:
        return None
    at = "provider_count"
    basis = data["n_tokens"]["basis"] if data["n_tokens"] else "exact"
    is_calibrated = data["n_calibration_requests"] > 0

    def known(key: str, kind: Kind, basis: str = basis) -> Shown | None:
        return numbers.show(f"{at}.{key}", kind, basis=basis)

    change = None
    if data["n_tokens"]:
        change = numbers.change(f"{at}.n_tokens.value", f"{at}.n_counted_tokens")
    return ProviderView(
        basis=basis,
        tokens=numbers.figure(f"{at}.n_tokens"),
        low=known("n_tokens_low", "count"),
        high=known("n_tokens_high", "count"),
        change=change,
        per_request=numbers.figure(f"{at}.tokens_per_request"),
        usd=numbers.figure(f"{at}.usd_per_month"),
        usd_low=known("usd_per_month_low", "usd"),
        usd_high=known("usd_per_month_high", "usd"),
        usd_request=numbers.figure(f"{at}.usd_per_request"),
        confidence=known("confidence", "share", "exact"),
        request_error=known("request_error_share", "share", "exact"),
        n_learnt=known("n_calibration_requests", "count", "exact") if is_calibrated else None,
    )


def quota_view(numbers: Numbers) -> QuotaView | None:
    """Return the limits with the peaks against them; None where none were given."""
    data = numbers.data.get("quota")
    if data is None:
        return None
    basis = data["basis"]
    rows = []
    for name, label in _LIMITS:
        limit = numbers.show(f"quota.quota.{name}", "count")
        peak = numbers.show(f"quota.peak_{name}", "count", basis=basis)
        if limit is None or peak is None:
            continue
        share = numbers.share(f"quota.peak_{name}", f"quota.quota.{name}", basis=basis)
        is_exceeded = data[f"peak_{name}"] > data["quota"][name]
        rows.append(LimitRow(label, peak, limit, share, name == data["binding"], is_exceeded))
    return QuotaView(
        rows=tuple(rows),
        is_exceeded=any(row.is_exceeded for row in rows),
        first_exceeded=_time(data["first_exceeded_s"]),
        refused=numbers.show("quota.n_refused", "count"),
        months=numbers.show("quota.months_until_exhausted", "ratio", basis="estimated")
        if not data["used_share"] > 1
        else None,
    )


def comparison_rows(numbers: Numbers) -> tuple[RemedyRow, ...]:
    """Return the figures that the remedies change, and the bill; empty where there is no remedy."""
    data = numbers.data.get("comparison")
    steps = (numbers.data.get("waterfall") or {}).get("steps")
    if data is None or not steps:
        return ()
    rows = []
    last = len(data["rows"]) - 1
    for index, row in enumerate(data["rows"]):
        path = f"comparison.rows[{index}]"
        before, after = (Decimal(str(row[key]["value"])) for key in ("naive", "engineered"))
        if before == after and index != last:
            continue
        kind = kind_of_unit(row["naive"]["unit"])
        # Bytes per prompt are a mean: "1.7 kB" against "1.7 kB" would say nothing.
        kind = "count" if kind == "bytes" else kind
        change = None
        if row["change"] is not None:
            basis = weakest_basis([row["naive"]["basis"], row["engineered"]["basis"]])
            change = numbers.show(f"{path}.change", "change", basis=basis)
        rows.append(
            RemedyRow(
                f"{path}.name",
                numbers.figure(f"{path}.naive", kind),
                numbers.figure(f"{path}.engineered", kind),
                change,
            )
        )
    return tuple(rows)


def domain_bill_rows(numbers: Numbers) -> tuple[DomainBillRow, ...]:
    """Return what the prompts of each domain cost, the dearest first; empty without a price."""
    bills: list[dict[str, Any]] = numbers.data.get("domain_bills") or []
    kind = money_kind(bill["usd"] for bill in bills)
    return tuple(
        DomainBillRow(
            f"{path}.name",
            numbers.show(f"{path}.n_tokens", "count"),
            numbers.show(f"{path}.usd", kind),
            numbers.show(f"{path}.share_of_bill", "share"),
            numbers.show(f"{path}.share_of_chars", "share"),
            numbers.show(f"{path}.usd_per_mchar", "usd"),
            numbers.show(f"{path}.premium", "ratio"),
        )
        for path in (f"domain_bills[{index}]" for index in range(min(len(bills), N_DOMAIN_BILLS)))
    )


def sampled_rows(numbers: Numbers) -> tuple[SampledRow, ...]:
    """Return the tokens of the whole workload where only a part was counted."""
    sampling = numbers.data.get("sampling") or {}
    entries = sampling.get("tokens_of_all") or ()
    rows = []
    for index, entry in enumerate(entries):
        path, basis = f"sampling.tokens_of_all[{index}]", entry["n_tokens"]["basis"]
        rows.append(
            SampledRow(
                f"{path}.tokenizer",
                numbers.figure(f"{path}.n_tokens"),
                numbers.show(f"{path}.low", "count", basis=basis),
                numbers.show(f"{path}.high", "count", basis=basis),
                numbers.show(f"{path}.confidence", "share"),
            )
        )
    return tuple(rows)


def _time(seconds: float | None) -> str:
    """``2025-10-09 08:53:32 UTC``; empty where it is not known, or no time of our calendar."""
    if seconds is None:
        return ""
    from datetime import UTC, datetime

    try:
        return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return ""
