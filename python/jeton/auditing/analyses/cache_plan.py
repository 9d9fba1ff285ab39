"""Where to set the break points of a prompt cache, and what it then serves.

A prefix that a share ``p`` of the requests begins with is still in the cache when the next such
request comes if one came within the lifetime. With times of requests, that is the mean of
``1 - (1 - p) ** n`` over all requests, where ``n`` requests came in the lifetime before it (whether
each has the prefix is taken to be independent). With only a rate ``r``, it is ``1 - exp(-p r ttl)``
(arrivals at random). With neither, only the first request misses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.analyses.prefixes import SharedPrefix
from jeton.catalog.caches import CacheRule

HitRate = Callable[[float, int], float]
"""From the share of requests with a prefix, and their number, to the share that finds it cached."""

SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class BreakPoint:
    """One place up to which requests should be cached.

    Attributes:
        prefix: Index of the shared prefix that ends here.
        n_tokens: Tokens from the beginning of the request.
        n_documents: Sampled documents that begin so.
        hit_rate: Share of them that finds it cached.
    """

    prefix: int
    n_tokens: int
    n_documents: int
    hit_rate: float


@dataclass(frozen=True, slots=True)
class CachePlan:
    """Effect of a cache with these break points on the sampled documents.

    Attributes:
        break_points: In the order of the prefixes; for automatic caches, where sharing ends.
        n_read_tokens: Tokens served from the cache.
        n_write_tokens: Tokens written at a surcharge.
        n_saved_tokens: Saving in uncached input tokens: reads x (1 - read price) less writes x
            (write price - 1).
    """

    break_points: tuple[BreakPoint, ...]
    n_read_tokens: float
    n_write_tokens: float
    n_saved_tokens: float


def hit_rate(
    ttl_seconds: float,
    *,
    time_s: NDArray[np.float64] | None = None,
    requests_per_day: float | None = None,
    scale: float = 1.0,
) -> HitRate:
    """How often a prefix is found, from the times of requests or their rate.

    Args:
        ttl_seconds: Lifetime after the last use.
        time_s: float64 (n,), when requests came, in any order; NaN where not known.
        requests_per_day: Their rate.
        scale: Documents of the workload for each sampled one.
    """
    known = np.sort(time_s[np.isfinite(time_s)]) if time_s is not None else np.zeros(0)
    if len(known) >= 2:
        first = np.searchsorted(known, known - ttl_seconds, side="left")
        windows, counts = np.unique(np.arange(len(known)) - first, return_counts=True)

        def from_times(share: float, n_documents: int) -> float:
            missed = np.power(1.0 - min(share, 1.0), windows)
            return float(np.average(1.0 - missed, weights=counts))

        return from_times
    if requests_per_day is not None:
        rate = requests_per_day / SECONDS_PER_DAY

        def from_rate(share: float, n_documents: int) -> float:
            return -math.expm1(-share * rate * ttl_seconds)

        return from_rate

    def but_the_first(share: float, n_documents: int) -> float:
        return 1.0 - 1.0 / max(1.0, n_documents * scale)

    return but_the_first


def plan_cache(
    prefixes: Sequence[SharedPrefix],
    *,
    n_documents: int,
    rule: CacheRule,
    hits: HitRate,
    read_factor: float,
    hits_of: Callable[[SharedPrefix], float | None] = lambda prefix: None,
) -> CachePlan:
    """The best break points under a provider's rules.

    Automatic caches serve every shared prefix. With explicit break points, those are chosen that
    save most: exactly, by dynamic programming over the tree of prefixes, at most as many on the way
    to any document as a request may have.

    Args:
        prefixes: Members of `shared_prefixes`, parents first.
        n_documents: Documents among which they were found.
        rule: The provider's rules.
        hits: Of `hit_rate`.
        read_factor: Price of a cached input token over that of an uncached one.
        hits_of: The rate of one prefix by the times of its own requests; None: not known.
    """
    known = [hits_of(p) for p in prefixes]
    rates = [
        hits(p.n_documents / max(1, n_documents), p.n_documents) if rate is None else rate
        for p, rate in zip(prefixes, known, strict=True)
    ]
    cached = [
        p.n_tokens // rule.step_tokens * rule.step_tokens if p.n_tokens >= rule.min_tokens else 0
        for p in prefixes
    ]

    def value(index: int, above: int) -> float:
        """Saved tokens for each request, of what lies between a break point and one above it."""
        n_tokens = cached[index] - (cached[above] if above >= 0 else 0)
        gain = rates[index] * (1 - read_factor) - (1 - rates[index]) * (rule.write_factor - 1)
        return n_tokens * gain * prefixes[index].n_documents

    if rule.is_automatic:
        chosen = {
            index: prefix.parent
            for index, prefix in enumerate(prefixes)
            if cached[index] > (cached[prefix.parent] if prefix.parent >= 0 else 0)
        }
    else:
        chosen = _best_break_points(prefixes, cached, value, rule.max_break_points)
    n_read = n_write = saved = 0.0
    break_points = []
    for index, above in sorted(chosen.items()):
        n_tokens = cached[index] - (cached[above] if above >= 0 else 0)
        n_read += n_tokens * rates[index] * prefixes[index].n_documents
        if rule.write_factor > 1:
            n_write += n_tokens * (1 - rates[index]) * prefixes[index].n_documents
        saved += value(index, above)
        break_points.append(
            BreakPoint(index, cached[index], prefixes[index].n_documents, rates[index])
        )
    return CachePlan(tuple(break_points), n_read, n_write, saved)


def _best_break_points(
    prefixes: Sequence[SharedPrefix],
    cached: Sequence[int],
    value: Callable[[int, int], float],
    max_on_path: int,
) -> dict[int, int]:
    """``{break point: the break point above it}`` with the greatest value; -1: none above."""
    children: list[list[int]] = [[] for _ in prefixes]
    roots: list[int] = []
    for index, prefix in enumerate(prefixes):
        (children[prefix.parent] if prefix.parent >= 0 else roots).append(index)
    best: dict[tuple[int, int, int], tuple[float, bool]] = {}
    # Parents come first, so the other way round children are done before them.
    for index in range(len(prefixes) - 1, -1, -1):
        ancestors = [-1]
        above = prefixes[index].parent
        while above >= 0:
            ancestors.append(above)
            above = prefixes[above].parent
        for last in ancestors:
            for left in range(max_on_path + 1):
                skip = sum(best[child, last, left][0] for child in children[index])
                take = -math.inf
                if left and cached[index]:
                    take = value(index, last) + sum(
                        best[child, index, left - 1][0] for child in children[index]
                    )
                best[index, last, left] = (take, True) if take > skip else (skip, False)
    chosen: dict[int, int] = {}
    pending = [(root, -1, max_on_path) for root in roots]
    while pending:
        index, last, left = pending.pop()
        if best[index, last, left][1]:
            chosen[index] = last
            last, left = index, left - 1
        pending += [(child, last, left) for child in children[index]]
    return chosen


def plan_of_blocks(
    depths: NDArray[np.int64],
    counts: NDArray[np.int64],
    *,
    weight: float,
    n_documents: int,
    tokens_per_block: float,
    rule: CacheRule,
    hits: HitRate,
    read_factor: float,
) -> CachePlan:
    """Effect of a cache on a workload whose shared beginnings are known block by block.

    The block with which a beginning is long enough to be cached brings all blocks before it, which
    at least as many documents share. Blocks that cost more than they save are not cached.

    Args:
        depths: int64 (n,), blocks up to the end of each, from 1.
        counts: int64 (n,), documents that share each.
        weight: Blocks of the workload for each given one.
        n_documents: Documents of the workload.
        tokens_per_block: Mean tokens of a block.
        rule: The provider's rules.
        hits: Of `hit_rate`.
        read_factor: Price of a cached input token over that of an uncached one.

    Returns:
        A plan without break points: which they are, the blocks do not say.
    """
    least = max(1, math.ceil(rule.min_tokens / tokens_per_block))
    n_tokens = np.where(depths == least, least, np.where(depths > least, 1, 0)) * tokens_per_block
    different, places = np.unique(counts, return_inverse=True)
    rates = np.array([hits(n / max(1, n_documents), n) for n in different.tolist()])[places]
    gain = rates * (1 - read_factor) - (1 - rates) * (rule.write_factor - 1)
    shared = np.where(gain > 0, weight * counts * n_tokens, 0.0)
    return CachePlan(
        break_points=(),
        n_read_tokens=float((shared * rates).sum()),
        n_write_tokens=float((shared * (1 - rates)).sum()) if rule.write_factor > 1 else 0.0,
        n_saved_tokens=float((shared * gain).sum()),
    )
