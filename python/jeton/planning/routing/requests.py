"""Requests as a router sees them, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class RoutingRequest(NamedTuple):
    """One request.

    Attributes:
        input_tokens: Prompt tokens at each endpoint, in the router's order of endpoints.
        task: Kind of request: quality tables and lengths of answers go by it.
        conversation: Name of the conversation; empty or 0: none.
        max_output_tokens: Most answer tokens that it asks for; None: not stated.
        time_s: When it came, in seconds; None: the router's clock.
        tariff: Its tariff (``batch``); empty: the standard one. Prices of one's own have no other.
    """

    input_tokens: tuple[int, ...]
    task: str = ""
    conversation: object = ""
    max_output_tokens: int | None = None
    time_s: float | None = None
    tariff: str = ""


class RoutingCandidate(NamedTuple):
    """One endpoint for one request.

    Attributes:
        endpoint: Its name.
        input_tokens: Prompt tokens by its own tokenizer.
        cached_tokens: Prompt tokens that its cache is expected to hold.
        output_lower_tokens: Fewest answer tokens of the interval.
        output_tokens: Expected answer tokens.
        output_upper_tokens: Most answer tokens of the interval.
        usd: Expected dollars.
        usd_lower: Dollars of the shortest answer.
        usd_upper: Dollars of the longest answer, with nothing in the cache.
        usd_with_turns: Expected dollars with the turns to come of the conversation; the choice
            goes by them.
        ttft_seconds: Time to the first token; None: not known.
        seconds: Expected time to the last token; None: not known.
        seconds_upper: Time to the last token of the longest answer; None: not known.
        quality: Score for the task; None: the table has none.
        fits: True if prompt and answer are within its limits.
        has_room: True if its limits a minute leave room.
        meets: True if latency and quality meet the policy.
        reasons: Its drawbacks, in words.
    """

    endpoint: str
    input_tokens: int
    cached_tokens: int
    output_lower_tokens: float
    output_tokens: float
    output_upper_tokens: float
    usd: float
    usd_lower: float
    usd_upper: float
    usd_with_turns: float
    ttft_seconds: float | None
    seconds: float | None
    seconds_upper: float | None
    quality: float | None
    fits: bool
    has_room: bool
    meets: bool
    reasons: tuple[str, ...]


class RoutingChoice(NamedTuple):
    """A decision.

    Attributes:
        endpoint: Name of the endpoint; None: no endpoint takes the request.
        place: Its place among the endpoints; -1: none.
        usd: Expected dollars there.
        output_tokens: Expected answer tokens there.
        held_tokens: Prompt tokens that its cache may still hold.
        meets: True if it meets the limits of latency and quality.
        is_fallback: True if no endpoint met them, and one was taken all the same.
        is_sticky: True if the conversation was there already.
        request: The request.
    """

    endpoint: str | None
    place: int
    usd: float
    output_tokens: float
    held_tokens: int
    meets: bool
    is_fallback: bool
    is_sticky: bool
    request: RoutingRequest


NO_ENDPOINT = RoutingChoice(
    endpoint=None,
    place=-1,
    usd=0.0,
    output_tokens=0.0,
    held_tokens=0,
    meets=False,
    is_fallback=False,
    is_sticky=False,
    request=RoutingRequest(()),
)
"""The choice where no endpoint takes a request."""


@dataclass(frozen=True, slots=True)
class RoutingExplanation:
    """A decision with all that it was made of.

    Attributes:
        choice: The decision.
        candidates: All endpoints in their order.
        reason: The grounds of the choice, in words.
        output_history: Finished requests that the interval of the answer was made of; 0: none, the
            length is assumed.
    """

    choice: RoutingChoice
    candidates: tuple[RoutingCandidate, ...]
    reason: str
    output_history: int
