"""Plots of the pages, as small SVG files that say which figures they were drawn from.

Whether a plot is that of the committed figures is told by the digest in its description, so that no
other version of the drawing library makes a difference.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from jeton._files import write_whole
from studies.claims.figures import Figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MAX_BYTES", "PLOTS", "Plot", "digest", "draw", "drawn_from", "write_plots"]

MAX_BYTES = 60_000
"""A plot in the repository is not larger."""

_WIDTH, _HEIGHT = 7.0, 3.4
"""Inches."""

_COLORS = ("#1b6ca8", "#c8553d", "#3a7d44", "#7a4fa3", "#8a6d1f", "#444444")
_MARKERS = ("o", "s", "^", "D", "v", "P")

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "jeton",
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    # A white ground keeps axes and text readable on a dark page.
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot.

    Attributes:
        alt: What it shows, for those who cannot see it.
        prefixes: Keys of the figures that it is drawn from begin so.
        draw: Draws it.
    """

    alt: str
    prefixes: tuple[str, ...]
    draw: Callable[[Axes, Figures], None]


def _lines(
    axes: Axes, points: dict[str, list[tuple[float, float]]], *, percent: bool = False
) -> None:
    for place, (label, line) in enumerate(points.items()):
        xs, ys = zip(*sorted(line), strict=True)
        axes.plot(
            xs,
            [100 * y for y in ys] if percent else ys,
            label=label,
            color=_COLORS[place % len(_COLORS)],
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=4,
            linewidth=1.4,
        )


def _tokens_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    ticks = [2**power for power in range(9, 21)]
    names = [f"{t // 1024}k" if t < 2**20 else "1M" for t in ticks]
    axes.set_xticks(ticks, ["512", *names[1:]])
    axes.minorticks_off()


def _growth(axes: Axes, figures: Figures) -> None:
    points: dict[str, list[tuple[float, float]]] = {}
    for key, figure in figures.below("attention.four-times").items():
        name, _, n = key.rpartition(".")
        points.setdefault(name, []).append((float(n), figure.value))
    _lines(axes, points)
    _tokens_axis(axes)
    axes.axhline(16, color="#444444", linestyle="--", linewidth=1)
    axes.annotate("claimed: 16x", (512, 16), xytext=(0, -10), textcoords="offset points")
    axes.axhline(4, color="#444444", linestyle=":", linewidth=1)
    axes.annotate("linear: 4x", (2**19, 4), xytext=(0, -10), textcoords="offset points")
    axes.set_ylim(2.5, 17)
    axes.set_xlabel("tokens of the shorter prompt")
    axes.set_ylabel("FLOPs of four times\nthe tokens, ratio")
    axes.legend()


def _sizes(axes: Axes, figures: Figures) -> None:
    points: dict[str, list[tuple[float, float]]] = {}
    for domain in ("medical", "legal", "code"):
        for name, label in (("r50k_base", "GPT-2"), ("o200k_base", "o200k")):
            line = points.setdefault(f"{domain}, against {label}", [])
            for size in (8192, 16_384, 32_768, 65_536, 131_072):
                value = figures.value(f"sizes.{domain}.saving.{size}.{name}")
                line.append((float(size), value))
    _lines(axes, points, percent=True)
    axes.set_xscale("log", base=2)
    axes.set_xticks([8192, 16_384, 32_768, 65_536, 131_072], ["8k", "16k", "32k", "64k", "128k"])
    axes.minorticks_off()
    axes.axhspan(20, 40, color="#f0c808", alpha=0.18, linewidth=0)
    axes.annotate("claimed: 20-40%", (8192, 29))
    axes.axhline(0, color="#444444", linewidth=0.8)
    axes.set_xlabel("ids of the domain tokenizer")
    axes.set_ylabel("fewer tokens, %")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def _doubling(axes: Axes, figures: Figures) -> None:
    growth = figures.below("tables.doubling")
    sizes = figures.below("tables.active-billions")
    xs = [sizes[name].value for name in sizes]
    axes.scatter(xs, [100 * growth[name].value for name in sizes], s=14, color=_COLORS[0])
    axes.axhline(20, color="#444444", linestyle="--", linewidth=1)
    axes.annotate("claimed: 20%", (max(xs), 20), xytext=(-70, 4), textcoords="offset points")
    for name in ("gpt2", "gemma-2-2b", "qwen2.5-0.5b", "llama-3-8b", "llama-3.1-405b"):
        axes.annotate(
            name,
            (sizes[name].value, 100 * growth[name].value),
            xytext=(5, 3),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.set_xlabel("parameters that work on a token, billions")
    axes.set_ylabel("more weight bytes a step\nat twice the vocabulary, %")


_WORKLOADS = {
    "azure-conversation": "Azure, conversations",
    "azure-code": "Azure, code",
    "mooncake-conversation": "Mooncake, conversations",
    "chat-prompts": "prompts",
    "customer-dialogues": "customer dialogues",
    "mathematics-questions": "mathematics questions",
}


def _padding(axes: Axes, figures: Figures) -> None:
    for place, (key, label) in enumerate(reversed(_WORKLOADS.items())):
        static = 100 * figures.value(f"lengths.{key}.static-waste")
        saved = 100 * figures.value(f"lengths.{key}.dynamic-saves")
        axes.barh(place + 0.2, static, height=0.36, color=_COLORS[1])
        axes.barh(place - 0.2, saved, height=0.36, color=_COLORS[0])
        axes.annotate(
            label,
            (0, place + 0.2),
            xytext=(-6, -3),
            ha="right",
            annotation_clip=False,
            textcoords="offset points",
        )
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 100)
    axes.set_xlabel("%")
    axes.plot([], [], color=_COLORS[1], linewidth=6, label="wasted, all padded to 2,048")
    axes.plot([], [], color=_COLORS[0], linewidth=6, label="saved, padded to the longest of 32")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)


def _use(axes: Axes, figures: Figures) -> None:
    points: dict[str, list[tuple[float, float]]] = {}
    sizes = {key: f.value for key, f in figures.below("use.curve.mb").items()}
    for key, figure in figures.below("use.curve.used").items():
        name, _, part = key.rpartition(".")
        points.setdefault(name, []).append((sizes[part], figure.value))
    _lines(axes, points, percent=True)
    axes.set_xscale("log")
    ticks = sorted(sizes.values())
    axes.set_xticks(ticks, [f"{tick:.1f}" for tick in ticks])
    axes.minorticks_off()
    axes.axhspan(20, 40, color="#f0c808", alpha=0.18, linewidth=0)
    axes.annotate("claimed: 20-40%", (ticks[0], 37))
    axes.set_ylim(0, 60)
    axes.set_xlabel("MB of medical abstracts")
    axes.set_ylabel("ids that occur, %")
    axes.legend()


def _code(axes: Axes, figures: Figures) -> None:
    languages = ("Python", "Rust", "TypeScript", "Java", "C++", "C", "Go")
    names = ("p50k_base", "starcoder", "deepseek-coder", "cl100k_base")
    for place, name in enumerate(names):
        axes.bar(
            [spot + 0.2 * (place - 1.5) for spot in range(len(languages))],
            [100 * figures.value(f"code.saving.{language}.{name}") for language in languages],
            width=0.18,
            label=name,
            color=_COLORS[place],
        )
    axes.axhline(40, color="#444444", linestyle="--", linewidth=1)
    axes.annotate("claimed: 40%", (len(languages) - 1.1, 41))
    axes.set_xticks(range(len(languages)), languages)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, 58)
    axes.set_ylabel("fewer tokens than GPT-3, %")
    axes.legend(ncols=4, loc="upper center")


def _languages(axes: Axes, figures: Figures) -> None:
    languages = (
        "Spanish",
        "German",
        "Russian",
        "Chinese",
        "Japanese",
        "Korean",
        "Arabic",
        "Hindi",
        "Thai",
        "Tamil",
        "Burmese",
    )
    names = ("r50k_base", "cl100k_base", "o200k_base", "llama3")
    for place, name in enumerate(names):
        axes.bar(
            [spot + 0.2 * (place - 1.5) for spot in range(len(languages))],
            [figures.value(f"declaration.premium.{name}.{language}") for language in languages],
            width=0.18,
            label=name,
            color=_COLORS[place],
        )
    axes.axhline(10, color="#444444", linestyle="--", linewidth=1)
    axes.annotate("claimed for Chinese: 10x", (-0.4, 10.3))
    axes.set_xticks(range(len(languages)), languages, rotation=30)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("tokens over English")
    axes.legend(ncols=2, loc="upper center")


def _domains(axes: Axes, figures: Figures) -> None:
    domains = ("medical", "legal", "code", "finance", "chat", "multilingual")
    sizes = (16_000, 32_000, 64_000, 128_000)
    for place, domain in enumerate(domains):
        for kind, line in (("superwords", "-"), ("plain", ":")):
            axes.plot(
                sizes,
                [100 * figures.value(f"domains.change.{domain}.same.{kind}.{s}") for s in sizes],
                line,
                label=domain if kind == "superwords" else None,
                color=_COLORS[place],
                marker=_MARKERS[place],
                markersize=4,
                linewidth=1.4,
            )
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, ["16k", "32k", "64k", "128k"])
    axes.minorticks_off()
    axes.axhline(0, color="#444444", linewidth=0.8)
    axes.set_xlabel("ids (dotted: words alone, lines: superwords)")
    axes.set_ylabel("tokens against o200k, %")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


PLOTS = {
    "growth": Plot(
        "FLOPs of four times the tokens by length: about 4x up to some thousand tokens, near 16x "
        "only at hundreds of thousands",
        ("attention.four-times",),
        _growth,
    ),
    "sizes": Plot(
        "Fewer tokens under domain tokenizers by size: much for code against GPT-2, little in "
        "every other case",
        ("sizes.",),
        _sizes,
    ),
    "domains": Plot(
        "Tokens against o200k by size, held-out documents of the same sources: superwords below "
        "words alone in every domain and at every size",
        ("domains.change.",),
        _domains,
    ),
    "doubling": Plot(
        "More weight bytes a decoding step at twice the vocabulary, by model size: above 20% only "
        "for models under three billion parameters",
        ("tables.doubling.", "tables.active-billions."),
        _doubling,
    ),
    "padding": Plot(
        "Positions wasted by static padding and saved by padding to the longest of a batch, by "
        "workload: from nothing to nine tenths",
        ("lengths.",),
        _padding,
    ),
    "use": Plot(
        "Share of the ids that occur grows with the amount of text, by vocabulary",
        ("use.curve.",),
        _use,
    ),
    "code": Plot(
        "Fewer tokens than GPT-3's vocabulary on source files by language and vocabulary",
        ("code.saving.",),
        _code,
    ),
    "languages": Plot(
        "Tokens of the declaration of human rights over English by language and vocabulary",
        ("declaration.premium.",),
        _languages,
    ),
}
"""By the name of their file."""

_DIGEST = re.compile(r"figures ([0-9a-f]{64})")


def digest(plot: Plot, figures: Figures) -> str:
    """Digest of the figures that a plot is drawn from, and of its caption."""
    used = {
        key: figures[key].to_dict()["value"]
        for key in sorted(figures)
        if key.startswith(plot.prefixes)
    }
    return sha256(json.dumps([plot.alt, used], sort_keys=True).encode()).hexdigest()


def drawn_from(svg: str) -> str:
    """The digest that a file carries; empty if none."""
    found = _DIGEST.search(svg)
    return found.group(1) if found else ""


def draw(plot: Plot, figures: Figures) -> str:
    """The plot as SVG."""
    from matplotlib import style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    with style.context(["default", _STYLE]):
        canvas = Canvas(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        FigureCanvasSVG(canvas)
        plot.draw(canvas.add_subplot(), figures)
        buffer = io.StringIO()
        about = f"{plot.alt}; figures {digest(plot, figures)}"
        canvas.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None, "Description": about}
        )
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    return "".join(f"{line}\n" for line in lines)


def write_plots(folder: Path, figures: Figures) -> None:
    """Draw the plots whose figures have changed.

    Raises:
        OSError: A file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, plot in PLOTS.items():
        path = folder / f"{name}.svg"
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        if drawn_from(old) != digest(plot, figures):
            write_whole(path, draw(plot, figures))
