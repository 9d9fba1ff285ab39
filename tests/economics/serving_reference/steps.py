"""Sums of the times of steps, and the parts of prompts, one by one."""

from __future__ import annotations

import math

from jeton.economics.traffic.step_times import StepTimes

__all__ = ["part", "steps_seconds", "steps_until"]


def part(times: StepTimes, start: int, end: int) -> tuple[int, int, int]:
    """Return a part's `prompt_pairs`, the layer tokens before it, and those gained."""
    past = times.layer_tokens(start)
    return times.prompt_pairs(start, end), past, times.layer_tokens(end) - past


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
