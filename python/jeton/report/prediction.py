"""Pages of predictions: plots of coverage and of memory, tables, and the figures as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jeton.report.plans.curves import Curve, curves_chart
from jeton.report.result_page import Opening, PageTable, Sum, result_html
from jeton.report.tree import Plot
from jeton.report.visible import visible

if TYPE_CHECKING:
    from markupsafe import Markup

    from jeton.planning.prediction import OutputPrediction
    from jeton.planning.prediction.memory import MemoryPrediction


def output_html(found: OutputPrediction) -> str:
    """Return the page of predicted output lengths."""
    overall = found.overall
    header = [*found.fields] or ["traffic"]
    coverage_rows = [
        (
            *(visible(value) or "(none)" for value in route.group or ("all",)),
            f"{route.n_judged:,}",
            f"{route.coverage_share:.1%}" + (" (too few)" if route.is_few else ""),
            f"{route.upper_coverage_share:.1%}",
            f"{route.frozen_coverage_share:.1%}",
            f"{route.median_width_tokens:,.0f}",
            f"{route.median_output_tokens:,.0f}",
        )
        for route in found.routes
    ]
    interval_rows = [
        (
            *(visible(value) or "(none)" for value in item.group or ("all",)),
            f"{item.prompt_tokens:,}+",
            f"{item.interval.lower_tokens:,} to {item.interval.upper_tokens:,}"
            if item.interval
            else "",
            f"{item.upper_tokens:,}" if item.upper_tokens is not None else "",
            f"{item.interval.n_history:,}" if item.interval else "",
        )
        for item in found.intervals
    ]
    drifts = [
        f"{visible(', '.join(drift.group)) or 'all'}: {drift.longer_share:.0%} of the last "
        f"{drift.n_now:,} answers are longer than the earlier bound, where "
        f"{drift.expected_longer_share:.0%} were"
        for drift in found.drifts
    ]
    return result_html(
        found.to_dict(),
        title="Lengths of answers, foreseen",
        opening=_output_opening(found),
        words=[
            f"{found.n_calibrated:,} requests taught; {overall.n_judged:,} later ones judge",
            f"{overall.coverage_share:.1%} of the later answers were within their interval; the "
            f"aim is {found.coverage:.0%}",
            *(drifts or ["No group's answers have become longer or shorter"]),
        ],
        plots=[
            Plot(
                "Share within the interval",
                "over later traffic; the thin dashed line is the aim",
                _coverage_chart(found),
            )
        ],
        grids=[
            PageTable(
                "Coverage on later traffic",
                (
                    *header,
                    "Requests",
                    "Held",
                    "Below the bound",
                    "Held, frozen",
                    "Median width",
                    "Median answer",
                ),
                tuple(coverage_rows),
            ),
            PageTable(
                "Intervals of the next requests",
                (*header, "Prompt", "Interval", "Bound", "History"),
                tuple(interval_rows),
            ),
        ],
    )


def _output_opening(found: OutputPrediction) -> Opening:
    """The trust that the intervals deserve, beside the aim."""
    held, aim = found.overall.coverage_share, found.coverage
    drifted = [visible(", ".join(drift.group)) or "all" for drift in found.drifts]
    if drifted:
        action = f"Look at {', '.join(drifted[:3])}: answers are longer or shorter than before"
    elif held < aim - 0.02:
        action = "Plan with wider limits: the intervals held less often than they should"
    else:
        action = "Plan with these intervals: they held on later traffic"
    return Opening(
        action, (Sum("Aim", f"{aim:.0%}"), Sum("Held", f"{held:.1%}", "of later answers"))
    )


def _coverage_chart(found: OutputPrediction) -> Markup:
    curves = [
        Curve(name, tuple((float(n), pair[place]) for n, pair in enumerate(found.stretches)))
        for place, name in enumerate(("corrected online", "left as they were"))
    ]
    return curves_chart(
        "coverage",
        curves,
        alt=f"Share of answers within their interval, later traffic; aim {found.coverage:.0%}: "
        + ", ".join(f"{held:.1%}" for held, _ in found.stretches),
        write_x=lambda value: f"{value + 1:g}" if value >= 0 else "",
        write_y=lambda value: f"{value:.0%}",
        from_zero=False,
        limit=found.coverage,
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
    series = {"expected": [forecast.now_bytes, *forecast.expected_bytes[:n]]}
    if forecast.low_bytes:
        series["low"] = [forecast.now_bytes, *forecast.low_bytes[:n]]
    if forecast.high_bytes:
        series["high"] = [forecast.now_bytes, *forecast.high_bytes[:n]]
    plots = [
        Plot(
            "Memory from now on",
            "GiB by minutes; the thin dashed line is what the GPUs have",
            _memory_chart("memory", [0.0, *inside], series, forecast.capacity_bytes),
        )
    ]
    if len(found.past) > 1:
        past = sorted(found.past)
        came = {"what came": 4, "low": 2, "high": 3}
        plots.append(
            Plot(
                "Past moments, foreseen a horizon before",
                "GiB by minutes",
                _memory_chart(
                    "past",
                    [row[0] for row in past],
                    {name: [row[place] for row in past] for name, place in came.items()},
                    forecast.capacity_bytes,
                ),
            )
        )
    return result_html(
        found.to_dict(),
        title="Memory of the next minutes",
        opening=_memory_opening(found),
        words=[
            f"{visible(found.model)} on {found.n_gpus} x {visible(found.gpu)}: {forecast.in_words}",
            judged,
        ],
        plots=plots,
        grids=[
            PageTable(
                "Forecast",
                ("In", "Expected GiB", "Interval GiB", "Of capacity"),
                tuple(tuple(row) for row in rows),
            )
        ],
    )


def _memory_opening(found: MemoryPrediction) -> Opening:
    """The forecast in words, and memory now beside memory then."""
    forecast = found.forecast
    inside = [n for n, s in enumerate(forecast.seconds) if s <= forecast.horizon_seconds]
    of = f"of {forecast.capacity_bytes / _GIB:,.2f} GiB"
    sums = [Sum("Now", f"{forecast.now_bytes / _GIB:,.2f} GiB", of)]
    if inside:
        then = forecast.expected_bytes[inside[-1]] / _GIB
        minutes = forecast.seconds[inside[-1]] / 60
        sums.append(Sum(f"In {minutes:,.3g} minutes, expected", f"{then:,.2f} GiB", of))
    calm = "Nothing to do: " if forecast.in_words.startswith("not full") else ""
    return Opening(calm + forecast.in_words, tuple(sums))


def _memory_chart(
    name: str, seconds: Sequence[float], series: Mapping[str, Sequence[float]], capacity: int
) -> Markup:
    """Lines over minutes; the capacity where it is in sight."""
    highest, limit = max(map(max, series.values())) / _GIB, capacity / _GIB
    curves = [
        Curve(said, tuple((s / 60, v / _GIB) for s, v in zip(seconds, values, strict=True)))
        for said, values in series.items()
    ]
    first, last = curves[0].points[0][1], curves[0].points[-1][1]
    return curves_chart(
        name,
        curves,
        alt=f"Memory of requests in GiB over {(seconds[-1] - seconds[0]) / 60:.0f} minutes: "
        f"{first:.2f} to {last:.2f}; the GPUs have {limit:.2f}",
        write_x=lambda value: f"{value:g}",
        write_y=lambda value: f"{value:g}",
        limit=limit if limit <= 3 * highest else None,
    )
