"""Pages of predictions: plots of coverage and of memory, tables, and the figures as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jeton.report.axes import Scale, draw_grid, linear_ticks
from jeton.report.json_report import embed_json
from jeton.report.svg import Drawing
from jeton.report.visible import visible

if TYPE_CHECKING:
    from markupsafe import Markup

    from jeton.planning.prediction import OutputPrediction
    from jeton.planning.prediction.memory import MemoryPrediction

__all__ = ["memory_html", "output_html"]

_WIDTH_PX = 460.0
_HEIGHT_PX = 230.0
_BOX_PX = (48.0, 448.0, 12.0, 204.0)
"""Left, right, top and bottom of the plane."""


@dataclass(frozen=True, slots=True)
class _Plot:
    title: str
    hint: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class _Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def _page(
    data: dict[str, Any],
    *,
    title: str,
    words: Sequence[str],
    plots_title: str,
    plots: Sequence[_Plot],
    tables: Sequence[_Table],
) -> str:
    from jeton.report.page import asset, environment

    context = {
        "data": data,
        "title": title,
        "words": words,
        "plots_title": plots_title,
        "plots": plots,
        "tables": tables,
        "css": asset("report.css"),
        "embedded": embed_json(data),
        "version": data["jeton_version"],
    }
    return environment().get_template("prediction.html.j2").render(context)


def output_html(found: OutputPrediction) -> str:
    """Return the page of predicted output lengths."""
    overall = found.overall
    header = [*found.fields] or ["traffic"]
    coverage_rows = [
        [
            *(visible(value) or "(none)" for value in route.group or ("all",)),
            f"{route.n_judged:,}",
            f"{route.coverage_share:.1%}" + (" (too few)" if route.is_few else ""),
            f"{route.upper_coverage_share:.1%}",
            f"{route.frozen_coverage_share:.1%}",
            f"{route.median_width_tokens:,.0f}",
            f"{route.median_output_tokens:,.0f}",
        ]
        for route in found.routes
    ]
    interval_rows = [
        [
            *(visible(value) or "(none)" for value in item.group or ("all",)),
            f"{item.prompt_tokens:,}+",
            f"{item.interval.lower_tokens:,} to {item.interval.upper_tokens:,}"
            if item.interval
            else "",
            f"{item.upper_tokens:,}" if item.upper_tokens is not None else "",
            f"{item.interval.n_history:,}" if item.interval else "",
        ]
        for item in found.intervals
    ]
    drifts = [
        f"{visible(', '.join(drift.group)) or 'all'}: {drift.longer_share:.0%} of the last "
        f"{drift.n_now:,} answers are longer than the earlier bound, where "
        f"{drift.expected_longer_share:.0%} were"
        for drift in found.drifts
    ]
    return _page(
        found.to_dict(),
        title="Lengths of answers, foreseen",
        words=[
            f"{found.n_calibrated:,} requests taught; {overall.n_judged:,} later ones judge",
            f"{overall.coverage_share:.1%} of the later answers were within their interval; the "
            f"aim is {found.coverage:.0%}",
            *(drifts or ["No group's answers have become longer or shorter"]),
        ],
        plots_title="Coverage on later traffic",
        plots=[
            _Plot(
                "Share within the interval",
                "solid: corrected online; dashed: intervals of the earlier half, left as they were",
                _coverage_chart(found),
            )
        ],
        tables=[
            _Table(
                "Coverage on later traffic",
                [
                    *header,
                    "Requests",
                    "Held",
                    "Below the bound",
                    "Held, frozen",
                    "Median width",
                    "Median answer",
                ],
                coverage_rows,
            ),
            _Table(
                "Intervals of the next requests",
                [*header, "Prompt", "Interval", "Bound", "History"],
                interval_rows,
            ),
        ],
    )


def _coverage_chart(found: OutputPrediction) -> Markup:
    left, right, top, bottom = _BOX_PX
    drawing = Drawing("coverage", width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
    values = [share for pair in found.stretches for share in pair] or [found.coverage]
    low = max(0.0, min(*values, found.coverage - 0.05) - 0.02)
    x = Scale(0, max(1, len(found.stretches) - 1), left, right)
    y = Scale(low, 1.0, bottom, top)
    draw_grid(
        drawing,
        x,
        y,
        x_ticks=[],
        y_ticks=linear_ticks(y, 5),
        write_x=lambda value: f"{value:g}",
        write_y=lambda value: f"{value:.0%}",
    )
    drawing.line([(left, y(found.coverage)), (right, y(found.coverage))], "muted", width=1.0)
    for index, (color, dashes) in enumerate((("t0", ""), ("t1", "5 3"))):
        line = [(x(place), y(pair[index])) for place, pair in enumerate(found.stretches)]
        if len(line) > 1:
            drawing.line(line, color, width=1.8, dashes=dashes)
    drawing.text(left, bottom + 16, "earlier", color="muted")
    drawing.text(right, bottom + 16, "later", anchor="end", color="muted")
    return drawing.svg(
        f"Share of answers within their interval, over later traffic; aim {found.coverage:.0%}: "
        + ", ".join(f"{held:.1%}" for held, _ in found.stretches)
    )


_GIB = 2**30


def memory_html(found: MemoryPrediction) -> str:
    """Return the page of predicted memory."""
    forecast = found.forecast
    rows = [
        [
            f"{seconds / 60:,.1f} min",
            f"{forecast.expected_bytes[place] / _GIB:,.2f}",
            f"{forecast.low_bytes[place] / _GIB:,.2f} to {forecast.high_bytes[place] / _GIB:,.2f}"
            if forecast.low_bytes
            else "",
            f"{forecast.expected_bytes[place] / forecast.capacity_bytes:.0%}",
        ]
        for place, seconds in enumerate(forecast.seconds)
    ]
    judged = (
        f"On the later half of the input, {found.coverage_share:.1%} of {found.n_judged:,} "
        f"forecasts were within their interval; the aim is {forecast.coverage:.0%}"
        if found.n_judged
        else "The input is too short for an interval"
    )
    inside = [s for s in forecast.seconds if s <= forecast.horizon_seconds]
    n = len(inside)
    plots = [
        _Plot(
            "Memory from now on",
            "solid: expected; dashed: interval; grey: what the GPUs have",
            _band_chart(
                "memory",
                [0.0, *inside],
                [
                    [forecast.now_bytes, *forecast.expected_bytes[:n]],
                    *(
                        [[forecast.now_bytes, *forecast.low_bytes[:n]]]
                        if forecast.low_bytes
                        else []
                    ),
                    *(
                        [[forecast.now_bytes, *forecast.high_bytes[:n]]]
                        if forecast.high_bytes
                        else []
                    ),
                ],
                forecast.capacity_bytes,
            ),
        )
    ]
    if len(found.past) > 1:
        past = sorted(found.past)
        plots.append(
            _Plot(
                "Past moments, foreseen a horizon before",
                "solid: what came; dashed: interval",
                _band_chart(
                    "past",
                    [row[0] for row in past],
                    [[row[place] for row in past] for place in (4, 2, 3)],
                    forecast.capacity_bytes,
                ),
            )
        )
    return _page(
        found.to_dict(),
        title="Memory of the next minutes",
        words=[
            f"{visible(found.model)} on {found.n_gpus} x {visible(found.gpu)}: {forecast.in_words}",
            judged,
        ],
        plots_title="Memory of requests, GiB by minutes",
        plots=plots,
        tables=[_Table("Forecast", ["In", "Expected GiB", "Interval GiB", "Of capacity"], rows)],
    )


def _band_chart(
    name: str, seconds: Sequence[float], series: Sequence[Sequence[float]], capacity: int
) -> Markup:
    """Lines over time: the first solid, the others dashed; the capacity where it is in sight."""
    left, right, top, bottom = _BOX_PX
    drawing = Drawing(name, width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
    highest = max(max(values) for values in series) / _GIB
    limit = capacity / _GIB
    if highest < limit <= 3 * highest:
        highest = limit
    minutes = [second / 60 for second in seconds]
    x = Scale(minutes[0], max(minutes[-1], minutes[0] + 1e-6), left, right)
    y = Scale(0.0, max(highest, 1e-3) * 1.05, bottom, top)
    draw_grid(
        drawing,
        x,
        y,
        x_ticks=linear_ticks(x, 5),
        y_ticks=linear_ticks(y, 5),
        write_x=lambda value: f"{value:g}",
        write_y=lambda value: f"{value:g}",
    )
    if y.holds(limit):
        drawing.line([(left, y(limit)), (right, y(limit))], "muted", width=1.2)
    for place, values in enumerate(series):
        line = [(x(t), y(value / _GIB)) for t, value in zip(minutes, values, strict=True)]
        drawing.line(line, "t0" if not place else "t1", dashes="" if not place else "5 3")
    ends = f"{series[0][0] / _GIB:.2f} to {series[0][-1] / _GIB:.2f}"
    return drawing.svg(
        f"Memory of requests in GiB over {minutes[-1] - minutes[0]:.0f} minutes: {ends}; the GPUs "
        f"have {limit:.2f}"
    )
