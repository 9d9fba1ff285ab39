"""Effects of prices on the dollars of a request: model, provider, region, tariff, list price."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from jeton.auditing.gate.cause_names import LIST_PRICE, OF_PRICE
from jeton.auditing.gate.side import PRICED_KINDS, BilledSide, GatePriceKey
from jeton.auditing.gate.text_effects import ZERO, add, either


def tokens_of(side: BilledSide, kind: str) -> int:
    """Priced tokens of a kind."""
    place = PRICED_KINDS.index(kind)
    return sum(cell.tokens[place] for cell in side.prices.values())


def _rates(side: BilledSide, kind: str) -> dict[GatePriceKey, tuple[int, Fraction]]:
    """Tokens of a kind by price, with their rate."""
    place = PRICED_KINDS.index(kind)
    return {
        key: (cell.tokens[place], cell.usd[place] / cell.tokens[place])
        for key, cell in side.prices.items()
        if cell.tokens[place]
    }


def mean_rate(kind: str, *sides: BilledSide) -> Fraction:
    """The mean of both sides' rates; a side without such tokens has the other's."""
    found = []
    for side in sides:
        own = _rates(side, kind)
        n = sum(tokens for tokens, _ in own.values())
        found.append(sum((t * rate for t, rate in own.values()), ZERO) / n if n else None)
    return (either(found[0], found[1]) + either(found[1], found[0])) / 2


def rate_effects(kind: str, before: BilledSide, after: BilledSide) -> dict[str, Fraction]:
    """Dollars a request by what moved the rate of a kind of tokens."""
    old, new = _rates(before, kind), _rates(after, kind)
    if not old or not new:
        return {}
    tokens = [Fraction(tokens_of(side, kind), max(1, side.n_priced)) for side in (before, after)]
    mean = (tokens[0] + tokens[1]) / 2
    return {cause: value * mean for cause, value in _of_rates(old, new, 0).items()}


def _of_rates(
    old: Mapping[GatePriceKey, tuple[int, Fraction]],
    new: Mapping[GatePriceKey, tuple[int, Fraction]],
    depth: int,
) -> dict[str, Fraction]:
    """The change of a mean rate: first by model, within it by provider, region and tariff."""
    if depth == len(OF_PRICE):
        return {LIST_PRICE: _mean(new) - _mean(old)}
    effects: dict[str, Fraction] = {}
    totals = [sum(n for n, _ in side.values()) for side in (old, new)]
    for name in dict.fromkeys(key[depth] for key in (*old, *new)):
        own = [{k: v for k, v in side.items() if k[depth] == name} for side in (old, new)]
        shares = [
            Fraction(sum(n for n, _ in side.values()), total)
            for side, total in zip(own, totals, strict=True)
        ]
        means = [_mean(side) for side in (own[0] or own[1], own[1] or own[0])]
        add(effects, OF_PRICE[depth], (shares[1] - shares[0]) * sum(means) / 2)
        if own[0] and own[1]:
            for cause, value in _of_rates(own[0], own[1], depth + 1).items():
                add(effects, cause, value * (shares[0] + shares[1]) / 2)
    return effects


def _mean(rates: Mapping[GatePriceKey, tuple[int, Fraction]]) -> Fraction:
    n = sum(tokens for tokens, _ in rates.values())
    return sum((tokens * rate for tokens, rate in rates.values()), ZERO) / n
