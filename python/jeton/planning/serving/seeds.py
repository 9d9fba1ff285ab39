"""Figures over seeds: a mean, and the interval that it has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

CONFIDENCE = 0.95

_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Two-sided 95% quantiles of Student's t from 1 to 10 degrees of freedom (Abramowitz and Stegun,
table 26.10)."""


@dataclass(frozen=True, slots=True)
class SeedFigure:
    """A figure over seeds.

    Attributes:
        mean: Mean.
        low: Lower end of the 95% interval of the mean, by Student's t; None with one seed.
        high: Upper end.
    """

    mean: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, values: Sequence[float], *, least: float = 0.0) -> SeedFigure:
        """Return the figure of some values, one of each seed.

        The lower end is at least ``least``, since rates, shares, times and prices have no less. A
        value that is not finite, such as a time of which there was none, makes the mean NaN.
        """
        mean = fmean(values)
        if len(values) < 2 or not math.isfinite(mean):
            return cls(mean)
        half = _student(len(values) - 1) * stdev(values) / math.sqrt(len(values))
        return cls(mean, max(least, mean - half), mean + half)

    def to_dict(self) -> dict[str, float | None]:
        """As JSON has it; what is not finite is null."""
        return {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in (("mean", self.mean), ("low", self.low), ("high", self.high))
        }


def ratio_over_seeds(values: Sequence[float], over: Sequence[float]) -> SeedFigure | None:
    """Return the ratio of two figures that have the same seeds; None where one has no value.

    Formula: the mean and interval of the logarithms' differences, which are paired by seed.
    """
    if not all(value > 0 for value in (*values, *over)):
        return None
    logs = [math.log(a / b) for a, b in zip(values, over, strict=True)]
    found = SeedFigure.of(logs, least=-math.inf)
    if found.low is None or found.high is None:
        return SeedFigure(math.exp(found.mean))
    return SeedFigure(math.exp(found.mean), math.exp(found.low), math.exp(found.high))


def _student(freedom: int) -> float:
    """Two-sided quantile of Student's t (Abramowitz and Stegun, 26.7.5, two terms)."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
