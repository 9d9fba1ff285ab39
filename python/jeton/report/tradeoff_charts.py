"""The trade-off as small scatter plots: money against memory, time and quality.

Less is better on every axis. Shape and colour name the candidate, filling says whether it is on the
front, a cross that it breaks a limit, a ring that it is the best: nothing is told by colour alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from jeton.report.evidence_views import objectives
from jeton.report.numbers import Kind, Numbers, Shown, write_number
from jeton.report.svg import PALETTE, Labels, chart_style, new_figure, to_svg
from jeton.report.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TradeOffChart", "tradeoff_charts"]

_WIDTH_PX, _HEIGHT_PX = 340.0, 250.0
_BOX = (0.145, 0.115, 0.795, 0.855)
"""Where the axes lie, as shares of the figure: left, bottom, width, height."""
_MARKERS = ("o", "s", "^", "D", "v", "P")
_N_LOOKS = 6
_CUT_FROM = 0.5
"""Least value over the largest from which an axis does not begin at zero."""
_LOG_RATIO = 20
_MAX_LABELS = 12
"""Beyond so many candidates only the front is named; the table names all."""
_MAX_NAME_CHARS = 24
_CHAR_PX, _LINE_PX = 6.1, 13.0
"""Room that a name is given: a character of 11 px text, and its height."""
_POINT_PX = 7.0
_OUTSIDE_PX = 14.0
"""A name may reach so far beyond the axes, into the margin."""


@dataclass(frozen=True, slots=True)
class TradeOffChart:
    """A plot; ``x`` and ``y`` are what its axes say."""

    svg: Markup
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class _Point:
    name: str
    look: int
    x: Shown
    y: Shown
    is_on_front: bool
    is_best: bool
    is_outside: bool

    @property
    def place(self) -> tuple[float, float]:
        return float(self.x.raw), float(self.y.raw)


def tradeoff_charts(numbers: Numbers) -> tuple[TradeOffChart, ...]:
    """Draw the first known objective (money, where it is known) against each of the others.

    Empty where fewer than two candidates are known in two objectives.
    """
    known = objectives(numbers)
    if len(known) < 2:
        return ()
    charts = []
    x = known[0]
    for index, y in enumerate(known[1:]):
        points = _points(numbers, x, y)
        if len({point.place for point in points}) > 1:
            charts.append(TradeOffChart(_draw(numbers, index, points, x, y), x[1], y[1]))
    return tuple(charts)


_Objective = tuple[str, str, Kind]
_Place = tuple[float, float]
_Segment = tuple[_Place, _Place]


def _points(numbers: Numbers, x: _Objective, y: _Objective) -> list[_Point]:
    data = numbers.data["tradeoff"]
    names = [tokenizer["name"] for tokenizer in numbers.data["tokenizers"]]
    found = []
    for index, point in enumerate(data["points"]):
        path = f"tradeoff.points[{index}]"
        at_x, at_y = numbers.show(f"{path}.{x[0]}", x[2]), numbers.show(f"{path}.{y[0]}", y[2])
        if at_x is None or at_y is None:
            continue
        look = names.index(point["name"]) if point["name"] in names else index
        found.append(
            _Point(
                _short(visible(point["name"])),
                look % _N_LOOKS,
                at_x,
                at_y,
                point["is_on_front"],
                point["name"] == data["best"],
                bool(point["violates"]),
            )
        )
    return found


def _draw(
    numbers: Numbers, index: int, points: list[_Point], x: _Objective, y: _Objective
) -> Markup:
    name = f"tradeoff{index}"
    labels = Labels()
    with chart_style(name):
        figure = new_figure(width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
        figure.set_dpi(72)  # so that its pixels are those of the page, where names are placed
        axes: Axes = figure.add_axes(_BOX)
        axes.spines["left"].set_visible(True)
        _scale(axes, points, numbers, x, y)
        lines = _draw_limits(axes, numbers, x, y) + _draw_front(axes, points)
        for point in points:
            _draw_point(axes, point)
        for label in _placed(axes, points, lines):
            axes.annotate(
                labels(label.point.name),
                label.point.place,
                xytext=label.offset,
                textcoords="offset points",
                ha=label.side,
                va="center",
                fontsize=11,
                fontweight="bold" if label.point.is_best else "normal",
                color=PALETTE["ink"],
            )
        alt = f"{y[1]} against {x[1]}; less is better in both. " + "; ".join(
            f"{point.name} {point.x.text}, {point.y.text}{_words(point)}" for point in points
        )
        return to_svg(figure, name=name, alt=alt, labels=labels)


def _words(point: _Point) -> str:
    words = [
        word
        for word, is_so in (
            ("best", point.is_best),
            ("on the front", point.is_on_front),
            ("outside the limits", point.is_outside),
        )
        if is_so
    ]
    return f" ({', '.join(words)})" if words else ""


def _scale(
    axes: Axes, points: list[_Point], numbers: Numbers, x: _Objective, y: _Objective
) -> None:
    """Set both axes: logarithmic where values spread widely, with room for names."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    for axis, position, objective in ((axes.xaxis, 0, x), (axes.yaxis, 1, y)):
        values = [point.place[position] for point in points]
        limit = _limit(numbers, objective[0])
        low, high = min(values), max(values)
        if limit is not None and low <= limit <= high + (high - low or high) * 0.5:
            high = max(high, limit)
        is_log = low > 0 and high > _LOG_RATIO * low
        set_scale = axes.set_xscale if position == 0 else axes.set_yscale
        set_limits = axes.set_xlim if position == 0 else axes.set_ylim
        if is_log:
            set_scale("log")
            room = (high / low) ** 0.12
            set_limits(low / room, high * room)
            axis.set_major_locator(LogLocator(base=10, numticks=5))
            axis.set_minor_formatter(NullFormatter())
        else:
            room = (high - low) * 0.14 or abs(high) * 0.1 or 1.0
            # From zero, unless the points would lie in a heap: then the cut is marked.
            is_cut = low >= _CUT_FROM * high > 0
            begin = max(low - room, 0.0) if is_cut or low < 0 else 0.0
            set_limits(begin, high + room)
            if begin > 0:
                _mark_cut(axes, position)
            axis.set_major_locator(MaxNLocator(3 if position == 0 else 4))
        axis.set_major_formatter(FuncFormatter(_Ticks(objective[2])))
        axis.set_tick_params(length=0, pad=4)
    axes.grid(visible=True, color=PALETTE["rule"], linewidth=0.6)
    axes.set_axisbelow(True)


def _mark_cut(axes: Axes, position: int) -> None:
    """Two slanted strokes at the beginning of an axis that does not begin at zero."""
    for place in (0.03, 0.055):
        centre = (place, 0.0) if position == 0 else (0.0, place * 1.6)
        xs, ys = (0.012, 0.03) if position == 0 else (0.02, 0.022)
        axes.plot(
            [centre[0] - xs, centre[0] + xs],
            [centre[1] - ys, centre[1] + ys],
            transform=axes.transAxes,
            color=PALETTE["ink"],
            linewidth=1.2,
            clip_on=False,
            zorder=4,
        )


@dataclass(frozen=True, slots=True)
class _Ticks:
    """Writes a tick as the tables write the number."""

    kind: Kind

    def __call__(self, value: float, _position: int) -> str:
        number = Decimal(f"{value:.6g}")
        if self.kind == "usd" and abs(number) >= 10_000:
            return f"${number / 1000:,.4g}k"
        if self.kind in ("bytes", "seconds"):
            digits, _, unit = write_number(number, self.kind).partition("\u00a0")
            return f"{float(digits.replace(',', '')):g}\u00a0{unit}"
        return write_number(number, self.kind)


def _draw_limits(axes: Axes, numbers: Numbers, x: _Objective, y: _Objective) -> list[_Segment]:
    """Draw the user's limits that lie inside the plot, and return them."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    look: dict[str, Any] = {"color": PALETTE["ink"], "linewidth": 1.0, "linestyle": (0, (4, 3))}
    lines: list[_Segment] = []
    at_x, at_y = _limit(numbers, x[0]), _limit(numbers, y[0])
    if at_x is not None and left <= at_x <= right:
        axes.axvline(at_x, **look)
        lines.append(((at_x, bottom), (at_x, top)))
    if at_y is not None and bottom <= at_y <= top:
        axes.axhline(at_y, **look)
        lines.append(((left, at_y), (right, at_y)))
    return lines


def _limit(numbers: Numbers, objective: str) -> float | None:
    limits: dict[str, Any] = numbers.data["tradeoff"].get("limits") or {}
    value = limits.get(objective, limits.get(f"max_{objective}"))
    return None if value is None else float(value)


def _draw_front(axes: Axes, points: list[_Point]) -> list[_Segment]:
    """Draw the steps below which none of these points lies, in these two objectives alone."""
    best = math.inf
    front: list[tuple[float, float]] = []
    for at_x, at_y in sorted({point.place for point in points}):
        if at_y < best:
            if front:
                front.append((at_x, best))
            front.append((at_x, at_y))
            best = at_y
    xs, ys = zip(*front, strict=True)
    axes.plot(xs, ys, color=PALETTE["soft"], linewidth=1.2, zorder=1.5)
    return list(itertools.pairwise(front))


def _draw_point(axes: Axes, point: _Point) -> None:
    color = PALETTE[f"t{point.look}"]
    at_x, at_y = point.place
    axes.plot(
        at_x,
        at_y,
        marker=_MARKERS[point.look],
        markersize=8,
        color=color,
        markerfacecolor=color if point.is_on_front else PALETTE["paper"],
        markeredgecolor=color,
        markeredgewidth=1.6,
        zorder=3,
    )
    if point.is_best:
        axes.plot(
            at_x,
            at_y,
            marker="o",
            markersize=16,
            color=PALETTE["ink"],
            markerfacecolor="none",
            markeredgecolor=PALETTE["ink"],
            markeredgewidth=1.3,
            zorder=2.5,
        )
    if point.is_outside:
        axes.plot(
            at_x,
            at_y,
            marker="x",
            markersize=13,
            color=PALETTE["ink"],
            markeredgecolor=PALETTE["ink"],
            markeredgewidth=1.3,
            zorder=3.5,
        )


@dataclass(frozen=True, slots=True)
class _Label:
    point: _Point
    offset: tuple[float, float]
    side: str


def _placed(axes: Axes, points: list[_Point], lines: list[_Segment]) -> list[_Label]:
    """Give names the first free place beside their points; the best and the front come first.

    A name may lie on a line only where there is no other place for it, and is left out (the table
    has it) where there is none at all.
    """
    wanted = [p for p in points if len(points) <= _MAX_LABELS or p.is_on_front or p.is_best]
    wanted.sort(key=lambda point: (not point.is_best, not point.is_on_front))

    def to_pixels(place: _Place) -> _Place:
        at_x, at_y = axes.transData.transform(place)
        return float(at_x), float(at_y)

    left, bottom, width, height = _BOX
    frame = (
        left * _WIDTH_PX,
        bottom * _HEIGHT_PX,
        (left + width) * _WIDTH_PX + _OUTSIDE_PX,
        (bottom + height) * _HEIGHT_PX,
    )
    taken = [_around(*to_pixels(point.place), _POINT_PX) for point in points]
    crossed = [_between(*to_pixels(start), *to_pixels(end)) for start, end in lines]
    labels = []
    for point in wanted:
        places = list(_places(*to_pixels(point.place), point))
        for obstacles in (taken + crossed, taken):
            free = next(
                (
                    (label, box)
                    for label, box in places
                    if _is_inside(box, frame) and not any(_overlap(box, o) for o in obstacles)
                ),
                None,
            )
            if free is not None:
                labels.append(free[0])
                taken.append(free[1])
                break
    return labels


def _places(x: float, y: float, point: _Point) -> Iterator[tuple[_Label, _Box]]:
    """Places of a name around its point, the most usual first."""
    room = _CHAR_PX * len(point.name)
    gap = 12.0 if point.is_best or point.is_outside else 8.0
    for side, dx, dy in (
        ("left", gap, 0.0),
        ("right", -gap, 0.0),
        ("left", gap - 2, 11.0),
        ("right", 2 - gap, 11.0),
        ("left", gap - 2, -11.0),
        ("right", 2 - gap, -11.0),
        ("center", 0.0, 16.0),
        ("center", 0.0, -16.0),
    ):
        start = x + dx - {"left": 0.0, "right": room, "center": room / 2}[side]
        box = (start, y + dy - _LINE_PX / 2, start + room, y + dy + _LINE_PX / 2)
        yield _Label(point, (dx, dy), side), box


_Box = tuple[float, float, float, float]


def _around(x: float, y: float, radius: float) -> _Box:
    return x - radius, y - radius, x + radius, y + radius


def _between(x0: float, y0: float, x1: float, y1: float) -> _Box:
    """The box of an upright or level line."""
    return min(x0, x1) - 1, min(y0, y1) - 1, max(x0, x1) + 1, max(y0, y1) + 1


def _is_inside(box: _Box, frame: _Box) -> bool:
    is_across = box[0] >= frame[0] and box[2] <= frame[2]
    return is_across and box[1] >= frame[1] and box[3] <= frame[3]


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else name[: _MAX_NAME_CHARS - 1] + "\u2026"
