"""A replayed trace drawn: memory and queue over time, and the times to the first token.

Lines differ by colour and by dashes, and are named below the plot: nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from jeton.report.numbers import Kind, Numbers, write_number
from jeton.report.simulation_views import dynamic_runs, first_runs
from jeton.report.svg import PALETTE, Labels, chart_style, new_figure, to_svg
from jeton.report.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SimulationChart", "simulation_charts"]

_WIDTH_PX, _PLOT_PX, _LINE_PX = 340.0, 150.0, 17.0
_DASHES: tuple[Any, ...] = (
    "solid",
    (0, (5, 2)),
    (0, (1.5, 1.5)),
    (0, (6, 2, 1.5, 2)),
    (0, (9, 3)),
    (0, (3, 1, 1, 1, 1, 1)),
)
_N_LOOKS = 6
_MAX_NAME_CHARS = 38
_LEAST_SECONDS = 1e-3
"""Where a logarithmic axis of times begins at the earliest."""


@dataclass(frozen=True, slots=True)
class SimulationChart:
    """A plot with its title and a word on how to read it."""

    title: str
    hint: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class _Line:
    label: str
    look: int
    xs: Sequence[float]
    ys: Sequence[float]
    said: str


def simulation_charts(numbers: Numbers) -> tuple[SimulationChart, ...]:
    """Draw the replay: policies with the tokenizer in use, then tokenizers under one policy."""
    data = numbers.data.get("traffic")
    if not data:
        return ()
    charts = []
    policies, tokenizers = first_runs(data), dynamic_runs(data)
    comparisons = [("policy", "by policy", policies)]
    if len(tokenizers) > 1:
        policy = data["runs"][tokenizers[0]]["policy"]
        comparisons.append(("tokenizer", f"by tokenizer, {policy}", tokenizers))
    for key, words, runs in comparisons:
        is_red = any(is_overloaded(data, data["runs"][run]) for run in runs)
        red = "; red line: the last request has come, and the GPU is behind" if is_red else ""
        names = {run: _name(data["runs"][run][key]) for run in runs}
        charts.append(
            SimulationChart(
                "Memory over time",
                f"{words}; given to requests, most in each stretch; dashed line: all there is",
                _over_time(data, f"memory-{key}", runs, names, "peak_bytes", "bytes"),
            )
        )
        charts.append(
            SimulationChart(
                "Queue over time",
                f"{words}; requests that wait{red}",
                _over_time(data, f"queue-{key}", runs, names, "waiting", "count"),
            )
        )
        if any(data["runs"][run]["ttft_quantiles_seconds"] for run in runs):
            charts.append(
                SimulationChart(
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
        lines.append(_Line(names[index], look % _N_LOOKS, minutes, values, said))

    def finish(axes: Axes) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        top = max((max(line.ys, default=0.0) for line in lines), default=0.0)
        if key == "peak_bytes":
            budget = float(data["runs"][runs[0]]["budget_bytes"])
            axes.axhline(budget, color=PALETTE["ink"], linewidth=0.9, linestyle=(0, (4, 3)))
            top = max(top, budget)
        overloaded = [data["runs"][i] for i in runs if is_overloaded(data, data["runs"][i])]
        if key == "waiting" and overloaded:
            _draw_overload(axes, data, overloaded[0], top)
        axes.set_ylim(0, top * 1.06 or 1.0)
        axes.set_xlim(0, max((line.xs[-1] for line in lines if line.xs), default=1.0) * 1.01)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        # No zero on the upright axis: it would meet that of the level one.
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} min" if x else "0"))
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=kind == "count"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _write(y, kind) if y else ""))

    return _draw(name, lines, finish, "; ".join(line.said for line in lines))


def is_overloaded(data: dict[str, Any], run: dict[str, Any]) -> bool:
    """True if a run could not keep up, as the report says of it or of one like it."""
    capacity = data.get("capacity")
    if capacity is None or capacity["keeps_up"]:
        return False
    # The others are judged as that one: by how much longer the work goes on.
    duration = data["trace"]["duration_seconds"]
    return bool(run["end_seconds"] > 1.1 * duration and run["n_backlog"] > 0)


def _draw_overload(axes: Axes, data: dict[str, Any], run: dict[str, Any], top: float) -> None:
    """A red line where the last request comes, while others still wait."""
    minutes = data["trace"]["duration_seconds"] / 60
    axes.axvline(minutes, color=PALETTE["error"], linewidth=1.4)
    axes.text(
        minutes,
        top * 1.04,
        f"  cannot keep up: {run['n_backlog']:,} behind",
        color=PALETTE["error"],
        fontsize=11,
        ha="left",
        va="top",
    )


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
            lines.append(_Line(names[index], look % _N_LOOKS, times, shares, said))

    def finish(axes: Axes) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axes.set_xscale("log")
        # Ticks are powers of ten: those at the edge would be cut off.
        axes.set_xlim(
            min((line.xs[0] for line in lines), default=1.0) * 0.8,
            max((line.xs[-1] for line in lines), default=1.0) * 1.3,
        )
        axes.set_ylim(0, 1.02)
        axes.set_yticks([0.5, 0.95])
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=6))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _write(x, "seconds")))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.0%}"))

    return _draw(name, lines, finish, "; ".join(line.said for line in lines))


def _draw(name: str, lines: list[_Line], finish: Callable[[Axes], None], alt: str) -> Markup:
    labels = Labels()
    legend = _LINE_PX * len(lines) + 6
    height = _PLOT_PX + legend + 24
    with chart_style(name):
        figure = new_figure(width_px=_WIDTH_PX, height_px=height)
        axes: Axes = figure.add_axes((0.17, (legend + 22) / height, 0.79, _PLOT_PX / height * 0.95))
        for line in lines:
            axes.plot(
                line.xs,
                line.ys,
                color=PALETTE[f"t{line.look}"],
                linewidth=1.5,
                linestyle=_DASHES[line.look],
            )
        finish(axes)
        axes.grid(visible=True, color=PALETTE["rule"], linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0, pad=5)
        names: Axes = figure.add_axes((0.0, 0.0, 1.0, legend / height))
        names.axis("off")
        names.set_xlim(0, _WIDTH_PX)
        names.set_ylim(0, legend)
        for row, line in enumerate(lines):
            y = legend - _LINE_PX * (row + 0.6)
            names.plot(
                [58, 90],
                [y, y],
                color=PALETTE[f"t{line.look}"],
                linewidth=1.8,
                linestyle=_DASHES[line.look],
            )
            names.text(97, y, labels(line.label), va="center", fontsize=11.5)
        return to_svg(figure, name=name, alt=alt, labels=labels)


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
