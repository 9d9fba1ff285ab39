"""A replayed trace drawn: memory and queue over time, and the times to the first token.

Lines differ by colour and by dashes, and are named below the plot: nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from jeton.report.axes import Scale, draw_grid, linear_ticks, log_ticks
from jeton.report.numbers import Kind, Numbers, write_number
from jeton.report.svg import N_LOOKS, Drawing
from jeton.report.tree import Plot
from jeton.report.visible import visible

_WIDTH_PX, _PLOT_PX, _LINE_PX = 340.0, 142.5, 17.0
_HEAD_PX, _FOOT_PX = 7.5, 22.0
_CHAR_PX = 6.1
"""Room that a character of 11 px text takes."""
_LEFT_PX, _RIGHT_PX = 58.0, 326.0
_MAX_NAME_CHARS = 38
_LEAST_SECONDS = 1e-3
"""Where a logarithmic axis of times begins at the earliest."""


@dataclass(frozen=True, slots=True)
class _Line:
    label: str
    look: int
    xs: Sequence[float]
    ys: Sequence[float]
    said: str


def simulation_charts(numbers: Numbers) -> tuple[Plot, ...]:
    """Draw the replay: policies with the tokenizer in use, then tokenizers under one policy."""
    data = numbers.data.get("traffic")
    if not data:
        return ()
    charts = []
    policies, tokenizers = _first_runs(data), _dynamic_runs(data)
    comparisons = [("policy", "by policy", policies)]
    if len(tokenizers) > 1:
        policy = data["runs"][tokenizers[0]]["policy"]
        comparisons.append(("tokenizer", f"by tokenizer, {policy}", tokenizers))
    for key, words, runs in comparisons:
        is_red = any(is_overloaded(data, data["runs"][run]) for run in runs)
        red = "; red line: the last request has come, and the GPU is behind" if is_red else ""
        names = {run: _name(data["runs"][run][key]) for run in runs}
        charts.append(
            Plot(
                "Memory over time",
                f"{words}; given to requests, most in each stretch; dashed line: all there is",
                _over_time(data, f"memory-{key}", runs, names, "peak_bytes", "bytes"),
            )
        )
        charts.append(
            Plot(
                "Queue over time",
                f"{words}; requests that wait{red}",
                _over_time(data, f"queue-{key}", runs, names, "waiting", "count"),
            )
        )
        if any(data["runs"][run]["ttft_quantiles_seconds"] for run in runs):
            charts.append(
                Plot(
                    "Time to the first token",
                    f"{words}; share of the requests that had it by then",
                    _distribution(data, f"ttft-{key}", runs, names),
                )
            )
    return tuple(charts)


def _over_time(
    data: dict[str, Any],
    name: str,
    runs: list[int],
    names: dict[int, str],
    key: str,
    kind: Kind,
) -> Markup:
    lines = []
    for look, index in enumerate(runs):
        run = data["runs"][index]
        series = run["series"]
        values = [float(value) for value in series[key]]
        minutes = [(i + 0.5) * series["seconds"] / 60 for i in range(len(values))]
        most = max(values, default=0.0)
        said = f"{names[index]}: at most {_write(most, kind)}"
        if key == "peak_bytes":
            said += f", {run['n_preemptions']:,} preemptions"
        lines.append(_Line(names[index], look % N_LOOKS, minutes, values, said))

    top = max((max(line.ys, default=0.0) for line in lines), default=0.0)
    budget = float(data["runs"][runs[0]]["budget_bytes"]) if key == "peak_bytes" else None
    top = max(top, budget or 0.0)
    last = max((line.xs[-1] for line in lines if line.xs), default=1.0)
    overloaded = [data["runs"][i] for i in runs if is_overloaded(data, data["runs"][i])]
    if key == "waiting" and overloaded:
        last = max(last, data["trace"]["duration_seconds"] / 60)
    is_behind = key == "waiting" and bool(overloaded)
    plot = _Curves(
        name,
        lines,
        Scale(0, last * 1.01, _LEFT_PX, _RIGHT_PX),
        (0, top * 1.06 or 1.0),
        head_px=_HEAD_PX + _LINE_PX if is_behind else _HEAD_PX,
    )
    draw_grid(
        plot.drawing,
        plot.x,
        plot.y,
        x_ticks=linear_ticks(plot.x, 5),
        # No zero on the upright axis: it would meet that of the level one.
        y_ticks=[y for y in linear_ticks(plot.y, 5, is_integer=kind == "count") if y],
        write_x=lambda x: f"{x:.6g} min" if x else "0",
        write_y=lambda y: _write(y, kind),
    )
    if budget is not None:
        at = plot.y(budget)
        plot.drawing.line([(_LEFT_PX, at), (_RIGHT_PX, at)], "ink", width=0.9, dashes="3.6 2.7")
    plot.draw_lines()
    if is_behind:
        _draw_overload(plot, data, overloaded[0])
    return plot.drawing.svg("; ".join(line.said for line in lines))


def is_overloaded(data: dict[str, Any], run: dict[str, Any]) -> bool:
    """True if a run could not keep up, as the report says of it or of one like it."""
    capacity = data.get("capacity")
    if capacity is None or capacity["keeps_up"]:
        return False
    # The others are judged as that one: by how much longer the work goes on.
    duration = data["trace"]["duration_seconds"]
    return bool(run["end_seconds"] > 1.1 * duration and run["n_backlog"] > 0)


def _draw_overload(plot: _Curves, data: dict[str, Any], run: dict[str, Any]) -> None:
    """Draws a red line where the last request comes, while others still wait."""
    at = plot.x(data["trace"]["duration_seconds"] / 60)
    plot.drawing.line([(at, plot.y.start_px), (at, plot.y.end_px)], "error", width=1.4)
    words = f"cannot keep up: {run['n_backlog']:,} behind"
    half = _CHAR_PX * len(words) / 2
    place = min(max(at, half), _WIDTH_PX - half)
    plot.drawing.text(place, plot.y.end_px - 5, words, anchor="middle", color="error")


def _distribution(
    data: dict[str, Any], name: str, runs: list[int], names: dict[int, str]
) -> Markup:
    lines = []
    for look, index in enumerate(runs):
        run = data["runs"][index]
        times = [max(float(t), _LEAST_SECONDS) for t in run["ttft_quantiles_seconds"]]
        if times:
            steps = len(times) - 1
            shares = [i / steps for i in range(len(times))]
            ttft = run["ttft_seconds"]
            said = (
                f"{names[index]}: half by {_write(ttft['p50'], 'seconds')}, "
                f"99 of 100 by {_write(ttft['p99'], 'seconds')}"
            )
            lines.append(_Line(names[index], look % N_LOOKS, times, shares, said))

    x = Scale(
        min((line.xs[0] for line in lines), default=1.0) * 0.8,
        max((line.xs[-1] for line in lines), default=1.0) * 1.3,
        _LEFT_PX,
        _RIGHT_PX,
        is_log=True,
    )
    plot = _Curves(name, lines, x, (0, 1.02))
    draw_grid(
        plot.drawing,
        plot.x,
        plot.y,
        x_ticks=log_ticks(x, 6),
        y_ticks=(0.5, 0.95),
        write_x=lambda value: _write(value, "seconds"),
        write_y=lambda value: f"{value:.0%}",
    )
    plot.draw_lines()
    return plot.drawing.svg("; ".join(line.said for line in lines))


class _Curves:
    """Lines over one another, with their names below."""

    def __init__(
        self,
        name: str,
        lines: list[_Line],
        x: Scale,
        height: tuple[float, float],
        *,
        head_px: float = _HEAD_PX,
    ) -> None:
        self._lines = lines
        self._names_px = head_px + _PLOT_PX + _FOOT_PX
        self.drawing = Drawing(
            name, width_px=_WIDTH_PX, height_px=self._names_px + _LINE_PX * len(lines) + 6
        )
        self.x = x
        self.y = Scale(*height, head_px + _PLOT_PX, head_px)

    def draw_lines(self) -> None:
        for row, line in enumerate(self._lines):
            color = f"t{line.look}"
            places = [(self.x(x), self.y(y)) for x, y in zip(line.xs, line.ys, strict=True)]
            if places:
                self.drawing.line(places, color, look=line.look)
            at = self._names_px + _LINE_PX * (row + 0.6)
            self.drawing.line([(58, at), (90, at)], color, width=1.8, look=line.look)
            self.drawing.text(97, at + 4, line.label)


def _write(value: float, kind: Kind) -> str:
    if kind == "bytes":
        digits, _, unit = write_number(Decimal(f"{value:.4g}"), kind).partition("\u00a0")
        return f"{float(digits.replace(',', '')):g}\u00a0{unit}"
    if kind == "seconds" and value >= 1:
        return f"{value:,.0f}\u00a0s" if value >= 10 else f"{value:.3g}\u00a0s"
    return write_number(Decimal(f"{value:.4g}"), kind)


def _name(name: str) -> str:
    shown = visible(name)
    return shown if len(shown) <= _MAX_NAME_CHARS else shown[: _MAX_NAME_CHARS - 1] + "\u2026"


def _first_runs(data: dict[str, Any]) -> list[int]:
    """Places of the runs of the tokenizer in use, one for each policy."""
    runs = data["runs"]
    return [i for i, run in enumerate(runs) if run["tokenizer"] == runs[0]["tokenizer"]]


def _dynamic_runs(data: dict[str, Any]) -> list[int]:
    """Places of the runs of each tokenizer under one policy: ``dynamic``, or else the first."""
    runs = data["runs"]
    names = [run["policy"] for run in runs]
    policy = "dynamic" if "dynamic" in names else names[0]
    return [i for i, run in enumerate(runs) if run["policy"] == policy]
