"""Curves over one axis, for the pages of plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from jeton.report.axes import Scale, draw_grid, linear_ticks, log_ticks
from jeton.report.svg import N_LOOKS, Drawing

_WIDTH_PX, _HEIGHT_PX = 340.0, 290.0
_BOX_PX = (51.0, 328.0, 9.0, 191.0)
"""Where the axes lie: left, right, top, bottom; the names of the curves stand below."""
_NAMES_TOP_PX, _NAME_PX = 228.0, 18.0
_NAMES_BESIDE_PX = 150.0
_MOST_MARKERS = 24
"""Points of a curve beyond which the line alone is drawn."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a plot, with the interval of each point where there is one."""

    name: str
    points: tuple[tuple[float, float], ...]
    ends: tuple[tuple[float, float] | None, ...] = ()


def curves_chart(
    name: str,
    curves: Sequence[Curve],
    *,
    alt: str,
    write_x: Callable[[float], str],
    write_y: Callable[[float], str],
    is_log_y: bool = False,
    from_zero: bool = True,
    limit: float | None = None,
) -> Markup:
    """Draw up to six curves over one axis, with their names below and a limit as a dashed line."""
    left, right, top, bottom = _BOX_PX
    drawing = Drawing(name, width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
    shown = [curve for curve in curves if curve.points][:N_LOOKS]
    xs = [x for curve in shown for x, _ in curve.points] or [0.0, 1.0]
    ys = [y for curve in shown for _, y in curve.points]
    ys += [] if limit is None else [limit]
    across = Scale(*_range(xs, from_zero=False), left, right)
    if is_log_y and ys and min(ys) > 0:
        up = Scale(min(ys) / 1.3, max(ys) * 1.3, bottom, top, is_log=True)
        y_ticks = log_ticks(up, 6)
    else:
        up = Scale(*_range(ys or [0.0, 1.0], from_zero=from_zero), bottom, top)
        y_ticks = linear_ticks(up, 5)
    draw_grid(
        drawing,
        across,
        up,
        x_ticks=linear_ticks(across, 6),
        y_ticks=y_ticks,
        write_x=write_x,
        write_y=write_y,
    )
    if limit is not None:
        drawing.line([(left, up(limit)), (right, up(limit))], "ink", width=1.0, dashes="3 3")
    for look, curve in enumerate(shown):
        places = [(across(x), up(min(max(y, up.low), up.high))) for x, y in curve.points]
        for (x, _), end in zip(places, curve.ends, strict=False):
            if end is not None:
                low, high = (up(min(max(value, up.low), up.high)) for value in end)
                drawing.line([(x, low), (x, high)], f"t{look}", width=1.0)
        drawing.line(places, f"t{look}", look=look)
        for x, y in places[: _MOST_MARKERS if len(places) <= _MOST_MARKERS else 0]:
            drawing.marker(x, y, look)
        row, column = divmod(look, 2)
        x, y = left + column * _NAMES_BESIDE_PX, _NAMES_TOP_PX + row * _NAME_PX
        drawing.marker(x, y - 4, look)
        drawing.text(x + 11, y, curve.name)
    return drawing.svg(alt)


def _range(values: Sequence[float], *, from_zero: bool) -> tuple[float, float]:
    """Ends of an axis, with some room."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return (min(0.0, low) if from_zero else low - room), high + room
