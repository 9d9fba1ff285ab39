"""How good predictions of output lengths were."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

__all__ = ["PredictionError", "prediction_error"]


@dataclass(frozen=True, slots=True)
class PredictionError:
    """How good the predictions were, over the requests that had one.

    Attributes:
        n_predicted: Requests for which there was history.
        quantile: Quantile that was predicted.
        covered_share: Share of them whose output was no longer than predicted; near ``quantile``
            where the history speaks for the future.
        mean_excess_tokens: Predicted less actual tokens, mean of those not outgrown.
        mean_shortfall_tokens: Actual less predicted tokens, mean of those outgrown.
        pinball_tokens: Mean quantile loss, tokens: what a better predictor would have less of.
        pinball_tokens_without: The loss of the one constant that suits the trace best: the worth of
            history by prompt length.
    """

    n_predicted: int
    quantile: float
    covered_share: float
    mean_excess_tokens: float
    mean_shortfall_tokens: float
    pinball_tokens: float
    pinball_tokens_without: float


def prediction_error(
    predicted: list[int], actual: list[int], *, quantile: float
) -> PredictionError | None:
    """Return how good predictions were; None without any.

    Formula: pinball loss ``q max(a - p, 0) + (1 - q) max(p - a, 0)``, the loss whose expectation
    the quantile q minimises.

    Source: Koenker and Bassett, Regression Quantiles, Econometrica 46 (1978), doi:10.2307/1913643.
    """
    n = len(predicted)
    if n == 0:
        return None
    over = [p - a for p, a in zip(predicted, actual, strict=True) if a <= p]
    under = [a - p for p, a in zip(predicted, actual, strict=True) if a > p]
    ordered = sorted(actual)
    constant = ordered[min(n - 1, max(0, math.ceil(quantile * n) - 1))]
    place = bisect_left(ordered, constant)
    loss = (quantile * sum(under) + (1 - quantile) * sum(over)) / n
    below = (1 - quantile) * sum(constant - a for a in ordered[:place])
    above = quantile * sum(a - constant for a in ordered[place:])
    return PredictionError(
        n_predicted=n,
        quantile=quantile,
        covered_share=len(over) / n,
        mean_excess_tokens=sum(over) / len(over) if over else 0.0,
        mean_shortfall_tokens=sum(under) / len(under) if under else 0.0,
        pinball_tokens=loss,
        pinball_tokens_without=(below + above) / n,
    )
