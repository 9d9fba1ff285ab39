"""Sums of requests by route, source and script: integers that merge in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from jeton.corpus.names import OTHER, printable
from jeton.errors import FormatError
from jeton.watch.measuring import RequestCounts
from jeton.watch.signals import SIGNALS

MAX_GROUPS: Final = 200
"""Groups kept apart, and so series of a metric. Junk in the place of a name adds none beyond it."""

_MAX_NAME: Final = 80

Group = tuple[str, str, str]
"""Route, source, script."""

AMOUNTS: Final = (
    "n_requests", "n_tokens", "n_bytes", "n_chars", "n_single_byte", "n_unknown",
    "n_special_hits", "n_invisible", "n_padding",
)  # fmt: skip


@dataclass(slots=True)
class TrafficSums:
    """Sums of one group; ``levels`` has a histogram for each signal that a request had."""

    n_requests: int = 0
    n_tokens: int = 0
    n_bytes: int = 0
    n_chars: int = 0
    n_single_byte: int = 0
    n_unknown: int = 0
    n_special_hits: int = 0
    n_invisible: int = 0
    n_padding: int = 0
    levels: dict[str, Counter[int]] = field(default_factory=dict)

    def count(self, request: RequestCounts, levels: Mapping[str, int]) -> None:
        """Add one request."""
        self.n_requests += 1
        for name in AMOUNTS[1:]:
            setattr(self, name, getattr(self, name) + (getattr(request, name) or 0))
        for name, level in levels.items():
            self.levels.setdefault(name, Counter())[level] += 1

    def add(self, other: TrafficSums) -> None:
        """Add other sums."""
        for name in AMOUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, levels in other.levels.items():
            self.levels.setdefault(name, Counter()).update(levels)

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in AMOUNTS}
        plain["levels"] = {
            name: [[level, levels[level]] for level in sorted(levels)]
            for name, levels in sorted(self.levels.items())
        }
        return plain

    @classmethod
    def from_plain(cls, plain: Any) -> TrafficSums:
        """From JSON values.

        Raises:
            FormatError: They are no sums.
        """
        try:
            amounts = {name: _count(plain[name]) for name in AMOUNTS}
            levels = {
                str(name): Counter({_whole(level): _count(n) for level, n in pairs})
                for name, pairs in plain["levels"].items()
                if name in SIGNALS
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"the sums of a group are damaged: {error!r}") from None
        return cls(**amounts, levels=levels)


@dataclass(slots=True)
class WatchSums:
    """Sums by group, of a window or of all requests."""

    groups: dict[Group, TrafficSums] = field(default_factory=dict)

    def key(self, route: str, source: str, script: str) -> Group:
        """The group under which a request is counted."""
        wanted = (_name(route), _name(source), _name(script))
        if wanted in self.groups or len(self.groups) < MAX_GROUPS - 1:
            return wanted
        return (OTHER, OTHER, OTHER)

    def count(
        self, request: RequestCounts, levels: Mapping[str, int], *, route: str, source: str
    ) -> None:
        """Add one request."""
        key = self.key(route, source, request.script)
        self.groups.setdefault(key, TrafficSums()).count(request, levels)

    def merge(self, other: WatchSums) -> WatchSums:
        """Return the sums of both; groups beyond the limit become one."""
        merged = WatchSums()
        for side in (self, other):
            for group, sums in sorted(side.groups.items()):
                merged.groups.setdefault(merged.key(*group), TrafficSums()).add(sums)
        return merged

    def total(self, *, route: str | None = None) -> TrafficSums:
        """Return the sums of one route, or of all."""
        whole = TrafficSums()
        for (name, _, _), sums in self.groups.items():
            if route is None or name == route:
                whole.add(sums)
        return whole

    @property
    def routes(self) -> tuple[str, ...]:
        """Names of the routes, sorted."""
        return tuple(sorted({route for route, _, _ in self.groups}))

    def to_plain(self) -> list[dict[str, Any]]:
        """As JSON values, in one order."""
        return [
            {"route": group[0], "source": group[1], "script": group[2], **sums.to_plain()}
            for group, sums in sorted(self.groups.items())
        ]

    @classmethod
    def from_plain(cls, plain: Any) -> WatchSums:
        """From JSON values.

        Raises:
            FormatError: They are no sums, or of too many groups.
        """
        if not isinstance(plain, list) or len(plain) > MAX_GROUPS:
            raise FormatError(f"expected a list of at most {MAX_GROUPS} groups")
        found = cls()
        for entry in plain:
            sums = TrafficSums.from_plain(entry)
            names = tuple(str(entry.get(name, "")) for name in ("route", "source", "script"))
            found.groups[(names[0], names[1], names[2])] = sums
        return found


def merged(windows: Iterable[WatchSums]) -> WatchSums:
    """Return the sums of all windows."""
    whole = WatchSums()
    for window in windows:
        whole = whole.merge(window)
    return whole


def _name(name: str) -> str:
    return printable(name[:_MAX_NAME])


def _whole(value: Any) -> int:
    if type(value) is not int or abs(value) > 1 << 32:
        raise ValueError(f"{value!r} where a level should be")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r} where a count should be")
    return value


assert set(AMOUNTS) < {item.name for item in fields(TrafficSums)}
