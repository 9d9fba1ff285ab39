"""How much each source counts: weights that stay exact, and balance by temperature.

A weight is a rational number, written as people write them: ``2``, ``2.5``, ``1/3``. Counts are
whole numbers, so all weights of a corpus are multiplied by the least number that makes them whole
(``unit``) and have no common factor left: 2.5 and 1 count as 5 and 2. Nothing is rounded, and only
ratios matter to what is learned; a minimum frequency is meant in documents' own counts and is
multiplied by the same unit. Weights are multiples, not shares: they need not sum to anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fnmatch import fnmatchcase
from fractions import Fraction
from math import gcd, lcm
from typing import Final

from jeton.corpus.inputs import InputFile, domain_of_file
from jeton.errors import UsageError

MAX_WEIGHT: Final = 1_000_000
"""Larger ratios than a million to one are mistakes, and 64-bit counts have to hold the product."""

BALANCE_STEPS: Final = 1000
"""Weights by temperature are rounded to thousandths of the least one: 0.05% off at most."""


def parse_weights(items: Iterable[str]) -> dict[str, Fraction]:
    """Read ``NAME=WEIGHT``, as in ``medical=2.5`` or ``logs/*=1/3``.

    Raises:
        UsageError: Something else, a weight below 0 or above a million, or a name given twice.
    """
    weights: dict[str, Fraction] = {}
    for item in items:
        name, equals, number = item.rpartition("=")
        try:
            weight = Fraction(number)
        except (ValueError, ZeroDivisionError):
            equals = ""
            weight = Fraction(0)
        if not equals or not name:
            raise UsageError(f"{item!r} is not NAME=WEIGHT, as in 'medical=2.5' or 'logs/*=1/3'")
        if not 0 <= weight <= MAX_WEIGHT:
            raise UsageError(
                f"the weight of {name!r} is {number}; expected 0 to {MAX_WEIGHT:,}\n"
                "hint: 0 leaves a source out; only the ratios of weights matter"
            )
        if name in weights:
            raise UsageError(f"{name!r} has two weights, {weights[name]} and {weight}")
        weights[name] = weight
    return weights


def weight_of_file(
    file: InputFile, weights: Mapping[str, Fraction]
) -> tuple[tuple[str, ...], Fraction]:
    """The names that match a file, and its weight: 1 where none matches.

    A name is the path of the file, the file's own name without suffixes, the name of its folder, or
    a glob of one of them.

    Raises:
        UsageError: Names with different weights match.
    """
    candidates = (file.path, domain_of_file(file, "file"), domain_of_file(file, "folder"))
    found = [
        name
        for name in weights
        if any(name == candidate or fnmatchcase(candidate, name) for candidate in candidates)
    ]
    for name in found[1:]:
        if weights[name] != weights[found[0]]:
            raise UsageError(
                f"{file.path!r} has two weights: {weights[found[0]]} as {found[0]!r}, "
                f"{weights[name]} as {name!r}"
            )
    return tuple(found), weights[found[0]] if found else Fraction(1)


def integer_weights(weights: Mapping[str, Fraction]) -> tuple[dict[str, int], int]:
    """Whole numbers in the same ratios, and what a weight of 1 has become times their divisor.

    Returns:
        The numbers, and the unit: a document of weight w counts ``w * unit`` times.

    Raises:
        UsageError: All weights are 0, or the numbers would be larger than 64-bit counts can bear.

    Example:
        >>> integer_weights({"a": Fraction("2.5"), "b": Fraction(1)})
        ({'a': 5, 'b': 2}, 2)
    """
    if weights and not any(weights.values()):
        raise UsageError("all weights are 0: nothing would be counted")
    unit = lcm(*(weight.denominator for weight in weights.values())) if weights else 1
    whole = {name: int(weight * unit) for name, weight in weights.items()}
    if max(whole.values(), default=1) > MAX_WEIGHT * BALANCE_STEPS:
        raise UsageError(
            f"the weights have a common denominator of {unit:,}: too fine for 64-bit counts\n"
            "hint: round them to fewer digits"
        )
    # A common factor says nothing; but then a weight of 1 would be no whole number.
    divisor = gcd(unit, *whole.values())
    return {name: number // divisor for name, number in whole.items()}, unit // divisor


def balanced_weights(sizes: Mapping[str, int], *, temperature: float) -> dict[str, Fraction]:
    """Weights that make shares proportional to ``size ** (1 / temperature)``.

    At temperature 1 sources count by their size, at higher ones small sources count for more, at
    infinity all alike (XLM-R took 1/0.3: Conneau et al. 2020, arXiv:1911.02116, section 3.1).
    The largest source has the least weight, 1; the others are rounded to thousandths, half to even.
    Computed in decimal arithmetic, so that every machine gets the same digits.

    Args:
        sizes: Bytes of text by source; those of 0 get the weight 1.
        temperature: At least 1; ``math.inf`` for equal shares.

    Raises:
        UsageError: A temperature below 1, or sources so unlike that a weight passes a million.
    """
    if not temperature >= 1:
        raise UsageError(
            f"temperature is {temperature}; expected at least 1\n"
            "hint: 1 leaves sizes as they are, 3 favours small sources, inf makes all alike"
        )
    largest = max(sizes.values(), default=0)
    if not largest:
        return {name: Fraction(1) for name in sizes}
    weights: dict[str, Fraction] = {}
    with localcontext() as context:
        context.prec = 40
        exponent = 1 - 1 / Decimal(temperature)
        for name, size in sizes.items():
            ratio = Decimal(largest) / Decimal(size) if size else Decimal(1)
            exact = (ratio.ln() * exponent).exp() * BALANCE_STEPS
            steps = int(exact.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
            weights[name] = Fraction(steps, BALANCE_STEPS)
            if weights[name] > MAX_WEIGHT:
                raise UsageError(
                    f"at temperature {temperature} the source {name!r} would count "
                    f"{float(weights[name]):,.0f} times: it is too small\n"
                    "hint: a lower temperature, or leave the source out"
                )
    return weights
