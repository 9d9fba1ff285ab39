"""The ledger as the object ``ledger`` of a report."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from jeton.dimensions import SCALE
from jeton.economics.ledger.uses import DimensionUse

if TYPE_CHECKING:
    from jeton.economics.ledger.result import Ledger


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """Return plain values; money is a decimal string, so that no cent is lost to a float."""
    period = ledger.period
    return {
        "usd": _text(ledger.usd),
        "n_requests": ledger.n_requests,
        "period": {
            "first": None if period.first is None else period.first.isoformat(),
            "last": None if period.last is None else period.last.isoformat(),
            "n_days": _number(period.n_days),
            "n_hours_covered": period.n_hours_covered,
            "n_without_time": period.n_without_time,
            "requests_per_day": _number(period.requests_per_day),
            "assumption": period.assumption,
            "override": period.override,
        },
        "usd_per_request": _text(ledger.per_request()),
        "usd_per_month": _text(ledger.per_month()),
        "usd_per_year": _text(ledger.per_year()),
        "by_model": [
            {
                "provider": use.provider,
                "model": use.model,
                "logged_as": use.logged_as,
                "tariff": use.tariff,
                "n_requests": use.n_requests,
                "amounts": _amounts(use.amounts),
                "usd": _text(use.usd),
                "dimensions": [_dimension(entry) for entry in use.dimensions],
                "basis": str(use.basis),
            }
            for use in ledger.by_model
        ],
        "by_day": [
            {
                "day": None if use.day is None else use.day.isoformat(),
                "n_requests": use.n_requests,
                "input_tokens": use.input_tokens,
                "output_tokens": use.output_tokens,
                "usd": _text(use.usd),
            }
            for use in ledger.by_day
        ],
        "by_domain": [
            {
                "domain": use.domain,
                "n_requests": use.n_requests,
                "input_tokens": use.input_tokens,
                "output_tokens": use.output_tokens,
                "usd": _text(use.usd),
            }
            for use in ledger.by_domain
        ],
        "dimensions": [_dimension(entry) for entry in ledger.dimensions],
        "amounts": _amounts(ledger.amounts),
        "joined": dict(ledger.joined),
        "not_priced": [
            {
                "model": entry.model,
                "provider": entry.provider,
                "kind": entry.kind,
                "why": entry.why,
                "nearest": list(entry.nearest),
                "n_requests": entry.n_requests,
                "n_tokens": entry.n_tokens,
                "share_of_tokens": entry.share_of_tokens,
            }
            for entry in ledger.not_priced
        ],
        "n_half_known": ledger.n_half_known,
        "n_from_gateway_cache": ledger.n_from_gateway_cache,
        "stated": [
            {
                "provider": entry.provider,
                "model": entry.model,
                "logged_as": entry.logged_as,
                "payer": entry.payer,
                "n_requests": entry.n_requests,
                "stated_usd": _text(entry.stated_usd),
                "usd": _text(entry.usd),
                "difference_usd": _text(entry.difference_usd),
                "gateway_usd": _text(entry.gateway_usd),
                "differs": entry.differs,
            }
            for entry in ledger.stated
        ],
        "issues": [{"kind": i.kind, "n": i.n, "text": i.text} for i in ledger.issues],
        "price_source": ledger.price_source,
        "price_date": None if ledger.price_date is None else ledger.price_date.isoformat(),
    }


def _dimension(use: DimensionUse) -> dict[str, Any]:
    return {
        "name": use.name,
        "amount": _number(use.amount),
        "unit": use.unit,
        "usd": _text(use.usd),
        "usd_per_unit": _text(use.usd_per_unit),
        "basis": str(use.basis),
    }


def _amounts(amounts: Mapping[str, int]) -> dict[str, Any]:
    return {name: n if SCALE[name] == 1 else n / SCALE[name] for name, n in amounts.items()}


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def _number(value: Decimal | None) -> int | float | None:
    if value is None:
        return None
    return int(value) if value == value.to_integral_value() else float(value)
