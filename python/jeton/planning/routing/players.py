"""Players of a replay, the endpoints as each request finds them, and failures that all meet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jeton.planning.routing.endpoints import EndpointFailures
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
        """Return the dollars if `read` tokens come from the cache."""
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


N_BLOCKS: Final = 4096
"""Blocks that conversations are drawn in for intervals: whole conversations, by their hash."""

_MAX_CONVERSATIONS: Final = 20_000
_BINS: Final = 400
_LEAST_S: Final = 1e-4
_PER_OCTAVE: Final = 16


class SecondsHistogram:
    """Times by logarithmic bins of 4%, so that memory stays as it is however long a log is."""

    def __init__(self) -> None:
        self._bins = np.zeros(_BINS, dtype=np.int64)
        self.total = 0.0
        self.n = 0

    def add(self, seconds: float) -> None:
        """Take a time; NaN is not known and is left out."""
        if seconds != seconds:
            return
        place = int(math.log2(max(seconds, _LEAST_S) / _LEAST_S) * _PER_OCTAVE)
        self._bins[min(place, _BINS - 1)] += 1
        self.total += seconds
        self.n += 1

    @property
    def mean(self) -> float | None:
        """Mean; None without a time."""
        return self.total / self.n if self.n else None

    def quantile(self, share: float) -> float | None:
        """Middle of the bin that a quantile falls in; None without a time."""
        if not self.n:
            return None
        place = int(np.searchsorted(np.cumsum(self._bins), math.ceil(share * self.n)))
        return float(_LEAST_S * 2 ** ((place + 0.5) / _PER_OCTAVE))


class _Talk:
    __slots__ = ("first_share", "last", "prompts")

    def __init__(self, first_share: float) -> None:
        self.last = -1
        self.first_share = first_share
        self.prompts: dict[int, tuple[int, float]] = {}


class CacheTruth:
    """The prompt tokens that an endpoint's cache holds, given where a conversation went before.

    A log tells what was read while a conversation stayed where it was. One that comes back finds
    what it left; one that is new finds what even the first request of the conversation found.
    """

    def __init__(self) -> None:
        self._talks: dict[int, _Talk] = {}

    def read(
        self, talk: int, place: int, logged: int, n_tokens: int, age: tuple[float, float]
    ) -> int:
        """Return the tokens read from a cache.

        Args:
            talk: The conversation; 0: none, which reads what was logged.
            place: The endpoint.
            logged: Tokens that a conversation that stays reads there.
            n_tokens: Tokens of the prompt there.
            age: Now, and the time after which a cache forgets.
        """
        if not logged or not talk:
            return logged
        known = self._talks.get(talk)
        if known is None or known.last == place:
            return logged
        least = min(logged, int(known.first_share * n_tokens))
        before = known.prompts.get(place)
        if before is None or age[0] - before[1] > age[1]:
            return least
        return min(logged, max(before[0], least))

    def sent(self, talk: int, place: int, n_tokens: int, share: float, now_s: float) -> None:
        """Note where a request went."""
        if not talk:
            return
        known = self._talks.pop(talk, None)
        if known is None:
            known = _Talk(share)
            if len(self._talks) >= _MAX_CONVERSATIONS:
                del self._talks[next(iter(self._talks))]
        self._talks[talk] = known
        known.last = place
        known.prompts[place] = (n_tokens, now_s)


class Play:
    """Sums of one player.

    Args:
        name: Its name.
        n_places: Number of endpoints.
    """

    def __init__(self, name: str, n_places: int) -> None:
        self.name = name
        self.by_block: NDArray[np.float64] = np.zeros(N_BLOCKS)
        self.seconds = SecondsHistogram()
        self.quality_sum = 0.0
        self.n_quality = 0
        self.n_refused = 0
        self.n_failed = 0
        self.n_too_long = 0
        self.n_missed = 0
        self.n_fallbacks = 0
        self.n_moves = 0
        self.by_place: NDArray[np.int64] = np.zeros(n_places, dtype=np.int64)

    def take(
        self,
        place: int,
        block: int,
        usd: float,
        seconds: float,
        quality: float | None,
        *,
        fits: bool,
        meets: bool,
    ) -> None:
        """Take a request that was sent to an endpoint."""
        self.by_block[block] += usd
        self.by_place[place] += 1
        self.seconds.add(seconds)
        if quality is not None:
            self.quality_sum += quality
            self.n_quality += 1
        self.n_too_long += not fits
        self.n_missed += not meets

    @property
    def n_requests(self) -> int:
        """Requests that were sent."""
        return int(self.by_place.sum())


_SEED: Final = 60


class FailureReplay:
    """Draws for each request whether an endpoint would answer it.

    Args:
        failures: Failures of each endpoint; None: it always answers.
    """

    def __init__(self, failures: Sequence[EndpointFailures | None]) -> None:
        self._rules = list(failures)
        # Text of a seed is hashed by its content, so that a replay is the same everywhere.
        self._draws = [Random(f"{_SEED} {place}") for place in range(len(failures))]
        self._first_s = math.nan
        self._failing = [False] * len(failures)

    def draw(self, now_s: float) -> None:
        """Say for the next request which endpoints fail."""
        if self._first_s != self._first_s:
            self._first_s = now_s
        for place, rules in enumerate(self._rules):
            if rules is not None:
                lot = self._draws[place].random()
                self._failing[place] = lot < rules.share or self._outage(rules, now_s) > 0

    def fails(self, place: int) -> bool:
        """True if an endpoint does not answer the request."""
        return self._failing[place]

    def answers(self, place: int) -> bool:
        """True if it does."""
        return not self._failing[place]

    def timeout(self, place: int) -> float:
        """Seconds until its failure is known."""
        rules = self._rules[place]
        return 0.0 if rules is None else rules.timeout_seconds

    def cooldown(self, place: int) -> float:
        """Seconds in which it is left alone after one."""
        rules = self._rules[place]
        return 0.0 if rules is None else rules.cooldown_seconds

    def wait(self, place: int, now_s: float) -> float:
        """Seconds that a request loses that goes there alone: one retry, or the outage's rest."""
        rules = self._rules[place]
        if rules is None or not self._failing[place]:
            return 0.0
        return max(rules.timeout_seconds, self._outage(rules, now_s), 1e-9)

    def _outage(self, rules: EndpointFailures, now_s: float) -> float:
        """Seconds that an outage still lasts; 0 without one."""
        at = now_s - self._first_s
        return max((end - at for start, end in rules.outages if start <= at < end), default=0.0)
