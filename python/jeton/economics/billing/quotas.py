"""When an API's quotas run out: tokens and requests per minute, against the traffic.

With timestamps the busiest minute is exact. Without, requests are taken to arrive independently
(Poisson), which is kinder than real traffic; the result is an estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from jeton.errors import UsageError
from jeton.findings import Basis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Limit = Literal["tokens_per_minute", "requests_per_minute", "requests_per_day"]
"""Names of the limits, as the fields of `Quota`."""

BUSIEST_MINUTES_SHARE = 0.001
"""The peak of traffic without timestamps is the load that one minute in a thousand exceeds: about
one a day. A judgement."""

_MINUTE_S = 60.0
_MINUTES_PER_DAY = 1440


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of an API; None: no such limit.

    Attributes:
        tokens_per_minute: Tokens in any minute; which tokens count differs between providers, so
            the caller sends those that do.
        requests_per_minute: Requests in any minute.
        requests_per_day: Requests in any day.
    """

    tokens_per_minute: int | None = None
    requests_per_minute: int | None = None
    requests_per_day: int | None = None


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """Traffic against a quota.

    Attributes:
        quota: The limits.
        peak_tokens_per_minute: Tokens of the busiest minute.
        peak_requests_per_minute: Requests of the busiest minute.
        peak_requests_per_day: Requests of the busiest day.
        binding: The limit that is nearest: ``tokens_per_minute``, ``requests_per_minute`` or
            ``requests_per_day``; None without limits.
        used_share: Peak over the binding limit; above 1 requests are refused.
        first_exceeded_s: Time of the first request that a limit refuses, as in the log; None: none.
        n_refused: Requests of the log that come while a minute's limit is used up, if none of them
            is sent again; None without timestamps.
        months_until_exhausted: Months until the peak reaches the limit at the given growth; 0 if it
            has, None without growth or limit.
        tokens_factor_that_fits: Share of the tokens per request at which the peak would just fit
            the token limit; 1 if it fits as it is. A better
            tokenizer would have to reach it.
        basis: Exact from timestamps, estimated from a rate.
        formula: How the peak was found, with the numbers put in.
    """

    quota: Quota
    peak_tokens_per_minute: float
    peak_requests_per_minute: float
    peak_requests_per_day: float
    binding: Limit | None
    used_share: float
    first_exceeded_s: float | None
    n_refused: int | None
    months_until_exhausted: float | None
    tokens_factor_that_fits: float
    basis: Basis
    formula: str


def quota_from_log(
    quota: Quota,
    *,
    time_s: NDArray[np.floating],
    tokens: NDArray[np.integer],
    growth_per_month: float | None = None,
) -> QuotaReport:
    """Return how a log's traffic stands to a quota; exact for windows of 60 seconds.

    Formula: the largest sum over all windows ``(t - 60 s, t]`` that end at a request.

    Source: definition. Providers refill continuously or by the minute; a sliding window is the
    strictest of these.

    Args:
        quota: The limits.
        time_s: float (n,), seconds, in any order; NaN where not known.
        tokens: int (n,), the tokens of each request that count; below 0 where not known.
        growth_per_month: Growth of the traffic, as a share (0.1: 10% a month).

    Raises:
        UsageError: If the arrays differ in length, or no request has time and tokens.
    """
    import numpy as np

    _check(quota, growth_per_month)
    if len(time_s) != len(tokens):
        raise UsageError(
            f"there are {len(time_s)} times and {len(tokens)} counts; expected as many of each"
        )
    times = np.asarray(time_s, dtype=np.float64)
    counts = np.asarray(tokens, dtype=np.int64)
    known = np.isfinite(times) & (counts >= 0)
    if not known.any():
        raise UsageError("no request has both a time and a count of tokens")
    order = np.argsort(times[known], kind="stable")
    times, counts = times[known][order], counts[known][order]
    cumulated = np.concatenate([[0], np.cumsum(counts)])
    first = np.searchsorted(times, times - _MINUTE_S, side="right")
    upto = np.arange(1, len(times) + 1)
    # Requests at the same instant are all in the window of the last of them.
    last = np.searchsorted(times, times, side="right")
    window_tokens = cumulated[last] - cumulated[first]
    window_requests = last - first
    day_first = np.searchsorted(times, times - _MINUTE_S * _MINUTES_PER_DAY, side="right")
    window_day = last - day_first
    limit_tokens = quota.tokens_per_minute or math.inf
    limit_requests = quota.requests_per_minute or math.inf
    limit_day = quota.requests_per_day or math.inf
    over = (
        (cumulated[upto] - cumulated[first] > limit_tokens)
        | (upto - first > limit_requests)
        | (upto - day_first > limit_day)
    )
    return _report(
        quota,
        tokens=float(window_tokens.max()),
        requests=float(window_requests.max()),
        day=float(window_day.max()),
        growth_per_month=growth_per_month,
        first_exceeded_s=float(times[np.argmax(over)]) if over.any() else None,
        n_refused=_refused(times, counts, limit_tokens, limit_requests),
        basis=Basis.EXACT,
        formula=f"busiest of {len(times):,} windows of 60 s that end at a request",
    )


def quota_from_rate(
    quota: Quota,
    *,
    requests_per_day: float,
    tokens_mean: float,
    tokens_variance: float = 0.0,
    peak_to_mean: float = 1.0,
    growth_per_month: float | None = None,
) -> QuotaReport:
    """Return how a mean rate stands to a quota, with a peak that is estimated.

    Formula: requests of a minute are Poisson with mean ``l = rate x peak / 1440``; tokens have the
    mean ``l m`` and the variance ``l (s^2 + m^2)``; the peak is the normal quantile of
    `BUSIEST_MINUTES_SHARE`.

    Source: compound Poisson distribution.

    Args:
        quota: The limits.
        requests_per_day: Traffic.
        tokens_mean: Tokens per request that count, mean.
        tokens_variance: Their variance.
        peak_to_mean: The busiest hour's traffic over the mean.
        growth_per_month: Growth of the traffic, as a share.

    Raises:
        UsageError: If a number is negative or not finite.
    """
    _check(quota, growth_per_month)
    numbers = (requests_per_day, tokens_mean, tokens_variance)
    if not all(math.isfinite(x) and x >= 0 for x in numbers) or not 1 <= peak_to_mean < 1e6:
        raise UsageError(
            f"cannot judge {requests_per_day} requests per day of {tokens_mean} tokens (variance "
            f"{tokens_variance}) at {peak_to_mean} times the mean; expected numbers of at least 0, "
            "and a peak of at least 1"
        )
    rate = requests_per_day * peak_to_mean / _MINUTES_PER_DAY
    z = NormalDist().inv_cdf(1 - BUSIEST_MINUTES_SHARE)
    peak_requests = rate + z * math.sqrt(rate)
    variance = rate * (tokens_variance + tokens_mean**2)
    peak_tokens = rate * tokens_mean + z * math.sqrt(variance)
    return _report(
        quota,
        tokens=peak_tokens,
        requests=peak_requests,
        day=requests_per_day,
        growth_per_month=growth_per_month,
        first_exceeded_s=None,
        n_refused=None,
        basis=Basis.ESTIMATED,
        formula=f"{requests_per_day:,g} requests per day x {peak_to_mean:g} / 1,440 = {rate:,.4g} "
        f"a minute x {tokens_mean:,.4g} tokens, plus {z:.2f} standard deviations (Poisson)",
    )


def _report(
    quota: Quota,
    *,
    tokens: float,
    requests: float,
    day: float,
    growth_per_month: float | None,
    first_exceeded_s: float | None,
    n_refused: int | None,
    basis: Basis,
    formula: str,
) -> QuotaReport:
    shares: dict[
        Literal["tokens_per_minute", "requests_per_minute", "requests_per_day"], float
    ] = {}
    if quota.tokens_per_minute:
        shares["tokens_per_minute"] = tokens / quota.tokens_per_minute
    if quota.requests_per_minute:
        shares["requests_per_minute"] = requests / quota.requests_per_minute
    if quota.requests_per_day:
        shares["requests_per_day"] = day / quota.requests_per_day
    used, binding = max(((share, name) for name, share in shares.items()), default=(0.0, None))
    token_share = shares.get("tokens_per_minute", 0.0)
    return QuotaReport(
        quota=quota,
        peak_tokens_per_minute=tokens,
        peak_requests_per_minute=requests,
        peak_requests_per_day=day,
        binding=binding,
        used_share=used,
        first_exceeded_s=first_exceeded_s,
        n_refused=n_refused,
        months_until_exhausted=_months(used, growth_per_month),
        tokens_factor_that_fits=min(1.0, 1 / token_share) if token_share else 1.0,
        basis=basis,
        formula=formula,
    )


def _months(used_share: float, growth_per_month: float | None) -> float | None:
    """Return ``ln(limit / peak) / ln(1 + growth)``."""
    if used_share <= 0 or growth_per_month is None:
        return None
    if used_share >= 1:
        return 0.0
    if growth_per_month <= 0:
        return None
    return math.log(1 / used_share) / math.log1p(growth_per_month)


def _refused(
    times: NDArray[np.float64],
    counts: NDArray[np.int64],
    limit_tokens: float,
    limit_requests: float,
) -> int:
    """Count requests that a limiter with a sliding minute refuses; refused ones use no quota."""
    n_refused = used = start = 0
    admitted: list[tuple[float, int]] = []
    for time, count in zip(times.tolist(), counts.tolist(), strict=True):
        while start < len(admitted) and admitted[start][0] <= time - _MINUTE_S:
            used -= admitted[start][1]
            start += 1
        if used + count > limit_tokens or len(admitted) - start + 1 > limit_requests:
            n_refused += 1
            continue
        admitted.append((time, count))
        used += count
    return n_refused


def _check(quota: Quota, growth_per_month: float | None) -> None:
    limits = (quota.tokens_per_minute, quota.requests_per_minute, quota.requests_per_day)
    if any(limit is not None and limit < 1 for limit in limits):
        raise UsageError(f"a limit of {quota} is below 1; expected None where there is no limit")
    if growth_per_month is not None and not -1 < growth_per_month < 1e3:
        raise UsageError(f"growth_per_month is {growth_per_month}; expected a share above -1")
