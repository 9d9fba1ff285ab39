"""From a matplotlib figure to SVG that belongs into a page.

What matplotlib writes is a picture of its own: fixed colours and fonts, an XML head, a style sheet,
metadata. Here it becomes a part of the page: colours are the page's variables, text is text in the
page's font, ids do not clash, and numbers carry their JSON path. The same figure gives the same
bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from jeton.report.numbers import Shown
from jeton.report.visible import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PALETTE", "Labels", "chart_style", "new_figure", "to_svg"]

# Stand-ins that no figure uses otherwise; each becomes a variable of the page's style sheet.
PALETTE: Mapping[str, str] = {
    "ink": "#010101",
    "muted": "#020202",
    "rule": "#030303",
    "paper": "#040404",
    "soft": "#060606",
    "error": "#070707",
    **{f"t{index}": f"#0500{index:02x}" for index in range(6)},
}

_POINTS_PER_INCH = 72
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same metrics everywhere
    "font.size": 10.0,
    "text.color": PALETTE["ink"],
    "axes.edgecolor": PALETTE["rule"],
    "axes.labelcolor": PALETTE["muted"],
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": PALETTE["rule"],
    "xtick.labelcolor": PALETTE["muted"],
    "ytick.color": PALETTE["rule"],
    "ytick.labelcolor": PALETTE["muted"],
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "hatch.linewidth": 1.1,
}
_VARIABLES = {color: f"var(--{name})" for name, color in PALETTE.items()}
_COLOR = re.compile("|".join(PALETTE.values()))
_HEAD = re.compile(r"\A.*?(?=<svg\b)", re.DOTALL)
_ROOT = re.compile(r"<svg\b[^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STYLE_SHEET = re.compile(r"\s*<style\b[^>]*>.*?</style>", re.DOTALL)
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_ID = re.compile(r"\bid=\"([^\"]+)\"")
_REFERENCE = re.compile(r"(url\(#|href=\"#)")
_FONT_FAMILY = re.compile(r"font-family:[^;\"]*;?\s*|(font:\s*[\d.]+px)\s+[^;\"]*")
_PLACEHOLDER = re.compile(r"JT(\d{4})X")


@dataclass(slots=True)
class Labels:
    """Texts of a figure that are put in after drawing, escaped and with their JSON path.

    matplotlib never sees other people's text: it would look for glyphs, and try to lay it out.
    """

    _items: list[Shown | str] = field(default_factory=list)

    def __call__(self, item: Shown | str) -> str:
        """Return the stand-in to draw for a number or a name."""
        self._items.append(item)
        return f"JT{len(self._items) - 1:04d}X"

    def write(self, match: re.Match[str]) -> str:
        """Return the SVG for a stand-in."""
        item = self._items[int(match.group(1))]
        if isinstance(item, str):
            return str(escape(visible(item)))
        return str(
            Markup('<tspan data-path="{}" data-value="{}">{}</tspan>').format(
                item.path, item.raw, item.text
            )
        )


@contextmanager
def chart_style(salt: str) -> Iterator[None]:
    """Draw with this style alone, whatever the user's own matplotlib settings are."""
    from matplotlib import style

    with style.context(["default", {**_STYLE, "svg.hashsalt": salt}]):
        yield


def new_figure(*, width_px: float, height_px: float) -> Figure:
    """Return an empty figure; one point of it is one pixel of the page at natural size."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_px / _POINTS_PER_INCH, height_px / _POINTS_PER_INCH))
    FigureCanvasSVG(figure)
    return figure


def to_svg(figure: Figure, *, name: str, alt: str, labels: Labels) -> Markup:
    """Return the figure as an ``svg`` element.

    Args:
        figure: Drawn under `chart_style`, with colours of `PALETTE` only.
        name: Prefix of all ids; different for every chart of a page.
        alt: What the chart shows, with its numbers, for those who cannot see it.
        labels: The texts that stand-ins in the figure are replaced by.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = _HEAD.sub("", buffer.getvalue(), count=1)
    for needless in (_METADATA, _STYLE_SHEET, _COMMENT):
        svg = needless.sub("", svg)
    svg = _ID.sub(rf'id="{name}-\1"', svg)
    svg = _REFERENCE.sub(rf"\g<1>{name}-", svg)
    svg = _FONT_FAMILY.sub(lambda match: match.group(1) or "", svg)
    svg = _COLOR.sub(lambda match: _VARIABLES[match.group()], svg)
    svg = _PLACEHOLDER.sub(labels.write, svg)
    # Last: what the description quotes must not be taken for a stand-in or a colour.
    root = Markup('<svg class="chart" viewBox="{}" role="img" aria-label="{}">')
    svg = _ROOT.sub(lambda match: str(root.format(match.group(1), alt)), svg, count=1)
    return Markup(svg.strip())  # every text in it was escaped above
