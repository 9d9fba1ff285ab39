"""How good predictions of output lengths were."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    predicted: NDArray[np.int64], actual: NDArray[np.int64], *, quantile: float
) -> PredictionError | None:
    """Return how good predictions were; None without any.

    Formula: pinball loss ``q max(a - p, 0) + (1 - q) max(p - a, 0)``, the loss whose expectation
    the quantile q minimises.

    Source: Koenker and Bassett, Regression Quantiles, Econometrica 46 (1978), doi:10.2307/1913643.
    """
    import numpy as np

    n = len(predicted)
    if n == 0:
        return None
    place = min(n - 1, max(0, math.ceil(quantile * n) - 1))
    constant = int(np.partition(actual, place)[place])
    excess, shortfall = _misses(predicted - actual)
    n_under = int((predicted < actual).sum())
    n_over = n - n_under
    constant_excess, constant_shortfall = _misses(constant - actual)
    return PredictionError(
        n_predicted=n,
        quantile=quantile,
        covered_share=n_over / n,
        mean_excess_tokens=excess / n_over if n_over else 0.0,
        mean_shortfall_tokens=shortfall / n_under if n_under else 0.0,
        pinball_tokens=(quantile * shortfall + (1 - quantile) * excess) / n,
        pinball_tokens_without=((1 - quantile) * constant_excess + quantile * constant_shortfall)
        / n,
    )


def _misses(errors: NDArray[np.int64]) -> tuple[int, int]:
    """Tokens too many and too few, in all."""
    return int(errors[errors > 0].sum()), int(-errors[errors < 0].sum())
