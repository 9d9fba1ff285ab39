"""The trade-off triangle: memory, money, time and quality of every candidate.

A candidate is on the front if no other is at least as good in everything and better in something.
The best under the user's limits is the first by what he prefers among those that keep all limits;
it always lies on the front, because whatever beats it in everything would keep the limits too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from jeton._plain import counted as counted_things
from jeton.errors import UsageError

Objective = Literal["memory_bytes", "usd_per_month", "seconds_per_request", "bits_per_byte"]
"""Objectives that are weighed against each other; less is better in each."""

OBJECTIVES: tuple[Objective, ...] = (
    "usd_per_month",
    "seconds_per_request",
    "memory_bytes",
    "bits_per_byte",
)
"""In the order in which ties are broken."""

_N_NAMED = 3
"""Candidates of unknown figures that are named."""

_UNITS: dict[Objective, str] = {
    "memory_bytes": "bytes of memory",
    "usd_per_month": "USD per month",
    "seconds_per_request": "seconds per request",
    "bits_per_byte": "bits per byte",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Cost of a candidate in each respect; None where it is not known.

    Attributes:
        name: Name of the candidate (a tokenizer, a tokenizer with a model).
        memory_bytes: Memory that serving it takes (weights and KV cache, as the caller defines).
        usd_per_month: Money.
        seconds_per_request: Latency.
        bits_per_byte: Quality, as bits per byte of held-out text under a model; less is better.
    """

    name: str
    memory_bytes: float | None = None
    usd_per_month: Decimal | float | None = None
    seconds_per_request: float | None = None
    bits_per_byte: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that the user accepts, in the units of `Candidate`; None: no limit."""

    memory_bytes: float | None = None
    usd_per_month: Decimal | float | None = None
    seconds_per_request: float | None = None
    bits_per_byte: float | None = None


@dataclass(frozen=True, slots=True)
class TradeOffPoint:
    """A candidate on the plot.

    Attributes:
        name: Name of the candidate.
        memory_bytes: As in `Candidate`.
        usd_per_month: As in `Candidate`.
        seconds_per_request: As in `Candidate`.
        bits_per_byte: As in `Candidate`.
        is_on_front: True if no other candidate is at least as good in all that counts and better in
            something.
        violates: The limits that it exceeds, by name; ``"NAME (unknown)"`` where it cannot be told.
    """

    name: str
    memory_bytes: float | None
    usd_per_month: Decimal | float | None
    seconds_per_request: float | None
    bits_per_byte: float | None
    is_on_front: bool
    violates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Every candidate, the front, and the best under the limits.

    Attributes:
        points: One for each candidate, in the order given.
        limits: The user's limits.
        best: Name of the best that keeps all limits; None if none does.
        reason: Why that one, or why none, in a sentence with the figures.
        objectives: The respects that counted: those that are known of every candidate.
    """

    points: tuple[TradeOffPoint, ...]
    limits: Limits
    best: str | None
    reason: str
    objectives: tuple[Objective, ...] = ()


def trade_off(
    candidates: Sequence[Candidate],
    *,
    limits: Limits | None = None,
    prefer: Objective = "usd_per_month",
    in_use: str | None = None,
    least_gain: float = 0.0,
) -> TradeOff:
    """Return the Pareto front of some candidates and the best under the limits.

    Only what is known of every candidate counts for the front: a candidate cannot win by keeping a
    figure to itself. Ties of the preferred figure go to the next of `OBJECTIVES`, then to the name.

    Source: Pareto dominance, by definition; all pairs are compared.

    Args:
        candidates: At least one, with distinct names.
        limits: The most that is acceptable.
        prefer: The figure that is minimised among the candidates that keep all limits. If it is not
            known of every candidate, the first of `OBJECTIVES` that is.
        in_use: The candidate that stays unless another is better by ``least_gain``.
        least_gain: Share of the preferred figure that a change has to save.

    Raises:
        UsageError: If there is no candidate, a name occurs twice, or a number is negative or not
            finite.
    """
    limits = limits or Limits()
    if prefer not in OBJECTIVES:
        raise UsageError(f"prefer is {prefer!r}; expected one of: {', '.join(OBJECTIVES)}")
    if not candidates:
        raise UsageError("there is no candidate to weigh; expected at least one")
    names = [candidate.name for candidate in candidates]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the candidate {name!r} is given twice; expected distinct names")
    values = [_values(candidate) for candidate in candidates]
    counted = tuple(
        objective for objective in OBJECTIVES if all(v[objective] is not None for v in values)
    )
    bounds = _bounds(limits)
    rows = [[_known(value[objective]) for objective in counted] for value in values]
    points = tuple(
        TradeOffPoint(
            name=candidate.name,
            memory_bytes=candidate.memory_bytes,
            usd_per_month=candidate.usd_per_month,
            seconds_per_request=candidate.seconds_per_request,
            bits_per_byte=candidate.bits_per_byte,
            is_on_front=not any(_dominates(other, row) for other in rows),
            violates=_violations(value, bounds),
        )
        for candidate, value, row in zip(candidates, values, rows, strict=True)
    )
    best, reason = _choose(points, values, counted, prefer, bounds, (in_use, least_gain))
    return TradeOff(points, limits, best, reason, counted)


def _choose(
    points: Sequence[TradeOffPoint],
    values: Sequence[dict[Objective, Decimal | None]],
    counted: tuple[Objective, ...],
    prefer: Objective,
    bounds: dict[Objective, Decimal],
    keep: tuple[str | None, float],
) -> tuple[str | None, str]:
    """Return the best point's name, if any, and the reason."""
    if not counted:
        return None, "no figure is known of every candidate, so that none can be preferred"
    keeping = [
        (point, value) for point, value in zip(points, values, strict=True) if not point.violates
    ]
    if not keeping:
        missed = sorted({name for point in points for name in point.violates})
        return None, (
            f"none of {len(points)} candidates keeps all limits; exceeded: {', '.join(missed)}"
        )
    first = prefer if prefer in counted else counted[0]
    order = (first, *(objective for objective in counted if objective != first))
    best, value = min(
        keeping,
        key=lambda pair: (*(_known(pair[1][objective]) for objective in order), pair[0].name),
    )
    among = f"of {counted_things(len(points), 'candidate')}"
    if bounds:
        among = f"of those that keep the limits, {len(keeping)} of {len(points)}"
    figure = f"{_known(value[first]):,.4g}"
    reason = f"{best.name} has the fewest {_UNITS[first]} {among}: {figure}"
    own = next((pair for pair in keeping if pair[0].name == keep[0]), None)
    if own is not None and own[0] is not best:
        now, then = _known(own[1][first]), _known(value[first])
        gain = float(1 - then / now) if now else 0.0
        if gain < keep[1]:
            reason = (
                f"{own[0].name} is in use and stays: {best.name} has {gain:.1%} fewer "
                f"{_UNITS[first]} {among}, below the {keep[1]:.0%} that a change has to save"
            )
            best = own[0]
    if len(points) == 1:
        reason = f"{best.name} is the only candidate: {figure} {_UNITS[first]}"
    if first != prefer:
        unknown = [
            point.name for point, of in zip(points, values, strict=True) if of[prefer] is None
        ]
        named = ", ".join(unknown[:_N_NAMED]) + (" ..." if len(unknown) > _N_NAMED else "")
        missing = "they are not known" if len(unknown) == len(points) else f"not known for {named}"
        reason += f"; {_UNITS[prefer]} are not compared: {missing}"
    return best.name, reason


def _dominates(one: Sequence[Decimal], other: Sequence[Decimal]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(
        a < b for a, b in zip(one, other, strict=True)
    )


def _violations(
    value: dict[Objective, Decimal | None], bounds: dict[Objective, Decimal]
) -> tuple[str, ...]:
    found = []
    for objective, bound in bounds.items():
        number = value[objective]
        if number is None:
            found.append(f"{objective} (unknown)")
        elif number > bound:
            found.append(objective)
    return tuple(found)


def _values(candidate: Candidate) -> dict[Objective, Decimal | None]:
    return {
        objective: _number(getattr(candidate, objective), f"{objective} of {candidate.name!r}")
        for objective in OBJECTIVES
    }


def _bounds(limits: Limits) -> dict[Objective, Decimal]:
    found = {
        objective: _number(getattr(limits, objective), f"the limit of {objective}")
        for objective in OBJECTIVES
    }
    return {objective: bound for objective, bound in found.items() if bound is not None}


def _number(value: Decimal | float | None, what: str) -> Decimal | None:
    """Return a number without loss, so that floats and money compare exactly."""
    if value is None:
        return None
    number = Decimal(value)
    if not number.is_finite() or number < 0:
        raise UsageError(f"{what} is {value}; expected a finite number of at least 0")
    return number


def _known(value: Decimal | None) -> Decimal:
    if value is None:
        raise UsageError("a figure that does not count was compared")
    return value
