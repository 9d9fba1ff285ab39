"""Endpoints for one logged request, with everything that is known afterwards."""

from __future__ import annotations

from typing import NamedTuple

from jeton.planning.routing.lanes import Lane
from jeton.planning.routing.policy import RoutingPolicy


class RequestFacts(NamedTuple):
    """Facts of a request that hold at every endpoint.

    Attributes:
        talk: The conversation; 0: none.
        task: The task.
        now_s: The time; it never runs backwards.
        share: Share of the prompt that the log says was read from a cache.
        block: The block that the conversation is drawn in.
        is_timed: True if the log states a time.
        tariff: Tariff as logged; empty: the standard one.
    """

    talk: int
    task: str
    now_s: float
    share: float
    block: int
    is_timed: bool
    tariff: str


class LoggedOption:
    """One endpoint for one logged request, with its true lengths.

    Args:
        lane: The endpoint.
        policy: The policy whose limits count.
        tokens: Prompt tokens, answer tokens, and those read from the cache of a conversation that
            stays.
        usd: Dollars with that, and with nothing read from a cache.
        task: The task.
        written: Prompt tokens written to a cache; None: the log tells nothing of caches.
        is_own: True if its own model answered the request.
    """

    __slots__ = (
        "_cold", "_lane", "_policy", "delay", "fits", "output", "place", "quality", "read",
        "tokens", "usd", "written",
    )  # fmt: skip

    def __init__(
        self,
        lane: Lane,
        policy: RoutingPolicy,
        tokens: tuple[int, int, int],
        usd: tuple[float, float],
        task: str,
        written: int | None,
        *,
        is_own: bool,
    ) -> None:
        self._lane = lane
        self._policy = policy
        self.place = lane.place
        self.tokens, self.output, self.read = tokens
        self.usd, self._cold = usd
        self.written = written
        # Seconds that a player lost before, at endpoints that failed.
        self.delay = 0.0
        # Its own model answered it: that is stronger than any limit that is stated.
        self.fits = is_own or (
            self.tokens + self.output <= lane.context_tokens and self.output <= lane.output_tokens
        )
        self.quality = lane.endpoint.quality_of(task)

    @property
    def ttl_seconds(self) -> float:
        """Time after which its cache forgets."""
        return self._lane.endpoint.cache.ttl_seconds

    def usd_at(self, read: int) -> float:
        """Return the dollars where so many tokens are read from the cache."""
        if read >= self.read:
            return self.usd
        return self.usd + (self._cold - self.usd) * (self.read - read) / self.read

    def seconds(self, read: int) -> float:
        """Return the time to the last token; NaN where it is not known."""
        return self.delay + self._lane.seconds(self.tokens, read, self.output)

    def meets(self, read: int) -> bool:
        """True if latency and quality meet the policy."""
        policy = self._policy
        if policy.min_quality is not None and (
            self.quality is None or self.quality < policy.min_quality
        ):
            return False
        ttft = self._lane.ttft_seconds
        if policy.max_ttft_seconds is not None and (
            ttft is None or self.delay + ttft(self.tokens - read) > policy.max_ttft_seconds
        ):
            return False
        return policy.max_seconds is None or self.seconds(read) <= policy.max_seconds
