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

__all__ = ["output_html"]

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
