"""Failures of endpoints in a replay: every player meets the same ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Final

from jeton.planning.routing.endpoints import EndpointFailures

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
