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

_CHARTS: tuple[tuple[str, str, str, Kind], ...] = (
    ("usd", "Cost by day", "USD", "usd"),
    ("input_tokens", "Input tokens by day", "tokens", "count"),
    ("output_tokens", "Output tokens by day", "tokens", "count"),
)
"""Key of a day, title, unit, kind."""


@dataclass(frozen=True, slots=True)
class DayChart:
    """A drawn chart with its heading."""

    title: str
    svg: Markup


def day_charts(numbers: Numbers) -> tuple[DayChart, ...]:
    """Return the charts of the ledger's days; none for less than two days."""
    ledger = numbers.data.get("ledger") or {}
    entries = [(i, e) for i, e in enumerate(ledger.get("by_day") or ()) if e["day"]]
    entries = entries[-_MOST_DAYS:]
    if len(entries) < _MIN_DAYS:
        return ()
    return tuple(
        DayChart(title, _bars(numbers, entries, key=key, title=title, kind=kind))
        for key, title, _, kind in _CHARTS
        if any(float(entry[key]) for _, entry in entries)
    )


def _bars(
    numbers: Numbers, entries: list[tuple[int, dict[str, Any]]], *, key: str, title: str, kind: Kind
) -> Markup:
    days = [date.fromisoformat(entry["day"]) for _, entry in entries]
    values = [float(entry[key]) for _, entry in entries]
    xs = [(day - days[0]).days for day in days]
    top = max(values) or 1.0
    labels = Labels()
    name = f"day-{key.replace('_', '-')}"
    with chart_style(name):
        figure = new_figure(width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
        axes: Axes = figure.add_axes((0.0, 0.16, 1.0, 0.7))
        axes.set_xlim(-0.6, xs[-1] + 0.6)
        axes.set_ylim(0, top * 1.02)
        axes.set_yticks([])
        axes.set_xticks([])
        axes.bar(xs, values, width=0.8, color=PALETTE["t2"], linewidth=0)
        peak = values.index(top) if top in values else 0
        shown = numbers.show(f"ledger.by_day[{entries[peak][0]}].{key}", kind)
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
