"""A log over time: by day and hour, model and domain, and since when something is different."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from jeton.economics.ledger import Ledger
from jeton.metrics.change_points import ChangePoint, change_points
from jeton.workload.inputs.requests import SUMS, TimeTally

MIN_DAYS = 8
"""Days from which levels are compared by the day; a shorter log is compared by the hour."""

MIN_SHARE = 0.02
"""Share of the requests from which a model or domain is looked at by itself."""

MAX_PARTS = 12
"""Models and domains that are shown by themselves; the others are in the sums."""

MAX_HOURS = 24 * 62
"""Hours that are listed one by one; of a longer log only the last ones are."""

_HOUR_S = 3_600
_HOURS_PER_DAY = 24
_N_REQUESTS, _INPUT, _OUTPUT, _BYTES, _TOKENS_OF_BYTES, _STATED = range(len(SUMS))


@dataclass(frozen=True, slots=True)
class Span:
    """Requests of one day or hour.

    Attributes:
        start: Its beginning, ISO 8601 in UTC.
        n_requests: Requests.
        input_tokens: Reported (else counted) input tokens.
        output_tokens: Reported output tokens.
        usd: Their cost in the ledger; None for a part of which the ledger keeps no time.
        bytes_per_token: Bytes of text for each input token, of requests that show both.
        tokens_per_request: Input tokens of a request, mean.
    """

    start: str
    n_requests: int
    input_tokens: int
    output_tokens: int
    usd: Decimal | None
    bytes_per_token: float | None
    tokens_per_request: float | None


@dataclass(frozen=True, slots=True)
class DaySeries:
    """The days of one model or domain.

    Attributes:
        name: Name of the model or domain.
        days: Requests of one day or hour.
    """

    name: str
    days: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class LevelChange:
    """Since when a level is another one.

    Attributes:
        since: First hour of the new level, ISO 8601 in UTC.
        measure: ``bytes_per_token`` or ``tokens_per_request``.
        scope: ``all``, ``model`` or ``domain``.
        name: Name of the model or domain; empty for all.
        before: Level before.
        after: Level since then.
        change: After over before, less one.
        n_requests_after: Requests since then, up to the next change or the end.
        text: The change in a sentence.
    """

    since: str
    measure: str
    scope: str
    name: str
    before: float
    after: float
    change: float
    n_requests_after: int
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A log over time.

    Attributes:
        days: By day (UTC), days without a request left out.
        hours: By hour (UTC); of a log of more than two months the last ones.
        by_model: The days of the largest models.
        by_domain: The days of the largest domains.
        changes: Since when something is different, the largest change first.
        method: How changes are found.
    """

    days: tuple[Span, ...]
    hours: tuple[Span, ...]
    by_model: tuple[DaySeries, ...] = ()
    by_domain: tuple[DaySeries, ...] = ()
    changes: tuple[LevelChange, ...] = ()
    method: str = (
        "binary segmentation of the levels by day (by hour in less than 8 days), penalty 5 log n "
        "times the noise between neighbours. Changes of 5% and more; then the hour that fits best"
    )


def timeline_of(tally: TimeTally, ledger: Ledger | None) -> Timeline | None:
    """The log over time; None where no request has a time."""
    if not tally.cells:
        return None
    everything = _Series(tally.cells.items())
    models = _largest(tally, 1)
    domains = [name for name in _largest(tally, 2) if name]
    usd_days = _usd(ledger, _HOURS_PER_DAY, None)
    changes = list(_changes(everything, "all", ""))
    by_model, by_domain = [], []
    for name in models:
        series = _Series((k, v) for k, v in tally.cells.items() if k[1] == name)
        by_model.append(DaySeries(name, series.spans(_HOURS_PER_DAY, _usd(ledger, 24, name))))
        if len(models) > 1:
            changes += _changes(series, "model", name)
    for name in domains if len(domains) > 1 else ():
        series = _Series((k, v) for k, v in tally.cells.items() if k[2] == name)
        by_domain.append(DaySeries(name, series.spans(_HOURS_PER_DAY, None)))
        changes += _changes(series, "domain", name)
    changes.sort(key=lambda c: (-abs(c.change) * c.n_requests_after, c.since, c.scope, c.name))
    return Timeline(
        days=everything.spans(_HOURS_PER_DAY, usd_days),
        hours=everything.spans(1, _usd(ledger, 1, None))[-MAX_HOURS:],
        by_model=tuple(by_model),
        by_domain=tuple(by_domain),
        changes=tuple(changes),
    )


def _largest(tally: TimeTally, place: int) -> list[str]:
    """Names of models (1) or domains (2) with enough requests, the largest first."""
    counts: dict[str, int] = {}
    for key, sums in tally.cells.items():
        name = str(key[place])
        counts[name] = counts.get(name, 0) + int(sums[_N_REQUESTS])
    least = MIN_SHARE * sum(counts.values())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [name for name, n in ranked if n >= least][:MAX_PARTS]


def _usd(ledger: Ledger | None, hours: int, model: str | None) -> Mapping[int, Decimal] | None:
    """Dollars by span of so many hours."""
    if ledger is None:
        return None
    spans = ledger.by_time(hours, model=model)
    return {
        int(use.start.timestamp()) // (hours * _HOUR_S): use.usd
        for use in spans
        if use.start is not None
    }


class _Series:
    """Sums by hour, in order."""

    def __init__(self, cells: Iterable[tuple[tuple[int, str, str], NDArray[np.int64]]]) -> None:
        by_hour: dict[int, NDArray[np.int64]] = {}
        for (hour, _, _), sums in cells:
            known = by_hour.get(hour)
            by_hour[hour] = sums if known is None else known + sums
        by_hour = {hour: sums for hour, sums in by_hour.items() if sums[_N_REQUESTS] > 0}
        self.hours = np.array(sorted(by_hour), dtype=np.int64)
        width = len(SUMS)
        rows = [by_hour[hour] for hour in self.hours.tolist()]
        self.sums = np.array(rows, dtype=np.int64).reshape(len(rows), width)

    def by(self, hours: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the spans of so many hours, and the sums of each."""
        spans, starts = np.unique(self.hours // hours, return_index=True)
        return spans, np.add.reduceat(self.sums, starts, axis=0) if len(spans) else self.sums

    def between(self, first: int, end: int) -> NDArray[np.int64]:
        """Sums of the hours from one up to another."""
        own = (self.hours >= first) & (self.hours < end)
        total: NDArray[np.int64] = self.sums[own].sum(axis=0)
        return total

    def spans(self, hours: int, usd: Mapping[int, Decimal] | None) -> tuple[Span, ...]:
        """One entry for each span that has a request."""
        spans, sums = self.by(hours)
        return tuple(
            Span(
                start=_iso(span * hours),
                n_requests=row[_N_REQUESTS],
                input_tokens=row[_INPUT],
                output_tokens=row[_OUTPUT],
                usd=None if usd is None else usd.get(span, Decimal(0)),
                bytes_per_token=_ratio(row[_BYTES], row[_TOKENS_OF_BYTES]),
                tokens_per_request=_ratio(row[_INPUT], row[_STATED]),
            )
            for span, row in zip(spans.tolist(), sums.tolist(), strict=True)
        )


_MEASURES: tuple[tuple[str, int, int, str], ...] = (
    ("tokens_per_request", _INPUT, _STATED, "input tokens per request"),
    ("bytes_per_token", _BYTES, _TOKENS_OF_BYTES, "bytes per token"),
)


def _changes(series: _Series, scope: str, name: str) -> Iterable[LevelChange]:
    """Changes of the levels of a series, each with the hour that fits best."""
    n_days = len(np.unique(series.hours // _HOURS_PER_DAY))
    hours = _HOURS_PER_DAY if n_days >= MIN_DAYS else 1
    spans, sums = series.by(hours)
    for measure, above, below, words in _MEASURES:
        known = sums[:, below] > 0
        if not known.any():
            continue
        own, rows = spans[known], sums[known]
        values = rows[:, above] / rows[:, below]
        # A day of few requests is a bad mean of them, a day of none is no point.
        found = change_points(values, rows[:, _N_REQUESTS])
        firsts = [int(own[point.index]) * hours for point in found]
        if hours > 1:
            firsts = [
                _hour(series, above, below, first, point)
                for first, point in zip(firsts, found, strict=True)
            ]
        edges = [int(series.hours[0]), *firsts, int(series.hours[-1]) + 1]
        for place, first in enumerate(firsts):
            # The day of a change has something of both levels; its hours are told apart now.
            before = series.between(edges[place], first)
            after = series.between(first, edges[place + 2])
            if not before[below] or not after[below]:
                continue
            levels = before[above] / before[below], after[above] / after[below]
            yield LevelChange(
                since=_iso(first),
                measure=measure,
                scope=scope,
                name=name,
                before=levels[0],
                after=levels[1],
                change=levels[1] / levels[0] - 1 if levels[0] else 0.0,
                n_requests_after=int(after[_N_REQUESTS]),
                text=_sentence(words, scope, name, first, levels),
            )


def _hour(series: _Series, above: int, below: int, first: int, point: ChangePoint) -> int:
    """The hour around the day of a change from which the new level fits better than the old."""
    near = (series.hours >= first - _HOURS_PER_DAY) & (series.hours < first + _HOURS_PER_DAY)
    near &= series.sums[:, below] > 0
    hours, rows = series.hours[near], series.sums[near]
    if len(hours) < 2:
        return first
    values, weights = rows[:, above] / rows[:, below], rows[:, _N_REQUESTS]
    old = weights * (values - point.before) ** 2
    new = weights * (values - point.after) ** 2
    # Cost of a cut before each hour: the old level up to it, the new one from it on.
    cost = np.concatenate([[0.0], np.cumsum(old)])[:-1] + np.cumsum(new[::-1])[::-1]
    return int(hours[int(np.argmin(cost))])


def _sentence(words: str, scope: str, name: str, hour: int, levels: tuple[float, float]) -> str:
    when = datetime.fromtimestamp(hour * _HOUR_S, tz=UTC)
    of = "" if scope == "all" else f" of {name or '(no name)'}"
    return (
        f"Since {when:%Y-%m-%d %H:00} UTC: {_plain(levels[1])} {words}{of} instead of "
        f"{_plain(levels[0])} ({levels[1] / levels[0] - 1:+.0%})"
    )


def _plain(level: float) -> str:
    """A level in three digits or more, without an exponent."""
    if level >= _WHOLE:
        return f"{level:,.0f}"
    return f"{level:.3g}" if level >= _SMALL else f"{level:.8f}".rstrip("0")


_WHOLE = 100
_SMALL = 1e-4


def _iso(hour: int) -> str:
    return datetime.fromtimestamp(hour * _HOUR_S, tz=UTC).isoformat().replace("+00:00", "Z")


def _ratio(above: int, below: int) -> float | None:
    return above / below if below else None
