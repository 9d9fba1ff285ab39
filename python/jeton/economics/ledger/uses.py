"""Rows of a ledger: use by model, dimension, time and domain, and what has no price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from jeton.findings import Basis


@dataclass(frozen=True, slots=True)
class DimensionUse:
    """One dimension of use and its money; every unit stands in one row only.

    Attributes:
        name: Name as in `jeton.dimensions`.
        amount: Units charged at this dimension's own rate, its dearer or cheaper parts left out.
        unit: Unit in plain words.
        usd: Their cost, USD.
        usd_per_unit: Mean rate, USD; None where the amount is 0.
        basis: Estimated where a rate or a part had to be assumed.
    """

    name: str
    amount: Decimal
    unit: str
    usd: Decimal
    usd_per_unit: Decimal | None
    basis: Basis = Basis.EXACT


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Requests of one model at one provider and tariff.

    Attributes:
        provider: Provider whose price was taken; empty where nothing was priced.
        model: The model's name in the price list.
        logged_as: Its name in the log.
        tariff: ``standard``, ``batch``, ...; ``from-gateway-cache`` for answers that cost nothing.
        n_requests: Requests.
        amounts: Units by dimension, parts counted in what holds them (seconds in milliseconds).
        usd: Their cost, USD.
        dimensions: The money by dimension.
        basis: Estimated where anything had to be assumed.
        above_input_tokens: Length of prompt above which the rates hold, where a price that steps
            with it is split (`Ledger.by_step`); 0: from the first token.
    """

    provider: str
    model: str
    logged_as: str
    tariff: str
    n_requests: int
    amounts: Mapping[str, int]
    usd: Decimal
    dimensions: tuple[DimensionUse, ...] = ()
    basis: Basis = Basis.EXACT
    above_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TimeUse:
    """Requests of one day or hour; ``start`` is None for those whose time is not known."""

    start: datetime | None
    n_requests: int
    input_tokens: int
    output_tokens: int
    usd: Decimal

    @property
    def day(self) -> date | None:
        """Day of use, UTC."""
        return None if self.start is None else self.start.astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class DomainUse:
    """Requests of one domain; the name is empty for those in none."""

    domain: str
    n_requests: int
    input_tokens: int
    output_tokens: int
    usd: Decimal


@dataclass(frozen=True, slots=True)
class NotPriced:
    """Requests that are left out of the money, and why.

    Attributes:
        model: The model's name in the log; empty if none is stated.
        provider: Providers as the log names them; empty if unknown.
        kind: ``unknown_model``, ``no_model``, ``no_price``, ``own_machine``, ``no_counts`` or
            ``counts_contradict``.
        why: The reason in words.
        nearest: Names of the list that resemble it.
        n_requests: Requests.
        n_tokens: Their input and output tokens, as far as known.
        share_of_tokens: Their part of all tokens of the log, 0 to 1.
    """

    model: str
    provider: str
    kind: str
    why: str
    nearest: tuple[str, ...]
    n_requests: int
    n_tokens: int
    share_of_tokens: float


@dataclass(frozen=True, slots=True)
class LedgerIssue:
    """Something that had to be assumed, with the number of requests that it touches."""

    kind: str
    n: int
    text: str
