"""The bets of a watch: which signal of which requests, and the growth that raises an alarm.

Half of the chance of a false alarm is for the signals of all requests, the other half for single
routes and for the shares of sources, where the history has them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from jeton.watch.signals import SIGNALS, SOURCE_SHARE, MeanEvidence, Normal
from jeton.watch.windows import TrafficSums, WatchSums

OF_ROUTES: Final = ("tokens_per_request", "tokens_per_byte")
"""Signals that are followed by route, too."""

_MAX_ROUTES: Final = 32
_MAX_SOURCES: Final = 16
_MIN_VALUES: Final = 100
_NORMAL_PART: Final = 0.2
"""Part of a bet's chance of a false alarm that pays for the error of its history."""


@dataclass(frozen=True, slots=True)
class Bet:
    """A normal that is bet against.

    Attributes:
        normal: The normal.
        limit: Growth at which an alarm is raised.
        route: Route whose requests count; empty: all.
        source: Source whose share it is; empty: it is no share of a source.
    """

    normal: Normal
    limit: float
    route: str = ""
    source: str = ""

    def level(self, levels: Mapping[str, int], *, route: str, source: str) -> int | None:
        """The level of a request; None where it does not count."""
        signal = self.normal.signal
        if self.source:
            return signal.level(float(source == self.source))
        return levels.get(signal.name) if self.route in ("", route) else None


class Bank:
    """Bets that began together."""

    def __init__(self, bets: Sequence[Bet]) -> None:
        self.bets = bets
        self._evidence = MeanEvidence([b.normal.low for b in bets], [b.normal.high for b in bets])
        self.raised = [False] * len(bets)
        self._numbers: list[deque[int]] = [deque(maxlen=4096) for _ in bets]

    def add(self, number: int, levels: Mapping[str, int], *, route: str, source: str) -> None:
        """Take one request."""
        values = np.full(len(self.bets), np.nan)
        for i, bet in enumerate(self.bets):
            level = bet.level(levels, route=route, source=source)
            if level is not None:
                values[i] = bet.normal.scaled(level)
                self._numbers[i].append(number)
        self._evidence.add(values)

    def evidence(self) -> list[float]:
        """Growth of each stake."""
        found: list[float] = self._evidence.evidence.tolist()
        return found

    def since(self, i: int) -> int:
        """Number of the request from which a change is likeliest."""
        numbers = self._numbers[i]
        back = int(self._evidence.n_values[i] - self._evidence.starts[i])
        return numbers[max(0, len(numbers) - back)]


def bets_of(sums: WatchSums, alpha: float) -> list[Bet]:
    """Return the bets for which a history has the levels.

    Args:
        sums: Sums of the history.
        alpha: Chance of any false alarm.
    """
    total, routes, sources = sums.total(), _routes(sums), _sources(sums)
    whole = alpha / (2 if routes or sources else 1)
    found = [
        learned_bet(name, total.levels[name], whole) for name in SIGNALS if total.levels.get(name)
    ]
    n_parts = len(routes) * len(OF_ROUTES) + len(sources)
    part = alpha / 2 / n_parts if n_parts else 0.0
    for route, own in routes.items():
        for name in OF_ROUTES:
            if own.levels.get(name, Counter()).total() >= _MIN_VALUES:
                normal = Normal.of(SIGNALS[name], own.levels[name], miss=_NORMAL_PART * part)
                found.append(_bet(normal, part, route=route))
    n = total.n_requests
    for source, n_own in sources.items():
        levels = Counter({SOURCE_SHARE.level(1.0) or 0: n_own, 0: n - n_own})
        normal = Normal.of(SOURCE_SHARE, levels, miss=_NORMAL_PART * part)
        found.append(_bet(normal, part, source=source))
    return found


def learned_bet(name: str, levels: Counter[int], chance: float) -> Bet:
    """Return the bet of one signal of all requests, which share a chance of a false alarm."""
    own = chance / len(SIGNALS)
    return _bet(Normal.of(SIGNALS[name], levels, miss=own * _NORMAL_PART), own)


def _bet(normal: Normal, chance: float, *, route: str = "", source: str = "") -> Bet:
    return Bet(normal, 1 / (chance * (1 - _NORMAL_PART)), route, source)


def _routes(sums: WatchSums) -> dict[str, TrafficSums]:
    if len(sums.routes) < 2:
        return {}
    found = {route: sums.total(route=route) for route in sums.routes if route}
    large = {route: own for route, own in found.items() if own.n_requests >= _MIN_VALUES}
    kept = sorted(large, key=lambda route: (-large[route].n_requests, route))[:_MAX_ROUTES]
    return {route: large[route] for route in kept}


def _sources(sums: WatchSums) -> dict[str, int]:
    """Requests of each source, where there are several: the largest."""
    sizes: Counter[str] = Counter()
    for (_, source, _), own in sums.groups.items():
        sizes[source] += own.n_requests
    if len(sizes) < 2:
        return {}
    return {source: n for source, n in sizes.most_common(_MAX_SOURCES) if source}
