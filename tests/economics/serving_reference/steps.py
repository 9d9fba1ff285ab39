"""Sums of the times of steps, and the parts of prompts, one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from jeton.economics.traffic.step_times import StepTimes

__all__ = ["Terms", "held_bytes", "part", "plus", "steps_seconds", "steps_until"]


Terms = tuple[int, ...]


def part(times: StepTimes, start: int, end: int) -> tuple[Terms, Terms, Terms]:
    """Return a part's `StepTimes.pairs`, the tokens before it, and those gained."""
    past = times.tokens(start)
    gained = tuple(more - now for now, more in zip(past, times.tokens(end), strict=True))
    return times.pairs(start, end), past, gained


def plus(one: Iterable[int], other: Iterable[int], times: int = 1) -> Terms:
    """Return the sum of two lists, the second taken so often."""
    return tuple(a + b * times for a, b in zip(one, other, strict=True))


def held_bytes(times: StepTimes, tokens: Terms) -> float:
    """Return the memory that tokens keep."""
    total = 0.0
    for term, n in zip(times.terms, tokens, strict=True):
        total += term.held_bytes * n
    return total


def steps_seconds(n_steps: int, a: float, b: float, c: float, d: float) -> float:
    """Return ``sum over j < n of max(a + b j, c + d j)`` in closed form.

    Two straight lines cross once at most, so the sum has at most two arithmetic series.
    """
    last = n_steps - 1
    half = n_steps * last / 2
    if a >= c and a + b * last >= c + d * last:
        return n_steps * a + b * half
    if a <= c and a + b * last <= c + d * last:
        return n_steps * c + d * half
    if a < c:
        a, b, c, d = c, d, a, b
    # The first line leads until they cross.
    first = min(n_steps, max(0, math.ceil((a - c) / (d - b))))
    rest = n_steps - first
    return first * a + b * first * (first - 1) / 2 + rest * c + d * (half - first * (first - 1) / 2)


def steps_until(seconds: float, most: int, a: float, b: float, c: float, d: float) -> int:
    """Return the fewest steps, at least 1 and at most ``most``, that take ``seconds`` or longer."""
    if most <= 1 or seconds <= 0:
        return 1
    last = most - 1
    if a >= c and a + b * last >= c + d * last:
        p, q = a, b
    elif a <= c and a + b * last <= c + d * last:
        p, q = c, d
    else:
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if steps_seconds(middle, a, b, c, d) < seconds:
                low = middle
            else:
                high = middle
        return high
    # q/2 k^2 + (p - q/2) k = seconds
    linear = p - q / 2
    if q * seconds < 1e-12 * linear * linear:
        k = math.ceil(seconds / p) if p > 0 else most
    else:
        k = math.ceil((math.sqrt(linear * linear + 2 * q * seconds) - linear) / q)
    if k > most:
        k = most
    elif k < 1:
        k = 1
    # The root is rounded: the last bit decides by the sum itself.
    while k > 1 and (k - 1) * p + q * (k - 1) * (k - 2) / 2 >= seconds:
        k -= 1
    while k < most and k * p + q * k * (k - 1) / 2 < seconds:
        k += 1
    return k
