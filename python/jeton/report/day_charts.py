"""Charts over days: cost and tokens of each day of a log, from zero."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from markupsafe import Markup

from jeton.report.axes import Scale
from jeton.report.numbers import Kind, Numbers
from jeton.report.svg import Drawing
from jeton.report.tree import Plot
from jeton.report.workload import day_words

_WIDTH_PX = 520.0
_HEIGHT_PX = 150.0
_MIN_DAYS = 2
_MOST_DAYS = 400
"""More days than this are drawn as their last 400."""

_CHARTS: tuple[tuple[str, str, str, str, Kind], ...] = (
    ("ledger.by_day", "day", "usd", "Cost by day", "usd"),
    ("ledger.by_day", "day", "input_tokens", "Input tokens by day", "count"),
    ("timeline.days", "start", "bytes_per_token", "Bytes per token by day", "ratio"),
    ("timeline.days", "start", "tokens_per_request", "Input tokens per request by day", "count"),
    ("ledger.by_day", "day", "output_tokens", "Output tokens by day", "count"),
)
"""Place of the days, key of the day, key of the value, title, kind."""


@dataclass(frozen=True, slots=True)
class _Bars:
    """A bar for each day; ``paths`` are those of the values."""

    days: list[date]
    values: list[float]
    paths: list[str]
    kind: Kind


def day_charts(numbers: Numbers) -> tuple[Plot, ...]:
    """Return the charts of the ledger's days; none for less than two days."""
    charts = []
    for place, day_key, key, title, kind in _CHARTS:
        entries = [
            (index, entry)
            for index, entry in enumerate(_entries(numbers, place))
            if entry[day_key] and entry[key] is not None
        ][-_MOST_DAYS:]
        if len(entries) >= _MIN_DAYS and any(float(entry[key]) for _, entry in entries):
            days = [date.fromisoformat(entry[day_key][:10]) for _, entry in entries]
            paths = [f"{place}[{index}].{key}" for index, _ in entries]
            values = [float(entry[key]) for _, entry in entries]
            bars = _Bars(days, values, paths, kind)
            charts.append(Plot(title, "", _draw(numbers, bars, name=key, title=title)))
    return tuple(charts)


def _entries(numbers: Numbers, place: str) -> list[dict[str, Any]]:
    """The days of the ledger, or of the view over time."""
    whole, _, key = place.partition(".")
    return list((numbers.data.get(whole) or {}).get(key) or ())


def _draw(numbers: Numbers, bars: _Bars, *, name: str, title: str) -> Markup:
    days, values = bars.days, bars.values
    places = [(day - days[0]).days for day in days]
    drawing = Drawing(f"day-{name.replace('_', '-')}", width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
    x = Scale(-0.6, places[-1] + 0.6, 0, _WIDTH_PX)
    y = Scale(0, (max(values) or 1.0) * 1.02, 0.84 * _HEIGHT_PX, 0.14 * _HEIGHT_PX)
    for place, value in zip(places, values, strict=True):
        upper = y(value)
        drawing.bar(x(place - 0.4), upper, x(0.8) - x(0), y.start_px - upper, "t2")
    drawing.line([(0, y.start_px), (_WIDTH_PX, y.start_px)], "rule", width=0.8)
    peak = values.index(max(values))
    shown = numbers.show(bars.paths[peak], bars.kind)
    if shown is not None:
        share = places[peak] / places[-1]
        # Inside the chart: at its ends the number stands beside the middle of the bar.
        side = "start" if share < 0.15 else "end" if share > 0.85 else "middle"
        drawing.text(x(places[peak]), y(values[peak]) - 5, shown, anchor=side)
    for at, day, side in ((0.0, days[0], "start"), (_WIDTH_PX, days[-1], "end")):
        under = y.start_px + 15
        drawing.text(at, under, day_words(day), anchor=side, color="muted")
    return drawing.svg(
        f"{title}, {day_words(days[0])} to {day_words(days[-1])}; the most "
        f"{shown.text if shown else ''} on {day_words(days[peak])}"
    )
