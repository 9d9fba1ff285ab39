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
from typing import Any

from markupsafe import Markup

from jeton.report.axes import Scale, draw_grid, linear_ticks, log_ticks
from jeton.report.numbers import Kind, Numbers, Shown, write_number
from jeton.report.svg import N_LOOKS, Drawing
from jeton.report.tree import Column, Plot
from jeton.report.visible import visible

_WIDTH_PX, _HEIGHT_PX = 340.0, 250.0
_LEFT_PX, _RIGHT_PX, _TOP_PX, _BOTTOM_PX = 49.3, 319.6, 7.5, 221.25
"""Where the axes lie."""
_CUT_FROM = 0.5
"""Least value over the largest from which an axis does not begin at zero."""
_LOG_RATIO = 20
_MAX_LABELS = 12
"""Beyond so many candidates only the front is named; the table names all."""
_MAX_NAME_CHARS = 24
_CHAR_PX, _LINE_PX = 6.1, 13.0
"""Room that a name is given: a character of 11 px text, and its height."""
_POINT_PX = 7.0
_BASE_PX = 4.0
"""From the middle of a name to its base line."""
_OUTSIDE_PX = 14.0
"""A name may reach so far beyond the axes, into the margin."""


OBJECTIVES = (
    Column("usd_per_month", "USD a month", kind="usd"),
    Column("seconds_per_request", "Time of a request", kind="seconds"),
    Column("memory_bytes", "Memory", kind="bytes"),
    Column("bits_per_byte", "Bits per byte", kind="rate"),
)
"""Less is better in each. Quality is bits per byte of held-out text."""


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


def objectives(numbers: Numbers) -> tuple[Column, ...]:
    """Return those that are known of at least one candidate."""
    points = numbers.data["tradeoff"]["points"]
    return tuple(c for c in OBJECTIVES if any(point[c.key] is not None for point in points))


def tradeoff_charts(numbers: Numbers) -> tuple[Plot, ...]:
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
            hint = f"against {x.label}; less is better in both"
            charts.append(Plot(y.label, hint, _draw(numbers, index, points, x, y)))
    return tuple(charts)


_Place = tuple[float, float]
_Segment = tuple[_Place, _Place]


def _points(numbers: Numbers, x: Column, y: Column) -> list[_Point]:
    data = numbers.data["tradeoff"]
    names = [tokenizer["name"] for tokenizer in numbers.data["tokenizers"]]
    found = []
    for index, point in enumerate(data["points"]):
        path = f"tradeoff.points[{index}]"
        at_x, at_y = (
            numbers.show(f"{path}.{x.key}", x.kind),
            numbers.show(f"{path}.{y.key}", y.kind),
        )
        if at_x is None or at_y is None:
            continue
        look = names.index(point["name"]) if point["name"] in names else index
        found.append(
            _Point(
                _short(visible(point["name"])),
                look % N_LOOKS,
                at_x,
                at_y,
                point["is_on_front"],
                point["name"] == data["best"],
                bool(point["violates"]),
            )
        )
    return found


def _draw(numbers: Numbers, index: int, points: list[_Point], x: Column, y: Column) -> Markup:
    drawing = Drawing(f"tradeoff{index}", width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
    across = _Axis.of([point.place[0] for point in points], _limit(numbers, x.key))
    up = _Axis.of([point.place[1] for point in points], _limit(numbers, y.key))
    plane = _Plane(
        Scale(across.low, across.high, _LEFT_PX, _RIGHT_PX, across.is_log),
        Scale(up.low, up.high, _BOTTOM_PX, _TOP_PX, up.is_log),
    )
    draw_grid(
        drawing,
        plane.x,
        plane.y,
        x_ticks=across.ticks(plane.x, 4),
        y_ticks=up.ticks(plane.y, 5),
        write_x=lambda value: _tick(value, x.kind),
        write_y=lambda value: _tick(value, y.kind),
        has_left=True,
    )
    if across.is_cut:
        _mark_cut(drawing, 0)
    if up.is_cut:
        _mark_cut(drawing, 1)
    lines = _draw_limits(drawing, plane, numbers, x, y) + _draw_front(drawing, plane, points)
    # Rings below the markers, crosses above: the colour of a marker is never covered.
    for point in points:
        if point.is_best:
            drawing.ring(*plane(point.place))
    for point in points:
        drawing.marker(*plane(point.place), point.look, is_filled=point.is_on_front)
    for point in points:
        if point.is_outside:
            drawing.cross(*plane(point.place))
    for label in _placed(plane, points, lines):
        drawing.text(
            *label.place, label.point.name, anchor=label.anchor, is_bold=label.point.is_best
        )
    return drawing.svg(
        f"{y.label} against {x.label}; less is better in both. "
        + "; ".join(
            f"{point.name} {point.x.text}, {point.y.text}{_words(point)}" for point in points
        )
    )


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


@dataclass(frozen=True, slots=True)
class _Axis:
    """The ends of an axis; logarithmic where values spread widely, with room for names."""

    low: float
    high: float
    is_log: bool
    is_cut: bool

    @staticmethod
    def of(values: list[float], limit: float | None) -> _Axis:
        low, high = min(values), max(values)
        if limit is not None and low <= limit <= high + (high - low or high) * 0.5:
            high = max(high, limit)
        if low > 0 and high > _LOG_RATIO * low:
            room = (high / low) ** 0.12
            return _Axis(low / room, high * room, is_log=True, is_cut=False)
        room = (high - low) * 0.14 or abs(high) * 0.1 or 1.0
        # From zero, unless the points would lie in a heap: then the cut is marked.
        is_heap = low >= _CUT_FROM * high > 0
        begin = max(low - room, 0.0) if is_heap or low < 0 else 0.0
        return _Axis(begin, high + room, is_log=False, is_cut=begin > 0)

    def ticks(self, scale: Scale, most: int) -> list[float]:
        return log_ticks(scale, most) if self.is_log else linear_ticks(scale, most)


@dataclass(frozen=True, slots=True)
class _Plane:
    """Two scales; gives the pixels of a pair of values."""

    x: Scale
    y: Scale

    def __call__(self, place: _Place) -> _Place:
        return self.x(place[0]), self.y(place[1])


def _mark_cut(drawing: Drawing, position: int) -> None:
    """Draws two slanted strokes at the beginning of an axis that does not begin at zero."""
    for at in (9.0, 15.0):
        x, y = (_LEFT_PX + at, _BOTTOM_PX) if position == 0 else (_LEFT_PX, _BOTTOM_PX - at)
        dx, dy = (3.2, 6.4) if position == 0 else (5.4, 4.7)
        drawing.line([(x - dx, y + dy), (x + dx, y - dy)], "ink", width=1.2)


def _tick(value: float, kind: Kind) -> str:
    """Writes a tick as the tables write the number."""
    number = Decimal(f"{value:.6g}")
    if kind == "usd" and abs(number) >= 10_000:
        return f"${number / 1000:,.4g}k"
    if kind in ("bytes", "seconds"):
        digits, _, unit = write_number(number, kind).partition("\u00a0")
        return f"{float(digits.replace(',', '')):g}\u00a0{unit}"
    return write_number(number, kind)


def _draw_limits(
    drawing: Drawing, plane: _Plane, numbers: Numbers, x: Column, y: Column
) -> list[_Segment]:
    """Draws the user's limits that lie inside the plot; returns them in pixels."""
    lines: list[_Segment] = []
    at_x, at_y = _limit(numbers, x.key), _limit(numbers, y.key)
    if at_x is not None and plane.x.holds(at_x):
        lines.append(((plane.x(at_x), _BOTTOM_PX), (plane.x(at_x), _TOP_PX)))
    if at_y is not None and plane.y.holds(at_y):
        lines.append(((_LEFT_PX, plane.y(at_y)), (_RIGHT_PX, plane.y(at_y))))
    for line in lines:
        drawing.line(line, "ink", width=1.0, dashes="4 3")
    return lines


def _limit(numbers: Numbers, objective: str) -> float | None:
    limits: dict[str, Any] = numbers.data["tradeoff"].get("limits") or {}
    value = limits.get(objective, limits.get(f"max_{objective}"))
    return None if value is None else float(value)


def _draw_front(drawing: Drawing, plane: _Plane, points: list[_Point]) -> list[_Segment]:
    """Draws the steps below which none of these points lies, in these two objectives alone."""
    best = math.inf
    front: list[_Place] = []
    for at_x, at_y in sorted({point.place for point in points}):
        if at_y < best:
            if front:
                front.append(plane((at_x, best)))
            front.append(plane((at_x, at_y)))
            best = at_y
    drawing.line(front, "soft", width=1.2)
    return list(itertools.pairwise(front))


@dataclass(frozen=True, slots=True)
class _Label:
    point: _Point
    place: _Place
    """The end or the middle of its base line."""
    anchor: str


def _placed(plane: _Plane, points: list[_Point], lines: list[_Segment]) -> list[_Label]:
    """Give names the first free place beside their points; the best and the front come first.

    A name may lie on a line only where there is no other place for it, and is left out (the table
    has it) where there is none at all.
    """
    wanted = [p for p in points if len(points) <= _MAX_LABELS or p.is_on_front or p.is_best]
    wanted.sort(key=lambda point: (not point.is_best, not point.is_on_front))

    frame = (_LEFT_PX, _TOP_PX, _RIGHT_PX + _OUTSIDE_PX, _BOTTOM_PX)
    taken = [_around(*plane(point.place), _POINT_PX) for point in points]
    crossed = [_between(*start, *end) for start, end in lines]
    labels = []
    for point in wanted:
        places = list(_places(*plane(point.place), point))
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
    for anchor, dx, dy in (
        ("start", gap, 0.0),
        ("end", -gap, 0.0),
        ("start", gap - 2, -11.0),
        ("end", 2 - gap, -11.0),
        ("start", gap - 2, 11.0),
        ("end", 2 - gap, 11.0),
        ("middle", 0.0, -16.0),
        ("middle", 0.0, 16.0),
    ):
        start = x + dx - {"start": 0.0, "end": room, "middle": room / 2}[anchor]
        box = (start, y + dy - _LINE_PX / 2, start + room, y + dy + _LINE_PX / 2)
        yield _Label(point, (x + dx, y + dy + _BASE_PX), anchor), box


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
