"""Bars below one another, each under its name: readable on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from jeton.report.axes import Scale
from jeton.report.numbers import Shown
from jeton.report.svg import N_LOOKS, Drawing
from jeton.report.visible import visible

WIDTH_PX = 340.0
"""Width of a page on a phone: nothing is drawn smaller there than it is here."""
_ROW_PX, _BAR_PX, _TEXT_PX = 40.0, 12.0, 12.0
_MOST_CHARS = 34


@dataclass(frozen=True, slots=True)
class Bar:
    """A named value, and the number as it is written."""

    name: str
    value: float
    shown: Shown | str | None


def bars_chart(name: str, bars: Sequence[Bar]) -> Markup:
    """Draw each bar from zero, with its name and number above it.

    Args:
        name: Prefix of all ids.
        bars: Values of zero and more, in order.
    """
    drawing = Drawing(name, width_px=WIDTH_PX, height_px=_ROW_PX * max(len(bars), 1))
    scale = Scale(0.0, max((bar.value for bar in bars), default=0) or 1.0, 0.0, WIDTH_PX)
    said = []
    for number, bar in enumerate(bars):
        top = _ROW_PX * number
        shown = bar.shown if bar.shown is not None else f"{bar.value:,.4g}"
        title = visible(bar.name)
        if len(title) > _MOST_CHARS:
            title = title[: _MOST_CHARS - 1] + "\u2026"
        drawing.text(0.0, top + _TEXT_PX, title, size_px=_TEXT_PX)
        drawing.text(WIDTH_PX, top + _TEXT_PX, shown, anchor="end", size_px=_TEXT_PX)
        width = max(scale(bar.value), 1.0)
        look = number % N_LOOKS
        drawing.bar(0.0, top + _TEXT_PX + 6, width, _BAR_PX, f"t{look}", edge=f"t{look}")
        said.append(f"{title} {shown if isinstance(shown, str) else shown.text}")
    return drawing.svg("; ".join(said))
