"""Policies: the objective of a router, and its action where no endpoint meets it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from jeton.errors import UsageError

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
