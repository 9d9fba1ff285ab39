"""The cost that a log states, beside the price of the list for the same requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from jeton.economics.ledger.cells import LedgerCell, Priced
from jeton.economics.ledger.uses import LedgerIssue

MOST_DIFFERENCE = Decimal("0.01")
"""Share of our price above which a stated cost differs: a percent is more than any rounding of a
log's costs to six digits, and less than any fault of a price."""

_ROUNDING_USD = Decimal("0.0000005")
"""Half of the last digit of a cost with six digits, for each request."""

_NANO = Decimal(1_000_000_000)
_DIGITS = 60
"""Digits of sums, as in `cells`: nothing is rounded."""


@dataclass(frozen=True, slots=True)
class StatedCost:
    """Requests of one model whose log states what they cost.

    Attributes:
        provider: Provider whose price was taken; empty where nothing was priced.
        model: The model's name in the price list; empty where nothing was priced.
        logged_as: Its name in the log.
        payer: ``log``: the account of the log. ``own key``: a gateway called with a key of one's
            own, and the provider sends its bill to that key's account.
        n_requests: Requests that state a cost.
        stated_usd: The stated cost, USD; for ``own key`` the provider's part.
        usd: Ours for the same requests, USD; None where they have no price.
        gateway_usd: The gateway's fee beside it, USD, for ``own key``.
    """

    provider: str
    model: str
    logged_as: str
    payer: str
    n_requests: int
    stated_usd: Decimal
    usd: Decimal | None
    gateway_usd: Decimal = Decimal(0)

    @property
    def difference_usd(self) -> Decimal | None:
        """Stated cost less ours, USD; None where there is no price."""
        return None if self.usd is None else self.stated_usd - self.usd

    @property
    def differs(self) -> bool:
        """True if the two differ by more than 1% of ours."""
        difference = self.difference_usd
        if difference is None or self.usd is None:
            return False
        return abs(difference) > max(self.usd * MOST_DIFFERENCE, self.n_requests * _ROUNDING_USD)


def stated_costs(priced: Priced, missing: Mapping[Any, LedgerCell]) -> tuple[StatedCost, ...]:
    """Return the stated costs by model and payer, the largest first.

    Args:
        priced: The sums of a ledger.
        missing: Cells of requests without a price, by ((model, provider, reason), hour).
    """
    sums: dict[tuple[str, str, str, str], list[Any]] = {}

    def add(
        where: tuple[str, str, str, str], amounts: Mapping[str, int], usd: Decimal | None
    ) -> None:
        entry = sums.setdefault(where, [0, 0, 0, usd if usd is None else Decimal(0)])
        entry[0] += amounts.get("stated_requests", 0)
        entry[1] += amounts.get("stated_nanousd", 0)
        entry[2] += amounts.get("gateway_nanousd", 0)
        if usd is not None:
            entry[3] += usd

    with localcontext(prec=_DIGITS):
        for part in priced.sums():
            key = part.key
            if key.payer:
                add((key.provider, key.model, key.logged_as, key.payer), part.amounts, part.usd())
    for ((model, _, _), _), cell in missing.items():
        n_own = cell.amounts.get("own_key_requests", 0)
        if cell.amounts.get("stated_requests", 0):
            add(("", "", model, "own key" if n_own else "log"), cell.amounts, None)
    found = [
        StatedCost(*where, n, _usd(nano), None if usd is None else usd.normalize() + 0, _usd(fee))
        for where, (n, nano, fee, usd) in sums.items()
        if n > 0
    ]
    found.sort(key=lambda c: (-c.stated_usd, c.logged_as, c.provider, c.payer))
    return tuple(found)


def _usd(nano: int) -> Decimal:
    value = (Decimal(nano) / _NANO).normalize()
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value


def differences(stated: tuple[StatedCost, ...]) -> list[LedgerIssue]:
    """Name the models whose stated cost differs from ours."""
    found = []
    for entry in stated:
        if entry.differs and entry.usd is not None:
            share = f" ({entry.stated_usd / entry.usd - 1:+.1%})" if entry.usd else ""
            name = entry.logged_as or entry.model
            found.append(
                LedgerIssue(
                    "stated_cost_differs",
                    entry.n_requests,
                    f"{name}: the log states ${entry.stated_usd:,.6g}, the list's price is "
                    f"${entry.usd:,.6g}{share}",
                )
            )
    return found
