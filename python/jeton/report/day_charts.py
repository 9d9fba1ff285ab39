"""Charts over days: cost and tokens of each day of a log, from zero."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from jeton.report.numbers import Kind, Numbers, Shown
from jeton.report.svg import PALETTE, Labels, chart_style, new_figure, to_svg
from jeton.report.workload import day_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DayChart", "day_charts"]

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


@dataclass(frozen=True, slots=True)
class DayChart:
    """A drawn chart with its heading."""

    title: str
    svg: Markup


def day_charts(numbers: Numbers) -> tuple[DayChart, ...]:
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
            charts.append(DayChart(title, _draw(numbers, bars, name=key, title=title)))
    return tuple(charts)


def _entries(numbers: Numbers, place: str) -> list[dict[str, Any]]:
    """The days of the ledger, or of the view over time."""
    whole, _, key = place.partition(".")
    return list((numbers.data.get(whole) or {}).get(key) or ())


def _draw(numbers: Numbers, bars: _Bars, *, name: str, title: str) -> Markup:
    days, values = bars.days, bars.values
    xs = [(day - days[0]).days for day in days]
    top = max(values) or 1.0
    labels = Labels()
    name = f"day-{name.replace('_', '-')}"
    with chart_style(name):
        figure = new_figure(width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
        axes: Axes = figure.add_axes((0.0, 0.16, 1.0, 0.7))
        axes.set_xlim(-0.6, xs[-1] + 0.6)
        axes.set_ylim(0, top * 1.02)
        axes.set_yticks([])
        axes.set_xticks([])
        axes.bar(xs, values, width=0.8, color=PALETTE["t2"], linewidth=0)
        peak = values.index(max(values))
        shown = numbers.show(bars.paths[peak], bars.kind)
        _peak(axes, labels, xs[peak], top, xs[-1], shown)
        for place, day, side in ((0.0, days[0], "left"), (1.0, days[-1], "right")):
            axes.text(
                place,
                -0.06,
                labels(day_words(day)),
                transform=axes.transAxes,
                ha=side,
                va="top",
                fontsize=10.5,
                color=PALETTE["muted"],
            )
        alt = (
            f"{title}, {day_words(days[0])} to {day_words(days[-1])}; the most "
            f"{shown.text if shown else ''} on {day_words(days[peak])}"
        )
        return to_svg(figure, name=name, alt=alt, labels=labels)


def _peak(
    axes: Axes, labels: Labels, x: float, top: float, last: float, shown: Shown | None
) -> None:
    """The number of the highest bar above it, inside the chart."""
    if shown is None:
        return
    side = "left" if x < 0.15 * last else "right" if x > 0.85 * last else "center"
    axes.text(
        x,
        top * 1.05,
        labels(shown),
        ha=side,
        va="bottom",
        fontsize=11,
        color=PALETTE["ink"],
        clip_on=False,
    )
