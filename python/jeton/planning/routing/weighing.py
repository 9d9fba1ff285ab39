"""Endpoints weighed for one request, and the best of them: by price, or by a weighted sum."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.policy import RoutingWeights
from jeton.planning.routing.requests import RoutingChoice, RoutingRequest

_EQUAL: Final = 1e-12
"""Prices that differ by less than this share are equal: sums of floats differ in the last bits."""


class Weighed(NamedTuple):
    """One endpoint as the choice sees it; its time is worked out where it matters.

    Attributes:
        lane: The endpoint.
        n_tokens: Prompt tokens.
        cached: Prompt tokens that its cache is expected to hold.
        output: Expected answer tokens.
        held: Prompt tokens that its cache may hold.
        usd: Dollars of the request.
        with_turns_usd: Dollars with the turns to come of its conversation.
        quality: Score for the task; None: the table has none.
        meets: True if latency and quality meet the policy.
    """

    lane: Lane
    n_tokens: int
    cached: int
    output: float
    held: int
    usd: float
    with_turns_usd: float
    quality: float | None
    meets: bool

    @property
    def place(self) -> int:
        """Place of the endpoint."""
        return self.lane.place

    def seconds(self) -> float:
        """Return the expected time to the last token; NaN where it is not known."""
        return self.lane.seconds(self.n_tokens, self.cached, self.output)

    def chosen(
        self, request: RoutingRequest, *, is_fallback: bool, is_sticky: bool
    ) -> RoutingChoice:
        """Return it as the choice."""
        lane = self.lane
        return RoutingChoice(
            lane.endpoint.name,
            lane.place,
            self.usd,
            self.output,
            self.held,
            self.meets,
            is_fallback,
            is_sticky,
            request,
        )


def cheapest(found: list[Weighed]) -> Weighed:
    """Return the cheapest; of equals the better, then the faster, then the first."""
    best = found[0]
    for one in found[1:]:
        own, least = one.with_turns_usd, best.with_turns_usd
        slack = _EQUAL * least
        if own < least - slack or (own <= least + slack and _is_better(one, best)):
            best = one
    return best


def _is_better(one: Weighed, best: Weighed) -> bool:
    a = -math.inf if one.quality is None else one.quality
    b = -math.inf if best.quality is None else best.quality
    if a != b:
        return a > b
    return one.seconds() < best.seconds()


def least_sum(found: list[Weighed], weights: RoutingWeights) -> Weighed:
    """Return the one with the least weighted sum; what is not known counts as the worst known."""
    cost, latency, quality = weights.cost, weights.latency, weights.quality
    least_usd = min(one.with_turns_usd for one in found)
    all_seconds = [one.seconds() for one in found]
    times = [seconds for seconds in all_seconds if seconds == seconds]
    scores = [one.quality for one in found if one.quality is not None]
    fastest, slowest = min(times, default=0.0), max(times, default=0.0)
    finest, poorest = max(scores, default=0.0), min(scores, default=0.0)
    best, best_sum = found[0], math.inf
    for one, own in zip(found, all_seconds, strict=True):
        seconds = own if own == own else slowest
        score = poorest if one.quality is None else one.quality
        total = (
            cost * (one.with_turns_usd / least_usd if least_usd else 1.0)
            + latency * (seconds / fastest if fastest else 1.0)
            + quality * ((finest - score) / abs(finest) if finest else 0.0)
        )
        if total < best_sum * (1 - _EQUAL):
            best, best_sum = one, total
    return best
