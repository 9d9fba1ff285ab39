"""Why a mean changed: its difference as a sum of parts, one for each cause, exactly.

The mean of a corpus is the weighted mean of its groups (a domain, and in it a language), and the
value of a group is a length times a sum of rates. Two corpora are compared level by level with the
symmetric rule of Bennet (T. L. Bennet, "The theory of measurement of changes in cost of living",
Journal of the Royal Statistical Society 83, 1920): of a product, the change of one factor is
weighted with the mean of the other before and after,

    a1 b1 - a0 b0  =  (a1 - a0) (b0 + b1) / 2  +  (b1 - b0) (a0 + a1) / 2,

which is the Shapley value of two factors: no order of the causes is preferred, nothing is left
over. A group that is on one side only has changed nothing but the mix.

Everything is a rational number of the counts, so that the parts add up to the difference without a
remainder. Pure functions; cost: O(groups x rates).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from jeton.errors import UsageError

__all__ = [
    "DOMAIN_MIX",
    "LANGUAGE_MIX",
    "LENGTH",
    "Contribution",
    "Decomposition",
    "DocumentGroup",
    "decompose",
]

DOMAIN_MIX = "domain_mix"
"""The part of a changed share of the domains."""

LANGUAGE_MIX = "language_mix"
"""The part of a changed share of the languages within domains."""

LENGTH = "length"
"""The part of longer or shorter documents within a language."""

_BITS = 240
"""Parts of single groups are kept as multiples of 2^-240 (1e-72): thousands of groups with
unrelated denominators would otherwise give fractions of millions of digits. The remainder of
rounding is given to the largest part, so that the sum stays exact."""

_GRID = 1 << _BITS

_MAX_ROUNDING = Fraction(1, 1 << 160)
"""More than this cannot come from rounding, whatever the number of groups: it would be a fault."""


@dataclass(frozen=True, slots=True)
class DocumentGroup:
    """One group of documents on one side.

    Attributes:
        weight: Unit of its share (documents, bytes ...); above 0.
        length: Units of text per unit of weight; 1 where the metric has no length in it.
        rates: Value per unit of text, by the name of the part; the group's value is
            ``length x sum of rates``.
    """

    weight: int
    length: Fraction
    rates: Mapping[str, Fraction]

    @property
    def value(self) -> Fraction:
        """The group's own mean."""
        return self.length * sum(self.rates.values(), Fraction(0))


@dataclass(frozen=True, slots=True)
class Contribution:
    """Contribution of one group to one part. ``language`` is empty for the mix of domains."""

    part: str
    domain: str
    language: str
    value: Fraction


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The difference of two means, by cause.

    Attributes:
        before: The mean of the first corpus.
        after: The mean of the second.
        parts: Value by the name of the part; the sum is ``after - before``, exactly.
        contributions: Contributions by group, the largest first; zeros are left out.
    """

    before: Fraction
    after: Fraction
    parts: Mapping[str, Fraction]
    contributions: tuple[Contribution, ...]

    @property
    def difference(self) -> Fraction:
        """``after - before``."""
        return self.after - self.before


def decompose(
    before: Mapping[tuple[str, str], DocumentGroup], after: Mapping[tuple[str, str], DocumentGroup]
) -> Decomposition:
    """Take the difference of two means apart.

    Args:
        before: Groups of the first corpus by (domain, language).
        after: Groups of the second.

    Returns:
        Parts for the mix of domains, the mix of languages, the length, and each name of a rate.

    Raises:
        UsageError: A side has no group, or the weight of a group is not above 0.
    """
    for side in (before, after):
        if not side or any(group.weight <= 0 for group in side.values()):
            raise UsageError("cannot decompose a mean of nothing; expected weights above 0")
    names = sorted(
        {name for side in (before, after) for group in side.values() for name in group.rates}
    )
    sums: dict[str, int] = dict.fromkeys((DOMAIN_MIX, LANGUAGE_MIX, LENGTH, *names), 0)
    found: list[Contribution] = []

    def note(part: str, domain: str, language: str, value: Fraction) -> None:
        if value:
            sums[part] += round(value * _GRID)
            found.append(Contribution(part, domain, language, value))

    means = (_mean(before), _mean(after))
    centre = (means[0] + means[1]) / 2
    domains = (_by_domain(before), _by_domain(after))
    totals = (_weight(before), _weight(after))
    for domain in sorted(domains[0].keys() | domains[1].keys()):
        groups = (domains[0].get(domain, {}), domains[1].get(domain, {}))
        shares = [
            Fraction(_weight(side), total) for side, total in zip(groups, totals, strict=True)
        ]
        # If a domain is on one side only, nothing else is known to have changed.
        old, new = groups[0] or groups[1], groups[1] or groups[0]
        value = (_mean(old) + _mean(new)) / 2
        note(DOMAIN_MIX, domain, "", (shares[1] - shares[0]) * (value - centre))
        share = (shares[0] + shares[1]) / 2
        for part, language, change in _within_domain(old, new):
            note(part, domain, language, share * change)
    difference = means[1] - means[0]
    parts = {name: Fraction(total, _GRID) for name, total in sums.items()}
    rounding = difference - sum(parts.values(), Fraction(0))
    if abs(rounding) > _MAX_ROUNDING * (1 + abs(means[0]) + abs(means[1])):
        raise AssertionError(f"the parts miss the difference by {float(rounding)}")
    parts[max(parts, key=lambda name: abs(parts[name]))] += rounding
    found.sort(key=lambda c: (-abs(c.value), c.part, c.domain, c.language))
    return Decomposition(means[0], means[1], parts, tuple(found))


def _within_domain(
    old: Mapping[str, DocumentGroup], new: Mapping[str, DocumentGroup]
) -> list[tuple[str, str, Fraction]]:
    """``(part, language, change of the domain's mean)``."""
    changes: list[tuple[str, str, Fraction]] = []
    totals = (_weight(old), _weight(new))
    centre = (_mean(old) + _mean(new)) / 2
    for language in sorted(old.keys() | new.keys()):
        sides = (old.get(language), new.get(language))
        shares = [
            Fraction(side.weight if side else 0, total)
            for side, total in zip(sides, totals, strict=True)
        ]
        present = [side for side in sides if side is not None]
        value = (present[0].value + present[-1].value) / 2
        changes.append((LANGUAGE_MIX, language, (shares[1] - shares[0]) * (value - centre)))
        if len(present) == 2:
            share = (shares[0] + shares[1]) / 2
            changes += [
                (part, language, share * change) for part, change in _within_group(*present)
            ]
    return changes


def _within_group(old: DocumentGroup, new: DocumentGroup) -> list[tuple[str, Fraction]]:
    rates = [sum(side.rates.values(), Fraction(0)) for side in (old, new)]
    length = (old.length + new.length) / 2
    changes = [(LENGTH, (new.length - old.length) * (rates[0] + rates[1]) / 2)]
    zero = Fraction(0)
    for name in old.rates.keys() | new.rates.keys():
        changes.append((name, length * (new.rates.get(name, zero) - old.rates.get(name, zero))))
    return changes


def _by_domain(
    groups: Mapping[tuple[str, str], DocumentGroup],
) -> dict[str, dict[str, DocumentGroup]]:
    domains: dict[str, dict[str, DocumentGroup]] = defaultdict(dict)
    for (domain, language), group in groups.items():
        domains[domain][language] = group
    return domains


def _weight(groups: Mapping[str, DocumentGroup] | Mapping[tuple[str, str], DocumentGroup]) -> int:
    return sum(group.weight for group in groups.values())


def _mean(
    groups: Mapping[str, DocumentGroup] | Mapping[tuple[str, str], DocumentGroup],
) -> Fraction:
    """The weighted mean. Summed over one denominator: weights are integers."""
    by_denominator: dict[int, int] = defaultdict(int)
    for group in groups.values():
        weighted = group.weight * group.value
        by_denominator[weighted.denominator] += weighted.numerator
    total = sum((Fraction(n, d) for d, n in by_denominator.items()), Fraction(0))
    return total / _weight(groups)
