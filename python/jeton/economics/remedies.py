"""Changes to a pipeline, and what each leaves of requests, tokens and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from jeton.errors import UsageError
from jeton.findings import Basis

Part = Literal["input", "output", "cached", "all", "requests"]
"""Part of the use that a remedy acts on: prompt tokens, generated tokens, the prompt tokens that
stay outside of a cache, both prompt and generated tokens, or whole requests."""

_PARTS = ("input", "output", "cached", "all", "requests")


@dataclass(frozen=True, slots=True)
class Effect:
    """Remainder of one model's use after a remedy, each as a share of the use before.

    Attributes:
        model: The model's name in the log; empty for every model without an effect of its own.
        input_factor: Tokens of prompts.
        output_factor: Generated tokens.
        request_factor: Requests, with all that they use.
        cost_factor: Price of the part that the remedy applies to.
        read_share: Share of the prompt tokens at the full rate that are then read from a cache.
        read_rate: Price of such a token over the full one; None: the rate that the use has.
        write_share: Share of the prompt tokens at the full rate that are then written to a cache.
        write_rate: Price of such a token over the full one.
    """

    model: str = ""
    input_factor: Decimal = Decimal(1)
    output_factor: Decimal = Decimal(1)
    request_factor: Decimal = Decimal(1)
    cost_factor: Decimal = Decimal(1)
    read_share: Decimal = Decimal(0)
    read_rate: Decimal | None = None
    write_share: Decimal = Decimal(0)
    write_rate: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """Difference of two ledgers, after a remedy less before it, of one model and dimension.

    Attributes:
        model: The model's name as logged.
        dimension: Name as in `jeton.dimensions`.
        amount: Units.
        usd: Dollars.
    """

    model: str
    dimension: str
    amount: Decimal
    usd: Decimal


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change to the pipeline and the share of tokens or price that it leaves.

    Attributes:
        id: Stable identifier; of the finding that proposes it, where one does.
        name: A few words for a chart.
        token_factor: Tokens after / tokens before, at least 0. For ``applies_to="cached"``: prompt
            tokens that still cost the full rate / those before; the others are read from a cache.
        cost_factor: Price per token after / before, at least 0 (0.5 for a batch tariff).
        applies_to: See `Part`.
        basis: How well the factor is known.
        formula: Where the factor comes from, with the numbers put in.
        source: Source of the factor.
        usd_once: One-time cost of carrying it out, USD.
        usd_per_month: Running cost, USD per month; added to the bill.
        effects: The rest that it leaves by model, where that is more than the factors say.
        effort: Effort of carrying it out, in words ("turn on a flag").
        risk: Risk, in words.
        changes: The difference that a replay of the requests found, in the time of the ledger; the
            factors then only describe it. None: the factors are what is known.
        requests_left: Requests after a replay over those before it.
    """

    id: str
    name: str
    token_factor: float | Decimal = Decimal(1)
    cost_factor: float | Decimal = Decimal(1)
    applies_to: Part = "input"
    basis: Basis = Basis.ESTIMATED
    formula: str = ""
    source: str = ""
    usd_once: Decimal = Decimal(0)
    usd_per_month: Decimal = Decimal(0)
    effects: tuple[Effect, ...] = ()
    effort: str = ""
    risk: str = ""
    changes: tuple[LedgerChange, ...] | None = None
    requests_left: Decimal = Decimal(1)


def effects_of(remedy: Remedy) -> tuple[Effect, ...]:
    """The effects of a remedy by model; one for all where only factors are given."""
    if remedy.effects:
        return remedy.effects
    tokens, cost = Decimal(str(remedy.token_factor)), Decimal(str(remedy.cost_factor))
    part = remedy.applies_to
    if part == "cached":
        return (Effect(read_share=1 - tokens, cost_factor=cost),)
    if part == "requests":
        return (Effect(request_factor=tokens, cost_factor=cost),)
    return (
        Effect(
            input_factor=tokens if part in ("input", "all") else Decimal(1),
            output_factor=tokens if part in ("output", "all") else Decimal(1),
            cost_factor=cost,
        ),
    )


def require_usable(remedies: Sequence[Remedy]) -> None:
    """Refuse remedies that cannot be meant.

    Raises:
        UsageError: A number is negative or not finite, a part is not known, or an id occurs twice.
    """
    ids: set[str] = set()
    for remedy in remedies:
        if remedy.applies_to not in _PARTS:
            raise UsageError(
                f"the remedy {remedy.id!r} applies to {remedy.applies_to!r}; "
                "expected input, output, cached, all or requests"
            )
        for name in ("token_factor", "cost_factor"):
            number = Decimal(str(getattr(remedy, name)))
            if not number.is_finite() or number < 0:
                raise UsageError(
                    f"the remedy {remedy.id!r} has a {name} of {getattr(remedy, name)}; "
                    "expected a finite number of at least 0"
                )
        if remedy.applies_to == "cached" and Decimal(str(remedy.token_factor)) > 1:
            raise UsageError(
                f"the remedy {remedy.id!r} leaves {remedy.token_factor} of the prompt at the full "
                "rate; expected at most 1"
            )
        for name, usd in (("usd_once", remedy.usd_once), ("usd_per_month", remedy.usd_per_month)):
            if not usd.is_finite() or usd < 0:
                raise UsageError(
                    f"the remedy {remedy.id!r} has a {name} of {usd}; expected at least 0"
                )
        if remedy.id in ids:
            raise UsageError(
                f"the remedy {remedy.id!r} is given twice; it would be counted twice\n"
                "hint: keep the one with the larger effect"
            )
        ids.add(remedy.id)
