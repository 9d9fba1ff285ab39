"""A bill: its rows, or its total alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

What = Literal["input", "cache_read", "cache_write", "output", "request", "search", "other"]
"""Item that a line charges for: prompt tokens at the full rate, read from a cache, written to one;
generated tokens; requests; searches by the provider; anything else (tools, tax, credits)."""

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class BillItem:
    """One row of a bill.

    Attributes:
        usd: Amount, USD; below 0 for a credit.
        day: Day of use; None if the bill does not say.
        model: The model as the bill writes it; None for what belongs to no model.
        what: The charged thing; None if the bill does not say.
        n_tokens: Tokens charged; None if the bill does not say.
        tariff: ``standard``, ``batch``, ...; None if the bill does not say.
        description: The row's own words.
    """

    usd: Decimal
    day: date | None = None
    model: str | None = None
    what: What | None = None
    n_tokens: int | None = None
    tariff: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Bill:
    """A bill: its rows, or its total alone.

    Attributes:
        items: Rows.
        source: Where it was read, in words.
        issues: Oddities of the bill, each with a count.
    """

    items: tuple[BillItem, ...]
    source: str = "given"
    issues: tuple[str, ...] = ()

    @property
    def total_usd(self) -> Decimal:
        """All rows together, USD."""
        return sum((item.usd for item in self.items), Decimal(0))
