"""Rates of an API for one model, per million tokens, in steps by prompt length.

Money is `Decimal`. A price that is not known is an error, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from jeton.errors import UnknownPriceError, UsageError

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

USER_PROVIDER = "user"
"""Provider of a price that the user gave."""

TOKENS_PER_MTOK = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class PriceTier:
    """Rates that hold for all tokens of a request whose prompt is longer than a threshold.

    Attributes:
        above_input_tokens: The tier holds for prompts longer than this; 0 is the base.
        usd_per_mtok_input: USD per million prompt tokens.
        usd_per_mtok_cached_input: USD per million prompt tokens read from a cache; None: unlisted.
        usd_per_mtok_output: USD per million output tokens; None: unlisted.
        usd_per_mtok_cache_write: USD per million prompt tokens written to a cache that lasts
            minutes; None: unlisted.
        usd_per_mtok_cache_write_1h: Price of a write to a cache that lasts an hour; None: unlisted.
    """

    above_input_tokens: int
    usd_per_mtok_input: Decimal
    usd_per_mtok_cached_input: Decimal | None
    usd_per_mtok_output: Decimal | None
    usd_per_mtok_cache_write: Decimal | None = None
    usd_per_mtok_cache_write_1h: Decimal | None = None

    @property
    def cache_read_rate(self) -> Decimal:
        """USD per million tokens read from a cache; the full rate where none is listed."""
        rate = self.usd_per_mtok_cached_input
        return self.usd_per_mtok_input if rate is None else rate

    @property
    def cache_write_rate(self) -> Decimal:
        """USD per million tokens written to a cache; the full rate where none is listed."""
        rate = self.usd_per_mtok_cache_write
        return self.usd_per_mtok_input if rate is None else rate

    @property
    def cache_write_1h_rate(self) -> Decimal:
        """USD per million tokens written for an hour; as for minutes where none is listed."""
        rate = self.usd_per_mtok_cache_write_1h
        return self.cache_write_rate if rate is None else rate


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """The price of one model at one provider on one day.

    Attributes:
        provider: Provider's id (``"openai"``), or `USER_PROVIDER` for a price that was given.
        model: Model's id at that provider.
        usd_per_mtok_input: USD per million prompt tokens, base tier.
        usd_per_mtok_cached_input: Price of tokens read from a prompt cache; None: unlisted.
        usd_per_mtok_output: USD per million output tokens, base tier; None: unlisted.
        usd_per_request: USD for a request whatever its length; 0 for nearly all models.
        tiers: All tiers in ascending order; the first is the base.
        price_date: How new the price list is, or the day on which the user gave the price.
        valid_on: The day for which the price was looked up.
        tariff: ``standard``, or a tariff that answers later or sooner (``batch``, ``flex``,
            ``priority``).
        source: Where the price comes from, with its date.
    """

    provider: str
    model: str
    usd_per_mtok_input: Decimal
    usd_per_mtok_cached_input: Decimal | None
    usd_per_mtok_output: Decimal | None
    usd_per_request: Decimal
    tiers: tuple[PriceTier, ...]
    price_date: date
    valid_on: date
    source: str
    tariff: str = "standard"
    _list_price: ModelPrice | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """``PROVIDER:MODEL``, or ``usd:...`` for a given price: what names this price again."""
        if self.provider == USER_PROVIDER:
            return self.model
        name = f"{self.provider}:{self.model}"
        return name if self.tariff == "standard" else f"{name}@{self.tariff}"

    @property
    def usd_per_mtok_cache_write(self) -> Decimal | None:
        """USD per million prompt tokens written to a cache, base tier; None: unlisted."""
        return self.tiers[0].usd_per_mtok_cache_write

    @property
    def is_tiered(self) -> bool:
        """True if the rates depend on the length of the prompt."""
        return len(self.tiers) > 1

    def usd_for(
        self,
        input_tokens: int,
        output_tokens: int | float | Decimal = 0,
        *,
        cached_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> Decimal:
        """Return the exact price of one request in USD.

        Listed prices are computed by `genai-prices` itself; given ones as
        ``tokens x rate / 1e6``. The tier is chosen by ``input_tokens`` and holds for all tokens.

        Args:
            input_tokens: Prompt tokens, those read from a cache included.
            output_tokens: Output tokens, reasoning included; a mean may have a fraction.
            cached_tokens: Prompt tokens read from a cache. Where no cached rate is listed they
                cost the full input rate.
            cache_write_tokens: Prompt tokens written to a cache, likewise.

        Raises:
            UsageError: If a number is negative or more is cached than sent.
            UnknownPriceError: If output is asked for and no output price is known.
        """
        output = _non_negative(output_tokens, "output_tokens")
        in_cache = cached_tokens + cache_write_tokens
        if min(input_tokens, cached_tokens, cache_write_tokens) < 0 or in_cache > input_tokens:
            raise UsageError(
                f"cannot price {input_tokens} input tokens of which {in_cache} are cached; "
                "expected 0 <= cached <= input"
            )
        self._require_output_price(output)
        if self._list_price is None:
            tier = self.tier_for(input_tokens)
            return self._usd_by_tier(tier, input_tokens, cached_tokens, output, cache_write_tokens)
        from genai_prices import Usage

        usage = Usage(
            input_tokens=input_tokens,
            cache_read_tokens=cached_tokens,
            cache_write_tokens=cache_write_tokens,
            output_tokens=output,
        )
        return self._list_price.calc_price(usage)["total_price"]

    def usd_for_lengths(
        self,
        input_tokens: Sequence[int],
        requests: Sequence[int],
        output_tokens: int | float | Decimal = 0,
    ) -> Decimal:
        """Return the exact price in USD of many requests, given as a histogram of prompt lengths.

        The sum over tiers of ``(sum of tokens) x rate / 1e6``: equal to adding up `usd_for`
        request by request (a test says so), in one pass.

        Args:
            input_tokens: Distinct prompt lengths.
            requests: Requests of each length.
            output_tokens: Output tokens of every request.

        Raises:
            UnknownPriceError: If output is asked for and no output price is known.
        """
        output = _non_negative(output_tokens, "output_tokens")
        self._require_output_price(output)
        n_tokens = dict.fromkeys(self.tiers, 0)
        n_requests = dict.fromkeys(self.tiers, 0)
        for length, count in zip(input_tokens, requests, strict=True):
            tier = self.tier_for(int(length))
            n_tokens[tier] += int(length) * int(count)
            n_requests[tier] += int(count)
        total = Decimal(0)
        for tier in self.tiers:
            # A tier without requests must not ask for its output price.
            if n_requests[tier]:
                total += self._usd_by_tier(tier, n_tokens[tier], 0, output * n_requests[tier])
                total += self.usd_per_request * (n_requests[tier] - 1)
        return total

    def tier_for(self, input_tokens: int) -> PriceTier:
        """Return the tier that holds for a prompt of this length."""
        return next(
            (t for t in reversed(self.tiers) if input_tokens > t.above_input_tokens), self.tiers[0]
        )

    def _usd_by_tier(
        self,
        tier: PriceTier,
        input_tokens: int,
        cached_tokens: int,
        output: Decimal,
        cache_write_tokens: int = 0,
    ) -> Decimal:
        usd_e6 = (
            (input_tokens - cached_tokens - cache_write_tokens) * tier.usd_per_mtok_input
            + cached_tokens * tier.cache_read_rate
            + cache_write_tokens * tier.cache_write_rate
            + output * (tier.usd_per_mtok_output or Decimal(0))
        )
        return usd_e6 / TOKENS_PER_MTOK + self.usd_per_request

    def _require_output_price(self, output: Decimal) -> None:
        if output and self.usd_per_mtok_output is None:
            raise UnknownPriceError(
                self.name,
                hint="this price has no output rate; a price of your own is written "
                "usd:INPUT/OUTPUT, in USD per million tokens",
            )


def _non_negative(value: int | float | Decimal, what: str) -> Decimal:
    number = Decimal(str(value))
    if not number.is_finite() or number < 0:
        raise UsageError(f"{what} is {value}; expected a finite number of at least 0")
    return number
