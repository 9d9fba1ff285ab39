"""Bills that are quoted, reckoned again."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from jeton.catalog import price
from jeton.economics import api_cost, usd_per_year
from studies.claims.data import Data
from studies.claims.figures import Figure, day_figure

__all__ = ["ABOUT", "CHEAP", "KIND", "PRICE_DAY", "measure"]

ABOUT = "Bills of the claims at the rates that they name, and at list prices of a day"
KIND = "arithmetic"

PRICE_DAY = date(2026, 11, 22)
"""Day for which list prices are looked up; the list itself is as old as it says."""

CHEAP = "usd:0.40/0.40"
"""$0.0004 per 1,000 tokens, the rate in the claims."""


def measure(_data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    listed = price("openai:gpt-4o", on=PRICE_DAY)
    days = {
        "price-day": day_figure(PRICE_DAY),
        "price-list-day": day_figure(listed.price_date),
    }
    return days | _ten_percent() | _absurd_rates() | _chats()


def _daily(n_tokens: int, rate: str) -> Decimal:
    """USD a day of so many prompt tokens, in requests of a thousand."""
    per_request = 1000
    cost = api_cost(
        price(rate, on=PRICE_DAY),
        input_tokens=[per_request],
        requests=[1],
        requests_per_day=n_tokens // per_request,
    )
    assert cost.usd_per_day is not None
    return cost.usd_per_day


def _ten_percent() -> dict[str, Figure]:
    before, after = _daily(100_000_000, CHEAP), _daily(110_000_000, CHEAP)
    more = after - before
    return {
        "ten-percent.usd-per-day": Figure(float(more), "USD per day"),
        "ten-percent.usd-per-day-all": Figure(float(before), "USD per day"),
        "ten-percent.usd-per-year": Figure(float(usd_per_year(more)), "USD per year"),
        "ten-percent.claimed-over": Figure(float(Decimal(4000) / more), "ratio"),
        "ten-percent.rate-needed": Figure(
            float(4000 / (Decimal(10_000_000) / 10**6)), "USD per 1M"
        ),
    }


def _absurd_rates() -> dict[str, Figure]:
    n_million = Decimal(10)
    dearest = price("openai:gpt-4-32k", on=PRICE_DAY)
    middle = price("openai:gpt-4o", on=PRICE_DAY)
    return {
        "month.naive-rate": Figure(float(12_500 / n_million), "USD per 1M"),
        "month.engineered-rate": Figure(float(4_800 / n_million), "USD per 1M"),
        "month.gpt-4-32k-rate": Figure(float(dearest.usd_per_mtok_input), "USD per 1M"),
        "month.gpt-4o-rate": Figure(float(middle.usd_per_mtok_input), "USD per 1M"),
        "month.gpt-4o-usd": Figure(float(n_million * middle.usd_per_mtok_input), "USD per month"),
        "month.gpt-4-32k-usd": Figure(
            float(n_million * dearest.usd_per_mtok_input), "USD per month"
        ),
        "month.tokens-at-gpt-4o": Figure(
            float(12_500 / middle.usd_per_mtok_input), "million tokens per month"
        ),
    }


def _chats() -> dict[str, Figure]:
    """How many chats a year save $223,000 by 900 tokens each."""
    saved = Decimal(223_000)
    figures = {}
    for key, rate in (
        ("cheap", CHEAP),
        ("gpt-4o", "openai:gpt-4o"),
        ("gpt-4", "openai:gpt-4"),
    ):
        per_chat = price(rate, on=PRICE_DAY).usd_for_lengths([900], [1])
        figures[f"chats.per-year-{key}"] = Figure(float(saved / per_chat), "chats per year")
    per_chat = price(CHEAP, on=PRICE_DAY).usd_for_lengths([900], [1])
    figures["chats.usd-saved-per-million"] = Figure(float(per_chat * 10**6), "USD")
    return figures
