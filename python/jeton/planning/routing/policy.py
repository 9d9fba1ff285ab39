"""Policies: the objective of a router, endpoints weighed by it, and the best of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from jeton.errors import UsageError
from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.requests import RoutingChoice, RoutingRequest

ROUTING_RULES = ("cheapest", "weighted")
"""The cheapest endpoint that meets the limits of latency and quality, or the least weighted sum."""

STICKY = ("price", "always", "never")
"""Conversations: the prompt cache is part of the price; they stay where they are; or neither."""

ASSUMED_OUTPUT_TOKENS = 250
"""Answer tokens before any history. A judgement: the median answer of the public Azure
conversation trace has some 240 tokens."""


@dataclass(frozen=True, slots=True)
class RoutingWeights:
    """Weights of a weighted sum; each part is relative to the best endpoint of the request.

    The sum is ``cost x usd / least usd + latency x seconds / least seconds + quality x (best score
    - score) / |best score|``; the least one wins.

    Attributes:
        cost: Weight of money.
        latency: Weight of the time to the end of the answer.
        quality: Weight of what the score lacks to the best one.
    """

    cost: float = 1.0
    latency: float = 0.0
    quality: float = 0.0

    def __post_init__(self) -> None:
        values = (self.cost, self.latency, self.quality)
        if not all(math.isfinite(value) and value >= 0 for value in values) or not any(values):
            raise UsageError(
                f"the weights are cost {self.cost:g}, latency {self.latency:g}, quality "
                f"{self.quality:g}; expected numbers of at least 0, one of them above"
            )


@dataclass(frozen=True, slots=True)
class RoutingPolicy:
    """How a router decides.

    Attributes:
        rule: One of ``ROUTING_RULES``.
        max_seconds: Most seconds to the end of the answer; None: no limit.
        max_ttft_seconds: Most seconds to the first token; None: no limit.
        min_quality: Least score; None: no limit.
        weights: Weights of the rule ``weighted``.
        sticky: One of ``STICKY``.
        fallbacks: Names of endpoints that are tried in order where none meets the limits; empty:
            the cheapest that takes the request.
        coverage: Share of answers that the interval of lengths is to hold.
        assumed_output_tokens: Answer tokens before there is any history.
    """

    rule: str = "cheapest"
    max_seconds: float | None = None
    max_ttft_seconds: float | None = None
    min_quality: float | None = None
    weights: RoutingWeights = field(default_factory=RoutingWeights)
    sticky: str = "price"
    fallbacks: tuple[str, ...] = ()
    coverage: float = 0.9
    assumed_output_tokens: int = ASSUMED_OUTPUT_TOKENS

    def __post_init__(self) -> None:
        for name, known in (("rule", ROUTING_RULES), ("sticky", STICKY)):
            if getattr(self, name) not in known:
                raise UsageError(
                    f"the policy's {name} is {getattr(self, name)!r}; expected {_or(known)}"
                )
        for name in ("max_seconds", "max_ttft_seconds"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} is {value}; expected seconds above 0")
        most, first = self.max_seconds, self.max_ttft_seconds
        if most is not None and first is not None and first > most:
            raise UsageError(
                f"the limits contradict one another: max_ttft_seconds is {first:g} and max_seconds "
                f"{most:g}; the first token comes before the last"
            )
        if self.min_quality is not None and not math.isfinite(self.min_quality):
            raise UsageError(f"min_quality is {self.min_quality}; expected a finite number")
        if not 0 < self.coverage < 1:
            raise UsageError(f"coverage is {self.coverage}; expected between 0 and 1")
        if not 1 <= self.assumed_output_tokens <= 10**9:
            raise UsageError(
                f"assumed_output_tokens is {self.assumed_output_tokens}; expected at least 1"
            )


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


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
