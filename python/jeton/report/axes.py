"""Scales of charts, their ticks, and the grid with its labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jeton.report.svg import Drawing

_LABEL_PX = 12.0
_PAD_PX = 5.0


@dataclass(frozen=True, slots=True)
class Scale:
    """From values between ``low`` and ``high`` to pixels between ``start_px`` and ``end_px``."""

    low: float
    high: float
    start_px: float
    end_px: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Returns the place of a value, in pixels."""
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start_px + share * (self.end_px - self.start_px)

    def holds(self, value: float) -> bool:
        """True if the value is not beyond the ends, up to rounding."""
        slack = 1e-9 * max(abs(self.low), abs(self.high))
        return self.low - slack <= value <= self.high + slack


def linear_ticks(scale: Scale, most: int, *, is_integer: bool = False) -> list[float]:
    """Returns round values on a scale, ``most`` + 1 of them at most.

    Example: from 0 to 87 with 4 at most, 0, 25, 50 and 75.
    """
    rough = (scale.high - scale.low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    steps = (1, 2, 5, 10) if is_integer and power < 10 else (1, 2, 2.5, 5, 10)
    step = next(step * power for step in steps if step * power >= rough * (1 - 1e-9))
    if is_integer:
        step = max(1.0, step)
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_ticks(scale: Scale, most: int) -> list[float]:
    """Returns powers of ten on a scale, every n-th where they are more than ``most``.

    Where there is one power or none, its doubles and fivefolds are ticks as well.
    """
    first, last = math.ceil(math.log10(scale.low) - 1e-9), math.floor(math.log10(scale.high) + 1e-9)
    powers = [10.0**power for power in range(first, last + 1)]
    if len(powers) < 2:
        finer = (m * 10.0**p for p in range(first - 1, last + 2) for m in (1, 2, 5))
        return [value for value in finer if scale.holds(value)]
    return powers[:: math.ceil(len(powers) / most)]


def draw_grid(
    drawing: Drawing,
    x: Scale,
    y: Scale,
    *,
    x_ticks: Iterable[float],
    y_ticks: Iterable[float],
    write_x: Callable[[float], str],
    write_y: Callable[[float], str],
    has_left: bool = False,
) -> None:
    """Draws lines at the ticks, their labels, and the axis below; ``y`` runs up."""
    for tick in x_ticks:
        at = x(tick)
        drawing.line([(at, y.start_px), (at, y.end_px)], "rule", width=0.6)
        drawing.text(
            at,
            y.start_px + _PAD_PX + 0.8 * _LABEL_PX,
            write_x(tick),
            anchor="middle",
            size_px=_LABEL_PX,
            color="muted",
        )
    for tick in y_ticks:
        at = y(tick)
        drawing.line([(x.start_px, at), (x.end_px, at)], "rule", width=0.6)
        drawing.text(
            x.start_px - _PAD_PX,
            at + 0.35 * _LABEL_PX,
            write_y(tick),
            anchor="end",
            size_px=_LABEL_PX,
            color="muted",
        )
    corner = (x.start_px, y.start_px)
    drawing.line([corner, (x.end_px, y.start_px)], "rule", width=0.8)
    if has_left:
        drawing.line([corner, (x.start_px, y.end_px)], "rule", width=0.8)
