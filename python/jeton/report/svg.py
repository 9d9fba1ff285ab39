"""Drawing of charts as SVG that belongs into a page.

A `Drawing` writes shapes in pixels of the chart's natural size, x to the right and y down. Colours
are variables of the page's style sheet, text is in the page's font, and numbers carry the JSON path
that they come from. Equal shapes give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

from markupsafe import Markup, escape

from jeton.report.numbers import Shown
from jeton.report.visible import visible

N_LOOKS = 6
"""Series that differ by colour, hatching, dashes and marker; the seventh looks like the first."""

_COLORS = frozenset(
    {"ink", "muted", "rule", "paper", "soft", "error", *(f"t{index}" for index in range(N_LOOKS))}
)
_DASHES = ("", "7.5 3", "2.2 2.2", "9 3 2.2 3", "13 4.5", "4.5 1.5 1.5 1.5 1.5 1.5")
_TILE_PX = 6
_HATCHES = (
    "",
    "M-1 7 7 -1M-1 1 1 -1M5 7 7 5",
    "M0 1.5H6M0 4.5H6",
    "M-1 -1 7 7M-1 5 1 7M5 -1 7 1",
    "M1.5 0V6M4.5 0V6",
    "M-1 -1 7 7M-1 7 7 -1",
)
"""Lines of a tile that is repeated over a bar, one for each look."""
_MARKERS = ("circle", "square", "triangle", "diamond", "triangle-down", "plus")


class Drawing:
    """Shapes of one chart.

    Args:
        name: Prefix of all ids; different for every chart of a page.
        width_px: Natural width.
        height_px: Natural height.
    """

    def __init__(self, name: str, *, width_px: float, height_px: float) -> None:
        self.width_px = width_px
        self.height_px = height_px
        self._name = name
        self._shapes: list[str] = []
        self._hatches: set[int] = set()

    def bar(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        color: str,
        *,
        edge: str | None = None,
        look: int = 0,
    ) -> None:
        """Draws a rectangle; ``look`` chooses its hatching, 0 is none."""
        place = f'x="{_px(left)}" y="{_px(top)}" width="{_px(width)}" height="{_px(height)}"'
        stroke = f";stroke:{_color(edge)};stroke-width:0.6" if edge else ""
        self._shapes.append(f'<rect {place} style="fill:{_color(color)}{stroke}"/>')
        if _HATCHES[look % N_LOOKS]:
            self._hatches.add(look % N_LOOKS)
            hatch = f"url(#{self._name}-hatch{look % N_LOOKS})"
            self._shapes.append(f'<rect {place} style="fill:{hatch}"/>')

    def line(
        self,
        points: Iterable[tuple[float, float]],
        color: str,
        *,
        width: float = 1.5,
        look: int = 0,
        dashes: str = "",
    ) -> None:
        """Draws a line through ``points``; ``look`` or ``dashes`` tell how it is broken."""
        path = "L".join(f"{_px(x)} {_px(y)}" for x, y in points)
        broken = dashes or _DASHES[look % N_LOOKS]
        dashed = f";stroke-dasharray:{broken}" if broken else ""
        self._shapes.append(
            f'<path d="M{path}" style="fill:none;stroke:{_color(color)};stroke-width:{width:g}'
            f'{dashed};stroke-linejoin:round"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        item: Shown | str,
        *,
        anchor: str = "start",
        size_px: float = 12.0,
        color: str = "ink",
        is_bold: bool = False,
        before: str = "",
        after: str = "",
    ) -> None:
        """Writes a number or a name; ``y`` is the base line."""
        if isinstance(item, str):
            written = str(escape(visible(item)))
        else:
            written = Markup('<tspan data-path="{}" data-value="{}">{}</tspan>').format(
                item.path, item.raw, item.text
            )
        weight = ";font-weight:700" if is_bold else ""
        side = "" if anchor == "start" else f";text-anchor:{anchor}"
        self._shapes.append(
            f'<text x="{_px(x)}" y="{_px(y)}" style="font-size:{size_px:g}px;'
            f'fill:{_color(color)}{side}{weight}">{escape(before)}{written}{escape(after)}</text>'
        )

    def marker(self, x: float, y: float, look: int, *, is_filled: bool = True) -> None:
        """Draws the shape of a look, in its colour, around a point."""
        shape = _MARKERS[look % N_LOOKS]
        color = f"t{look % N_LOOKS}"
        style = (
            f'style="fill:{_color(color if is_filled else "paper")};'
            f'stroke:{_color(color)};stroke-width:1.6"'
        )
        if shape == "circle":
            self._shapes.append(f'<circle cx="{_px(x)}" cy="{_px(y)}" r="4" {style}/>')
            return
        corners = " ".join(f"{_px(x + dx)},{_px(y + dy)}" for dx, dy in _corners(shape))
        self._shapes.append(f'<polygon points="{corners}" {style}/>')

    def dot(self, x: float, y: float, color: str) -> None:
        """Draws a small disc."""
        self._shapes.append(
            f'<circle cx="{_px(x)}" cy="{_px(y)}" r="3" style="fill:{_color(color)}"/>'
        )

    def ring(self, x: float, y: float) -> None:
        """Draws a circle around a marker."""
        style = f"fill:none;stroke:{_color('ink')};stroke-width:1.3"
        self._shapes.append(f'<circle cx="{_px(x)}" cy="{_px(y)}" r="8" style="{style}"/>')

    def cross(self, x: float, y: float) -> None:
        """Draws a cross over a marker."""
        for slope in (1, -1):
            self.line([(x - 6, y - 6 * slope), (x + 6, y + 6 * slope)], "ink", width=1.3)

    def svg(self, alt: str) -> Markup:
        """Returns the chart as an element.

        Args:
            alt: Description of the chart, with its numbers, for readers who cannot see it.
        """
        patterns = "".join(
            f'<pattern id="{self._name}-hatch{look}" width="{_TILE_PX}" height="{_TILE_PX}" '
            f'patternUnits="userSpaceOnUse"><path d="{_HATCHES[look]}" '
            f'style="stroke:{_color("paper")};stroke-width:1.1"/></pattern>'
            for look in sorted(self._hatches)
        )
        definitions = f"<defs>{patterns}</defs>\n" if patterns else ""
        head = Markup(
            '<svg class="chart" id="{}-chart" viewBox="0 0 {} {}" role="img" aria-label="{}">\n'
        ).format(self._name, _px(self.width_px), _px(self.height_px), alt)
        # Every text in the shapes was escaped when it was added.
        return head + Markup(definitions + "\n".join(self._shapes) + "\n</svg>")


def _corners(shape: str) -> Sequence[tuple[float, float]]:
    if shape == "square":
        return ((-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6))
    if shape == "diamond":
        half = 3.6 * sqrt(2)
        return ((0, -half), (half, 0), (0, half), (-half, 0))
    if shape == "plus":
        return tuple(
            (dx * 1.45, dy * 1.45)
            for dx, dy in (
                *((-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1)),
                *((1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1)),
            )
        )
    up = ((0.0, -4.0), (4.0, 4.0), (-4.0, 4.0))
    return up if shape == "triangle" else tuple((dx, -dy) for dx, dy in up)


def _color(name: str) -> str:
    if name not in _COLORS:
        raise ValueError(f"no colour of the page: {name}")
    return f"var(--{name})"


def _px(value: float) -> str:
    """Writes a length in hundredths of a pixel, without needless zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"
