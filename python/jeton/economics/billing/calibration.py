"""A provider's token counts learnt from its usage records, with intervals that hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from jeton.errors import UsageError
from jeton.findings import Basis, Figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """A count of tokens with what is known of its error.

    Attributes:
        n_tokens: The count.
        low: Lower end of the range.
        high: Upper end of the range.
        confidence: Share of cases that the range covers; None where it is a judgement.
        basis: Exact, calibrated or estimated.
        formula: How it was made, with the numbers put in.
        source: Where the factor comes from.
    """

    n_tokens: float
    low: float
    high: float
    confidence: float | None
    basis: Basis
    formula: str
    source: str

    @property
    def figure(self) -> Figure:
        """The count as a figure; the range stands in the formula."""
        formula = f"{self.formula}; range {self.low:,.0f} to {self.high:,.0f}"
        if self.confidence is not None:
            formula += f" ({self.confidence:.0%})"
        return Figure(self.n_tokens, "tokens", self.basis, formula, self.source)


_CONFIDENCE = 0.9
"""Coverage that intervals aim at where the caller does not say."""

_MIN_FIT = 2
_N_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a provider's counts follow ours, learnt from its usage records.

    Attributes:
        slope: Reported tokens per token of ours.
        intercept_tokens: Tokens that every request has beside its text (message frame, tools).
        relative_error: Half-width of the interval of one request, as a share of the prediction.
        confidence: Coverage that it aims at.
        total_low: Reported over predicted for a sum of requests: lower end, by bootstrap.
        total_high: Upper end.
        n_requests: Requests learnt from.
        n_dropped: Requests left out: no report, or no tokens of ours.
        seed: Seed of the split and of the bootstrap.
    """

    slope: float
    intercept_tokens: float
    relative_error: float
    confidence: float
    total_low: float
    total_high: float
    n_requests: int
    n_dropped: int
    seed: int

    @classmethod
    def fit(
        cls,
        counts: Sequence[int] | NDArray[np.integer],
        reported: Sequence[int] | NDArray[np.integer],
        *,
        confidence: float = _CONFIDENCE,
        seed: int = 0,
    ) -> Calibration:
        """Learn from requests that were counted here and reported by the provider.

        One half fits ``reported = slope x count + intercept`` (least squares weighted by 1 /
        count, intercept at least 0); on the other half the interval of a request is the quantile
        ``ceil((n + 1) confidence)`` of ``|reported - predicted| / predicted``, which covers new
        requests of the same kind at least that often, whatever the distribution. Sums are
        resampled by request, not by token.

        Source: split-conformal prediction, arXiv:1604.04173 section 2.2; percentile bootstrap.

        Args:
            counts: int (n,), tokens of each request with the stand-in.
            reported: int (n,), tokens that the provider reported; below 1: not reported.
            confidence: Coverage of the intervals.
            seed: Seed of the split and of the bootstrap.

        Raises:
            UsageError: If the arrays differ in length, or too few requests are usable.
        """
        import numpy as np

        if len(counts) != len(reported):
            raise UsageError(
                f"there are {len(counts)} counts and {len(reported)} reports; expected as many"
            )
        if not 0.5 <= confidence < 1:
            raise UsageError(f"confidence is {confidence}; expected 0.5 to 1")
        x = np.asarray(counts, dtype=np.float64)
        y = np.asarray(reported, dtype=np.float64)
        usable = (x > 0) & (y > 0)
        x, y = x[usable], y[usable]
        # The quantile of n scores exists from ceil((n + 1) c) <= n on.
        n_scores_needed = math.ceil(confidence / (1 - confidence) - 1e-9)
        needed = max(2 * n_scores_needed, n_scores_needed + _MIN_FIT)
        if len(x) < needed:
            raise UsageError(
                f"{len(x)} requests have both counts; expected at least {needed} for a confidence "
                f"of {confidence:g}\nhint: more usage records, or a lower confidence"
            )
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(x))
        half = len(x) // 2
        fitted, scored = order[:half], order[half:]
        slope, intercept = _line(x[fitted], y[fitted])
        predicted = slope * x + intercept
        scores = np.sort(np.abs(y[scored] - predicted[scored]) / predicted[scored])
        rank = math.ceil((len(scores) + 1) * confidence - 1e-9)
        # A sum's interval: the ratio of sums over requests drawn again from those not fitted.
        draws = rng.integers(0, len(scored), (_N_RESAMPLES, len(scored)))
        ratios = y[scored][draws].sum(axis=1) / predicted[scored][draws].sum(axis=1)
        low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
        return cls(
            slope=float(slope),
            intercept_tokens=float(intercept),
            relative_error=float(scores[rank - 1]),
            confidence=confidence,
            total_low=float(low),
            total_high=float(high),
            n_requests=len(x),
            n_dropped=int((~usable).sum()),
            seed=seed,
        )

    def apply(self, n_tokens: int) -> TokenEstimate:
        """Return the provider's count of one request, with its interval.

        Raises:
            UsageError: If the count is negative.
        """
        predicted = self._predict(n_tokens, 1)
        return self._estimate(
            predicted,
            low=predicted * max(0.0, 1 - self.relative_error),
            high=predicted * (1 + self.relative_error),
            formula=f"{n_tokens:,} x {self.slope:.4g} + {self.intercept_tokens:.4g}",
        )

    def apply_total(self, n_tokens: int, *, n_requests: int) -> TokenEstimate:
        """Return the provider's count of many requests together, with the interval of the sum.

        Raises:
            UsageError: If a count is negative.
        """
        predicted = self._predict(n_tokens, n_requests)
        return self._estimate(
            predicted,
            low=predicted * self.total_low,
            high=predicted * self.total_high,
            formula=f"{n_tokens:,} x {self.slope:.4g} + {n_requests:,} requests x "
            f"{self.intercept_tokens:.4g}",
        )

    def _predict(self, n_tokens: int, n_requests: int) -> float:
        if n_tokens < 0 or n_requests < 0:
            raise UsageError(
                f"cannot estimate {n_tokens} tokens in {n_requests} requests; expected at least 0"
            )
        return self.slope * n_tokens + self.intercept_tokens * n_requests

    def _estimate(self, value: float, *, low: float, high: float, formula: str) -> TokenEstimate:
        return TokenEstimate(
            n_tokens=value,
            low=min(low, value),
            high=max(high, value),
            confidence=self.confidence,
            basis=Basis.CALIBRATED,
            formula=formula,
            source=f"usage records of {self.n_requests:,} requests; split-conformal interval, "
            "arXiv:1604.04173",
        )


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return slope and intercept by least squares with weights 1 / x; the intercept at least 0."""
    weight = 1 / x
    total = weight.sum()
    x_mean, y_mean = (weight * x).sum() / total, (weight * y).sum() / total
    spread = (weight * (x - x_mean) ** 2).sum()
    slope = (weight * (x - x_mean) * (y - y_mean)).sum() / spread if spread > 0 else 0.0
    intercept = y_mean - slope * x_mean
    if spread <= 0 or slope <= 0 or intercept < 0:
        # One length only, or no frame: through the origin, which is the ratio of the sums.
        return float(y.sum() / x.sum()), 0.0
    return float(slope), float(intercept)


MIN_REQUESTS_FOR_SLOPE = 20
"""Requests that a slope is learnt from: fewer say too little of their frames."""

MAX_SLOPE_ERROR = 0.05
"""Standard error of a slope, as a share of it, above which the lengths say too little of it."""

_Z = 1.96
"""Standard errors on either side of a slope in 95% of cases."""


class LearntSlope(NamedTuple):
    """A provider's tokens by ours, as usage records tell.

    Attributes:
        slope: Tokens that the provider bills for each of ours.
        low: Lower end of the slope's 95% interval.
        frame_tokens: Tokens of a request beside its text.
    """

    slope: float
    low: float
    frame_tokens: float


def slope_and_frame(counts: NDArray[np.int64], reported: NDArray[np.int64]) -> LearntSlope | None:
    """Return the tokens that a provider bills for each of ours, and those beside the text.

    Formula: least squares of ``reported = slope x count + frame`` with weights 1 / count.

    Source: `Calibration.fit`; the error of a slope is that of a weighted regression.

    Args:
        counts: int64 (n,), tokens of each request as we count them, above 0.
        reported: int64 (n,), tokens that the provider reported.

    Returns:
        None where the requests are too few or too much alike to tell slope and frame apart.
    """
    import numpy as np

    if len(counts) < MIN_REQUESTS_FOR_SLOPE:
        return None
    x, y = counts.astype(np.float64), reported.astype(np.float64)
    weight = 1 / x
    spread = (weight * (x - (weight * x).sum() / weight.sum()) ** 2).sum()
    slope, frame = _line(x, y)
    rest = y - slope * x - frame
    deviation = math.sqrt((weight * rest**2).sum() / max(1, len(x) - 2))
    if spread <= 0 or deviation / math.sqrt(spread) > MAX_SLOPE_ERROR * slope:
        return None
    return LearntSlope(slope, slope - _Z * deviation / math.sqrt(spread), frame)
