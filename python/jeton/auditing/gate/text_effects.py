"""Effects of text, and of what decides a price, on a figure.

A part of the request has blocks (messages, passages); an effect is a number of blocks times what a
block has more, or the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from jeton.auditing.gate.features import (
    FRAME,
    LANGUAGE_MIX,
    LENGTH,
    LIST_PRICE,
    NUMBER,
    OF_PRICE,
    WORDING,
)
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.side import PRICED_KINDS, BilledSide, GatePriceKey
from jeton.auditing.gate.statistics import BlockSums, Statistics

ZERO = Fraction(0)
_Key = tuple[str, str]
Effects = dict[_Key, Fraction]
"""Effects by part of the request and cause."""

_K = TypeVar("_K", str, _Key)


class Documents:
    """The documents of one domain of one side, counted in one unit."""

    def __init__(
        self,
        text: Statistics,
        domain: str,
        counted: Callable[[BlockSums], list[int]],
        scale: Fraction,
    ) -> None:
        whole = text.wholes[domain]
        self.n = whole.n
        self.scale = scale
        self.parts: dict[str, dict[str, tuple[BlockSums, list[Fraction]]]] = {}
        in_blocks = 0
        for (name, part, language), cell in text.cells.items():
            if name == domain:
                values = [scale * n for n in counted(cell)]
                self.parts.setdefault(part, {})[language] = (cell, values)
                in_blocks += counted(cell)[0]
        self.per_document = scale * Fraction(counted(whole)[0], self.n)
        self.frame = scale * Fraction(counted(whole)[0] - in_blocks, self.n)

    def blocks(self, part: str) -> int:
        """Blocks of a part in all documents."""
        return sum(cell.n for cell, _ in self.parts.get(part, {}).values())


def within(a: Documents, b: Documents) -> Effects:
    """Return the effects within one domain, on the mean of a document."""
    effects: Effects = {("frame", FRAME): b.frame - a.frame}
    for part in dict.fromkeys((*a.parts, *b.parts)):
        n = [Fraction(side.blocks(part), side.n) for side in (a, b)]
        means = []
        for side in (a, b):
            total = sum((values[0] for _, values in side.parts.get(part, {}).values()), ZERO)
            means.append(total / side.blocks(part) if side.blocks(part) else None)
        old, new = either(means[0], means[1]), either(means[1], means[0])
        add(effects, (part, NUMBER), (n[1] - n[0]) * (old + new) / 2)
        if means[0] is not None and means[1] is not None:
            for cause, value in _of_blocks(a.parts[part], b.parts[part]).items():
                add(effects, (part, cause), value * (n[0] + n[1]) / 2)
    return effects


_Blocks = Mapping[str, tuple[BlockSums, Sequence[Fraction]]]


def _of_blocks(old: _Blocks, new: _Blocks) -> dict[str, Fraction]:
    """Return the effects on the mean of a block: languages, features, length, wording."""
    totals = [sum(cell.n for cell, _ in side.values()) for side in (old, new)]
    effects: dict[str, Fraction] = {}
    for language in dict.fromkeys((*old, *new)):
        a, b = old.get(language), new.get(language)
        shares = [
            Fraction(own[0].n, n) if own else ZERO for own, n in zip((a, b), totals, strict=True)
        ]
        means = [own[1][0] / own[0].n for own in (a or b, b or a) if own]
        add(effects, LANGUAGE_MIX, (shares[1] - shares[0]) * sum(means) / 2)
        if not a or not b:
            continue
        weight = (shares[0] + shares[1]) / 2
        (cell0, v0), (cell1, v1) = a, b
        for step, name in enumerate(STEPS):
            change = (v1[step] - v1[step + 1]) / cell1.n - (v0[step] - v0[step + 1]) / cell0.n
            add(effects, name, weight * change)
        chars = [Fraction(cell.n_chars[-1], cell.n) for cell in (cell0, cell1)]
        rates = [v[-1] / c.n_chars[-1] if c.n_chars[-1] else None for c, v in (a, b)]
        r0, r1 = either(rates[0], rates[1]), either(rates[1], rates[0])
        add(effects, LENGTH, weight * (chars[1] - chars[0]) * (r0 + r1) / 2)
        add(effects, WORDING, weight * (chars[0] + chars[1]) / 2 * (r1 - r0))
        # Tokens of an empty wording (a control token, say) belong to no character.
        rest = (v1[-1] / cell1.n - chars[1] * r1) - (v0[-1] / cell0.n - chars[0] * r0)
        add(effects, WORDING, weight * rest)
    return effects


def either(one: Fraction | None, other: Fraction | None) -> Fraction:
    """Return the first value, the other where there is none, or 0."""
    return one if one is not None else other if other is not None else ZERO


def add(effects: dict[_K, Fraction], key: _K, value: Fraction) -> None:
    """Add an effect to others; nothing where it is 0."""
    if value:
        effects[key] = effects.get(key, ZERO) + value


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
