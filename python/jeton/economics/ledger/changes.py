"""Changes to a ledger's amounts: what remedies save, at each request's own rates."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from jeton.dimensions import DIMENSIONS, holds
from jeton.economics.ledger.cells import Change, PriceKey
from jeton.errors import UsageError

__all__ = ["Change", "Number", "dropped", "moved", "scaled"]

Number = int | float | Decimal


def scaled(factors: Mapping[str, Number], model: str | None) -> Change:
    """Multiply amounts; the narrowest dimension that is named decides for each unit."""
    exact = {name: _factor(factor, name) for name, factor in factors.items()}

    def change(key: PriceKey, leaves: dict[str, Decimal]) -> dict[str, Decimal]:
        if not _concerns(key, model):
            return leaves
        return {name: n * _narrowest(exact, name) for name, n in leaves.items()}

    return change


def moved(source: str, target: str, share: Number, model: str | None) -> Change:
    """Move a share of the units of one dimension to another, where they have its rate."""
    part = _factor(share, source)
    if part > 1:
        raise UsageError(f"the share of {source} to move is {share}; expected 0 to 1")
    _factor(0, target)

    def change(key: PriceKey, leaves: dict[str, Decimal]) -> dict[str, Decimal]:
        if not _concerns(key, model) or key.rates is None or source not in leaves:
            return leaves
        # A target without a rate of its own is charged as what holds it.
        charged_as = key.rates.charged_as(target)
        if charged_as is None:
            return leaves
        n = leaves[source] * part
        changed = dict(leaves)
        changed[source] -= n
        changed[charged_as] = changed.get(charged_as, Decimal(0)) + n
        return changed

    return change


def dropped(model: str | None, tariff: str | None) -> Change:
    """Leave out the requests of a model, a tariff, or a model at a tariff."""

    def change(key: PriceKey, leaves: dict[str, Decimal]) -> dict[str, Decimal]:
        if _concerns(key, model) and tariff in (None, key.tariff):
            return {}
        return leaves

    return change


def _concerns(key: PriceKey, model: str | None) -> bool:
    return model in (None, *key.names)


def _narrowest(factors: Mapping[str, Decimal], name: str) -> Decimal:
    above = [other for other in factors if holds(other, name)]
    if not above:
        return Decimal(1)
    return factors[max(above, key=lambda other: len(DIMENSIONS[other].attributes))]


def _factor(value: Number, name: str) -> Decimal:
    if name not in DIMENSIONS:
        raise UsageError(
            f"{name!r} is no dimension\nhint: jeton.dimensions.DIMENSIONS has them all"
        )
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite() or number < 0:
        raise UsageError(f"the factor of {name} is {value}; expected a number of at least 0")
    return number
