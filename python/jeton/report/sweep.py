"""A sweep of vocabulary sizes as tables and plots: in a terminal, as Markdown, as JSON, on a page.

All forms are made from `Sweep.to_dict`, so that they show the same numbers.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from jeton._plain import counted
from jeton.report.axes import Scale, draw_grid, linear_ticks
from jeton.report.json_report import safe_json
from jeton.report.markdown_text import written
from jeton.report.numbers import Numbers, Shown
from jeton.report.result_page import Opening, PageTable, Sum, result_html, result_markdown
from jeton.report.svg import N_LOOKS, Drawing
from jeton.report.tree import Plot
from jeton.report.visible import visible

if TYPE_CHECKING:
    from jeton.planning import Sweep

_WIDTH_PX, _HEIGHT_PX = 340.0, 220.0
_MOST_TICKS = 6
_BOX_PX = (51.0, 323.0, 9.0, 191.0)
"""Where the axes lie: left, right, top, bottom."""
_TITLE = "Vocabulary sizes"
_MINIMISED = {
    "usd_per_request": "cost of a request",
    "seconds_per_request": "time of a request",
    "weight_bytes": "weights",
}


def grids(numbers: Numbers) -> tuple[PageTable, ...]:
    """The tables: tokens on held-out text, then the costs of each model."""
    return (_tokens(numbers), *(_costs(numbers, i) for i in range(len(numbers.data["models"]))))


def _tokens(numbers: Numbers) -> PageTable:
    found = []
    for index, point in enumerate(numbers.data["points"]):
        path = f"points[{index}]"
        ends = point["bytes_per_token_interval"]
        found.append(
            (
                numbers.show(f"{path}.vocab_size", "count"),
                numbers.show(f"{path}.n_tokens", "count"),
                numbers.show(f"{path}.bytes_per_token", "rate"),
                numbers.show(f"{path}.bytes_per_token_interval.low", "rate") if ends else None,
                numbers.show(f"{path}.bytes_per_token_interval.high", "rate") if ends else None,
                None
                if point["tokens_saved"] is None
                else numbers.show(f"{path}.tokens_saved", "share"),
            )
        )
    return PageTable(
        "Tokens of the held-out text",
        ("Vocabulary", "Tokens", "Bytes per token", "95% from", "to", "Saved by this step"),
        tuple(found),
        n_text=0,
    )


def _costs(numbers: Numbers, model: int) -> PageTable:
    data = numbers.data["models"][model]
    asked = {point["vocab_size"] for point in numbers.data["points"]}
    found: list[tuple[Shown | None, ...]] = []
    best = None
    for index, point in enumerate(data["trade"]["points"]):
        if point["vocab_size"] not in asked:
            continue
        path = f"models[{model}].trade.points[{index}]"
        if point["vocab_size"] == data["best"]:
            best = len(found)
        found.append(
            (
                numbers.show(f"{path}.vocab_size", "count"),
                numbers.show(f"{path}.usd_per_request", "usd"),
                numbers.show(f"{path}.seconds_per_request", "seconds"),
                numbers.show(f"{path}.weight_bytes", "bytes"),
                numbers.show(f"{path}.table_bytes", "bytes"),
                numbers.show(f"{path}.head_share", "share"),
                numbers.show(f"{path}.kv_bytes_per_request", "bytes"),
            )
        )
    return PageTable(
        f"{data['model']} on {data['gpu']}",
        (
            "Vocabulary",
            "Cost of a request",
            "Time of a request",
            "Weights",
            "Tables",
            "Head's share of reads",
            "KV cache of a request",
        ),
        tuple(found),
        best,
        tuple(data["reasons"]),
        n_text=0,
    )


def sweep_json(found: Sweep) -> str:
    """As JSON text with a line end."""
    return safe_json(found.to_dict())


def sweep_words(found: Sweep) -> tuple[str, ...]:
    """Describe the sweep in sentences for people."""
    data = found.to_dict()
    numbers = Numbers(data)
    held = data["held_out"]
    n_seen = held["n_trained_on"]
    measured = counted(held["n_documents"], "document" if n_seen else "other")
    words = [
        f"trained on {counted(data['trained_on']['n_documents'], 'document')}, "
        f"{written(numbers.show('trained_on.n_bytes', 'bytes'))}; measured on {measured}, "
        f"{written(numbers.show('held_out.n_bytes', 'bytes'))}"
    ]
    if n_seen:
        words.append(
            f"{n_seen:,} of the {counted(held['n_documents'], 'measured document')} "
            f"{'was' if n_seen == 1 else 'were'} trained on: their figures look better than "
            "other text will; give text that is not among the inputs"
        )
    if held["n_documents"] < 2:
        words.append("one held-out document says nothing of others: no intervals")
    if found.dropped_words:
        words.append(found.dropped_words)
    small = [f"{size:,}" for size in found.left_out if size < found.nested.n_base]
    if small:
        words.append(
            f"left out as too small: {', '.join(small)}; bytes and special tokens are "
            f"{found.nested.n_base:,} ids"
        )
    if not data["models"]:
        words.append(
            "no size is recommended: what one costs depends on the model (--model NAME, see "
            "`jeton catalog models`)"
        )
    return tuple(words)


def sweep_markdown(found: Sweep) -> str:
    """As GitHub-flavoured Markdown."""
    data = found.to_dict()
    return result_markdown(data, title=_TITLE, words=sweep_words(found), grids=grids(Numbers(data)))


def sweep_html(found: Sweep) -> str:
    """The page: plots, tables and reasons; the figures as JSON in it."""
    data = found.to_dict()
    numbers = Numbers(data)
    return result_html(
        data,
        title=_TITLE,
        opening=_opening(numbers),
        words=sweep_words(found),
        plots=(
            Plot("Bytes per token", "of the held-out text, by size", _compression_chart(numbers)),
            *(
                Plot(
                    f"{visible(model['model'])}: {_MINIMISED[model['trade']['minimised']]}",
                    "percent above the least, by size",
                    _cost_chart(model, index),
                )
                for index, model in enumerate(data["models"])
            ),
        ),
        grids=grids(numbers),
        basis="\u2605 marks the best of the sizes asked for. Tokens are counted; money, time and "
        "memory are estimated from the facts of the catalog.",
    )


def _opening(numbers: Numbers) -> Opening:
    """The size to train beside the smallest one, for the first model; without one, what is left."""
    data = numbers.data
    points = data["points"]
    sizes = [point["vocab_size"] for point in points]
    chosen = data["models"][0]["best"] if data["models"] else None
    place = sizes.index(chosen) if chosen in sizes else len(sizes) - 1
    sums = tuple(
        Sum(
            f"{points[at]['vocab_size']:,} ids",
            numbers.show(f"points[{at}].n_tokens", "count") or "",
            "tokens of the held-out text",
        )
        for at in dict.fromkeys((0, place))
    )
    if chosen is None:
        return Opening(
            "Name the model that gets the vocabulary (`--model NAME`): its costs choose the size",
            sums,
        )
    model = data["models"][0]
    return Opening(
        f"Train {chosen:,} ids for {model['model']}: the least "
        f"{_MINIMISED[model['trade']['minimised']]}",
        sums,
    )


def _compression_chart(numbers: Numbers) -> Markup:
    curve, points = numbers.data["curve"], numbers.data["points"]
    ends = [point["bytes_per_token_interval"] for point in points]
    heights = [point["bytes_per_token"] for point in (*curve, *points)]
    heights += [end[side] for end in ends if end for side in ("low", "high")]
    drawing, x, y = _axes("sweep-tokens", [point["vocab_size"] for point in curve], heights)
    line = [(x(point["vocab_size"]), y(point["bytes_per_token"])) for point in curve]
    drawing.line(line, "soft", width=1.6)
    for point, end in zip(points, ends, strict=True):
        at = x(point["vocab_size"])
        if end:
            drawing.line([(at, y(end["low"])), (at, y(end["high"]))], "t0", width=1.2)
        drawing.dot(at, y(point["bytes_per_token"]), "t0")
    return drawing.svg(
        "Bytes per token of the held-out text by vocabulary size: "
        + "; ".join(f"{point['vocab_size']:,} {point['bytes_per_token']:.3f}" for point in points)
    )


def _cost_chart(model: dict[str, Any], index: int) -> Markup:
    """Chart of the saving of the curve's best size, over all sizes."""
    minimised = model["trade"]["minimised"]
    points = model["trade"]["points"]
    values = [float(point[minimised]) for point in points]
    least = min(values)
    over = [100 * (value / least - 1) for value in values]
    sizes = [point["vocab_size"] for point in points]
    drawing, x, y = _axes(f"sweep-cost-{index}", sizes, over)
    color = f"t{(index + 1) % N_LOOKS}"
    places = [(x(size), y(value)) for size, value in zip(sizes, over, strict=True)]
    drawing.line(places, color, width=1.6)
    for size, place in zip(sizes, places, strict=True):
        if size == model["best"]:
            drawing.dot(*place, color)
    return drawing.svg(
        f"{model['model']}: {minimised} above the least by vocabulary size: "
        + "; ".join(f"{size:,} {value:.2f}%" for size, value in zip(sizes, over, strict=True))
    )


def _axes(name: str, sizes: list[int], heights: list[float]) -> tuple[Drawing, Scale, Scale]:
    """Draws a logarithmic axis of sizes, marked at octaves, and a linear one with some room."""
    left, right, top, bottom = _BOX_PX
    drawing = Drawing(name, width_px=_WIDTH_PX, height_px=_HEIGHT_PX)
    margin = max(max(sizes) / min(sizes), 1.1) ** 0.05
    x = Scale(min(sizes) / margin, max(sizes) * margin, left, right, is_log=True)
    low, high = min(heights), max(heights)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    y = Scale(low - room, high + room, bottom, top)
    step = 1 if log2(x.high / x.low) < _MOST_TICKS else 2
    octaves = [250.0 * 2**power for power in range(0, 13, step)]
    draw_grid(
        drawing,
        x,
        y,
        x_ticks=[size for size in octaves if x.holds(size)],
        y_ticks=linear_ticks(y, 5),
        write_x=_thousands,
        write_y=lambda value: f"{value:.6g}",
    )
    return drawing, x, y


def _thousands(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"
