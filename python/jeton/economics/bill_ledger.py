"""What recorded use comes to at list prices: by model, tariff, kind of tokens, and day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from jeton._nearest import fold
from jeton.catalog.api_price import ApiPrice
from jeton.economics.bill_items import BillItem, What
from jeton.economics.money import TOKENS_PER_MTOK
from jeton.economics.usage import Prices, UsageRecord, find_price
from jeton.errors import UnknownPriceError

__all__ = ["Entry", "Ledger", "charges"]


@dataclass(slots=True)
class Entry:
    """Tokens and money of one model, tariff and kind."""

    n_tokens: int = 0
    usd: Decimal = Decimal(0)


class Ledger:
    """What the records come to, by model, tariff, kind and day."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices
        self.entries: dict[tuple[str, str, What], Entry] = {}
        self.by_day: dict[tuple[str, date | None], Decimal] = {}
        self.records: dict[str, list[tuple[UsageRecord, ApiPrice]]] = {}
        self.sources: list[str] = []
        self._names: dict[str, str] = {}
        self._prices: dict[tuple[str, date | None, str], ApiPrice | None] = {}

    @property
    def usd(self) -> Decimal:
        """Everything, USD, not rounded."""
        return sum((entry.usd for entry in self.entries.values()), Decimal(0))

    def usd_of(self, model: str) -> Decimal:
        """Everything of one model, USD, not rounded."""
        return sum(
            (entry.usd for key, entry in self.entries.items() if key[0] == model), Decimal(0)
        )

    def price(self, model: str, day: date | None, tariff: str) -> ApiPrice:
        """Return a price, looked up once.

        Raises:
            UnknownPriceError: If there is none; carries the nearest names.
        """
        key = (model, day, tariff)
        found = self._prices.get(key)
        if found is None:
            found = self._prices[key] = find_price(self.prices, model, day, tariff)
        return found

    def price_or_none(self, model: str, day: date | None, tariff: str) -> ApiPrice | None:
        """Return a price, looked up once; None if there is none."""
        # Whether a name is known does not depend on the day, so that a bill of many days asks once.
        if self._prices.get((model, None, tariff), model) is None:
            return None
        try:
            return self.price(model, day, tariff)
        except UnknownPriceError:
            self._prices[model, None, tariff] = None
            return None

    def add(self, record: UsageRecord) -> None:
        """Add one record at its price."""
        price = self.price(record.model, record.day, record.tariff)
        model = self._names.setdefault(fold(record.model), record.model)
        # Dated names of one model (gpt-4o-2024-08-06) meet their short name by the price's own.
        self._names.setdefault(fold(price.model), model)
        self.sources.append(price.source)
        amounts = charges(record, price)
        for what, (n_tokens, usd) in amounts.items():
            entry = self.entries.setdefault((model, record.tariff, what), Entry())
            entry.n_tokens += n_tokens
            entry.usd += usd
        total = sum((usd for _, usd in amounts.values()), Decimal(0))
        self.by_day[model, record.day] = self.by_day.get((model, record.day), Decimal(0)) + total
        self.records.setdefault(model, []).append((record, price))

    def place(self, item: BillItem) -> BillItem:
        """Return a bill's row under the name that the records use for its model."""
        if item.model is None:
            return item
        known = self._names.get(fold(item.model))
        if known is None:
            price = self.price_or_none(item.model, item.day, "standard")
            known = None if price is None else self._names.get(fold(price.model))
        return item if known is None else replace(item, model=known)


def charges(record: UsageRecord, price: ApiPrice) -> dict[What, tuple[int, Decimal]]:
    """Return tokens and USD of a record by kind, at a price.

    Formula: ``tokens x rate / 1e6`` with the tier's rates; a rate that is not listed is the input
    rate for cached tokens, and an error for output.

    Raises:
        UnknownPriceError: If there is output and its rate is not known.
    """
    length = record.above_input_tokens
    if length is None:
        tier = price.tier_for(-(-record.input_tokens // max(record.n_requests, 1)))
    else:
        tier = price.tier_for(length + 1)
    if record.output_tokens and tier.usd_per_mtok_output is None:
        raise UnknownPriceError(
            price.name, hint="this price has no output rate, and the records have output tokens"
        )
    written, written_1h = record.cache_write_tokens, record.cache_write_1h_tokens
    write_rate = tier.cache_write_rate
    write_1h_rate = tier.cache_write_1h_rate
    full = record.input_tokens - record.cache_read_tokens - written
    found: dict[What, tuple[int, Decimal]] = {
        "input": (full, full * tier.usd_per_mtok_input / TOKENS_PER_MTOK),
        "cache_read": (
            record.cache_read_tokens,
            record.cache_read_tokens * tier.cache_read_rate / TOKENS_PER_MTOK,
        ),
        "cache_write": (
            written,
            ((written - written_1h) * write_rate + written_1h * write_1h_rate) / TOKENS_PER_MTOK,
        ),
        "output": (
            record.output_tokens,
            record.output_tokens * (tier.usd_per_mtok_output or Decimal(0)) / TOKENS_PER_MTOK,
        ),
        "request": (
            record.n_requests if price.usd_per_request else 0,
            price.usd_per_request * record.n_requests,
        ),
    }
    return {what: amount for what, amount in found.items() if amount[0]}
