"""Intervals of figures for which the documents at hand speak for more documents like them.

Documents are drawn, never tokens: the tokens of one document are alike, and an interval that took
them for independent would be far too narrow. Every statistic here is a function of sums over
documents (a mean is a sum over a count, bytes per token is a sum over a sum), so a resample costs
one row of a matrix product.

Methods, by the name that `Interval.method` has:

- ``"bca"``: bias-corrected and accelerated (B. Efron, "Better bootstrap confidence intervals", JASA
  82, 1987; Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, section 14.3).
- ``"percentile"``: the quantiles of the resamples (the same book, section 13.3).
- ``"delta"``: normal, with the jackknife's standard error (the same book, chapter 11). Taken
  above `MAX_DOCUMENTS` documents, where it agrees with the others to far more digits than are
  read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jeton.errors import UsageError

CONFIDENCE = 0.95

N_RESAMPLES = 2_000
"""Enough for the ends of a 95% interval (Efron and Tibshirani 1993, chapter 14: at least 1,000)."""

MAX_DOCUMENTS = 20_000
"""Documents up to which they are resampled; 2,000 draws of more take seconds
and say nothing new."""

SEED = 0
"""Seed of the resampling: equal documents give equal intervals, on every machine (PCG64)."""

_BLOCK_CELLS = 4_000_000
"""Drawn at a time: 32 MB of counts."""

_MAX_KEPT_CELLS = 8_000_000
"""Draws up to this size are kept, two of them: 16 MB."""

_MAX_UINT8 = 255

Method = Literal["bca", "percentile"]
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval that holds the figure of all such documents, with some confidence.

    Attributes:
        low: The lower end, in the unit of the figure.
        high: The upper end.
        confidence: How often intervals made this way hold the true figure, 0 to 1.
        method: ``"bca"``, ``"percentile"`` or ``"delta"``.
        n_resamples: Resamples drawn; 0 for ``"delta"``.
        seed: Seed of the generator that drew them.
    """

    low: float
    high: float
    confidence: float
    method: str
    n_resamples: int
    seed: int


def bootstrap_sums(
    columns: ArrayLike,
    statistic: Statistic,
    *,
    confidence: float = CONFIDENCE,
    method: Method = "bca",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """The interval of a function of sums over documents.

    Args:
        columns: (n_documents, n_columns), what each document adds to each sum.
        statistic: From sums float64 (m, n_columns) to values float64 (m,); may give NaN where it is
            not defined (such resamples are left out).
        confidence: Above 0, below 1.
        method: ``"bca"`` or ``"percentile"``.
        n_resamples: At least 100.
        seed: Seed of the draws.

    Returns:
        None with fewer than two documents, or where the statistic is not defined.

    Raises:
        UsageError: A number is out of range.
    """
    values = np.asarray(columns, dtype=np.float64)
    if values.ndim != 2:
        raise UsageError(f"columns have {values.ndim} dimensions; expected documents by columns")
    _check(confidence, n_resamples)
    n_documents = len(values)
    if n_documents < 2:
        return None
    total = values.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(statistic(total[None, :])[0])
        left_out = statistic(total - values)
        if not np.isfinite(estimate):
            return None
        if n_documents > MAX_DOCUMENTS:
            return _delta(estimate, left_out, confidence, seed)
        resamples = statistic(_resampled_sums(values, n_resamples, seed))
    resamples = resamples[np.isfinite(resamples)]
    if not len(resamples):
        return None
    tail = (1 - confidence) / 2
    shares = (tail, 1 - tail)
    if method == "bca":
        shares = _bca_shares(estimate, left_out, resamples, tail)
    low, high = np.quantile(resamples, shares)
    return Interval(float(low), float(high), confidence, method, n_resamples, seed)


def bootstrap_ratio(
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    confidence: float = CONFIDENCE,
    method: Method = "bca",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """The interval of ``sum(numerators) / sum(denominators)``, one of each for every document.

    Returns:
        None with fewer than two documents, or where the denominators sum to zero.

    Raises:
        UsageError: The arrays do not have the same length, or a number is out of range.
    """
    above = np.asarray(numerators, dtype=np.float64)
    below = np.asarray(denominators, dtype=np.float64)
    if above.shape != below.shape or above.ndim != 1:
        raise UsageError(
            f"numerators have shape {above.shape}, denominators {below.shape}; "
            "expected one of each for every document"
        )
    return bootstrap_sums(
        np.column_stack([above, below]),
        lambda sums: sums[:, 0] / sums[:, 1],
        confidence=confidence,
        method=method,
        n_resamples=n_resamples,
        seed=seed,
    )


def bootstrap_mean(
    values: ArrayLike,
    *,
    confidence: float = CONFIDENCE,
    method: Method = "bca",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """The interval of a mean over documents (tokens per document, say)."""
    given = np.asarray(values, dtype=np.float64)
    return bootstrap_ratio(
        given,
        np.ones(given.shape),
        confidence=confidence,
        method=method,
        n_resamples=n_resamples,
        seed=seed,
    )


def bootstrap_quantile(
    values: ArrayLike,
    share: float,
    *,
    confidence: float = CONFIDENCE,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """The percentile interval of a nearest-rank quantile (the p95 of tokens per document, say).

    The value of rank r among n draws from n documents stands at the place ``floor(n U)`` of the
    sorted documents, where U is the r-th smallest of n uniform numbers: Beta(r, n - r + 1). So each
    resample is one number, for any number of documents.

    Raises:
        UsageError: ``share`` is not above 0 and at most 1, or a number is out of range.
    """
    _check(confidence, n_resamples)
    if not 0 < share <= 1:
        raise UsageError(f"quantile {share!r} is out of range; expected above 0 and at most 1")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n_documents = len(ordered)
    if n_documents < 2:
        return None
    # Rounded first: 0.07 * 100 is a little above 7 in binary.
    rank = max(1, int(np.ceil(round(share * n_documents, 9))))
    uniform = np.random.Generator(np.random.PCG64(seed)).beta(
        rank, n_documents - rank + 1, size=n_resamples
    )
    places = np.minimum((uniform * n_documents).astype(np.int64), n_documents - 1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(ordered[places], [tail, 1 - tail], method="inverted_cdf")
    return Interval(float(low), float(high), confidence, "percentile", n_resamples, seed)


def _check(confidence: float, n_resamples: int) -> None:
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence!r}; expected above 0 and below 1")
    if n_resamples < 100:
        raise UsageError(f"n_resamples is {n_resamples}; expected at least 100")


def _resampled_sums(
    values: NDArray[np.float64], n_resamples: int, seed: int
) -> NDArray[np.float64]:
    """Sums over documents drawn with replacement, float64 (n_resamples, n_columns)."""
    n_documents = len(values)
    if n_documents * n_resamples <= _MAX_KEPT_CELLS:
        blocks: Iterable[NDArray[np.integer]] = _kept_draws(n_documents, n_resamples, seed)
    else:
        blocks = _draws(n_documents, n_resamples, seed)
    return np.vstack([times.astype(np.float64) @ values for times in blocks])


def _draws(n_documents: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each document was drawn, int64 (n_resamples_of_a_block, n_documents) a block."""
    generator = np.random.Generator(np.random.PCG64(seed))
    block = max(1, _BLOCK_CELLS // n_documents)
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        drawn = generator.integers(n_documents, size=(size, n_documents))
        drawn += np.arange(size)[:, None] * n_documents
        times = np.bincount(drawn.ravel(), minlength=size * n_documents)
        yield times.reshape(size, n_documents)


@lru_cache(maxsize=2)
def _kept_draws(
    n_documents: int, n_resamples: int, seed: int
) -> tuple[NDArray[np.unsignedinteger], ...]:
    """Draw once and keep: many figures of one report come from equal documents."""
    return tuple(
        times.astype(np.uint8 if times.max() <= _MAX_UINT8 else np.uint32)
        for times in _draws(n_documents, n_resamples, seed)
    )


def _bca_shares(
    estimate: float,
    left_out: NDArray[np.float64],
    resamples: NDArray[np.float64],
    tail: float,
) -> tuple[float, float]:
    """Which quantiles of the resamples are the ends."""
    normal = NormalDist()
    # Ties count half: a statistic of few documents takes few values.
    below = np.count_nonzero(resamples < estimate) + np.count_nonzero(resamples == estimate) / 2
    share_below = min(max(below / len(resamples), 0.5 / len(resamples)), 1 - 0.5 / len(resamples))
    bias = normal.inv_cdf(float(share_below))
    known = left_out[np.isfinite(left_out)]
    deviations = known.mean() - known if len(known) else np.zeros(1)
    spread = float((deviations**2).sum())
    acceleration = float((deviations**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0

    def share(quantile: float) -> float:
        shifted = bias + normal.inv_cdf(quantile)
        stretch = 1 - acceleration * shifted
        # Beyond the pole of the correction, the end of all resamples is the end.
        if stretch <= 0:
            return 1.0 if shifted > 0 else 0.0
        return normal.cdf(bias + shifted / stretch)

    return share(tail), share(1 - tail)


def _delta(
    estimate: float, left_out: NDArray[np.float64], confidence: float, seed: int
) -> Interval | None:
    known = left_out[np.isfinite(left_out)]
    n_documents = len(known)
    if n_documents < 2:
        return None
    # The jackknife's standard error (Efron and Tibshirani 1993, section 11.2).
    deviations = known - known.mean()
    error = float(np.sqrt((n_documents - 1) / n_documents * (deviations**2).sum()))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return Interval(estimate - reach, estimate + reach, confidence, "delta", 0, seed)
