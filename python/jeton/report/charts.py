"""The charts of the page: document lengths, bytes per token, money, memory.

Each is narrow, so that it can be read on a phone without shrinking its text; tokenizers differ by
colour and hatching, and carry their names.
"""

from __future__ import annotations

import itertools

from markupsafe import Markup

from jeton.report.axes import Scale, linear_ticks, log_ticks
from jeton.report.numbers import Kind, Numbers, Shown, write_number
from jeton.report.svg import N_LOOKS, Drawing
from jeton.report.tree import Plot, tokenizer_name
from jeton.report.visible import visible

_WIDTH_PX = 340.0
_HISTOGRAM_HEIGHT_PX = 132.0
_BAR_PX = 38.0
_BAR_HEAD_PX = 8.0
_BAR_HEIGHT_PX = 11.4
_LOG_RATIO = 20
"""Bins that spread over more than this ratio were made as powers: they want a logarithmic axis."""
_MAX_NAME_CHARS = 40
_LABEL_PX = 12.5
_TICK_PX = 3.5


def length_charts(numbers: Numbers) -> tuple[Plot, ...]:
    """Tokens per document, one small histogram for every tokenizer, all with the same axes."""
    tokenizers = numbers.data["tokenizers"]
    histograms = [t["tokens_per_document"]["histogram"] for t in tokenizers]
    filled = [h for h in histograms if h["counts"]]
    if not filled:
        return ()
    low = min(h["edges"][0] for h in filled)
    high = max(h["edges"][-1] for h in filled)
    is_log = high > _LOG_RATIO * max(low, 1)
    # Bars of different width (powers) are compared by height: share of the documents in the bin.
    top = max(max(h["counts"]) / max(1, sum(h["counts"])) for h in filled)
    return tuple(
        Plot(
            tokenizer_name(numbers, index),
            "",
            _histogram(numbers, index, (low, high), top, is_log=is_log),
        )
        for index in range(len(tokenizers))
    )


def bar_chart(
    numbers: Numbers,
    *,
    name: str,
    key: str,
    title: str,
    kind: Kind,
    hint: str = "less is better",
) -> Plot | None:
    """One bar for every tokenizer; None where fewer than two have the number.

    ``key`` is a path below ``tokenizers[i]``; that of a figure ends in ``.value``.
    """
    shown = _shown_values(numbers, key, kind)
    known = [value for value in shown if value is not None]
    if len(known) < 2:
        return None
    drawing = _bars(name, len(shown))
    across = Scale(0, max(float(value.raw) for value in known) or 1.0, 0, _WIDTH_PX)
    for index, value in enumerate(shown):
        if value is not None:
            _bar(drawing, across, index, 0.0, float(value.raw))
        _bar_labels(drawing, index, _name(numbers, index), value)
    return Plot(title, hint, drawing.svg(_alt(numbers, title, shown)))


def memory_chart(numbers: Numbers) -> Plot | None:
    """Weights, and the cache of the mean requests that fit beside them on the GPU.

    Without a GPU there is nothing to fill; the tables show the bytes.
    """
    rows = []
    for index, tokenizer in enumerate(numbers.data["tokenizers"]):
        economics = tokenizer["economics"]
        keys = ("weights_bytes", "kv_bytes_per_request_mean", "concurrent_requests_mean")
        if any(economics[key] is None for key in keys):
            return None
        weights, request, fit = (float(economics[key]["value"]) for key in keys)
        shown = numbers.figure(f"tokenizers[{index}].economics.concurrent_requests_mean", "count")
        rows.append((index, weights, request * fit, shown))
    if not rows:
        return None
    drawing = _bars("memory", len(rows))
    across = Scale(0, max(weights + cache for _, weights, cache, _ in rows) or 1.0, 0, _WIDTH_PX)
    for index, weights, cache, shown in rows:
        drawing.bar(0, _bar_top(index), across(weights), _BAR_HEIGHT_PX, "soft")
        _bar(drawing, across, index, weights, cache)
        _bar_labels(drawing, index, _name(numbers, index), shown, after=" fit")
    alt = "; ".join(
        f"{_name(numbers, index)}: weights {write_bytes(weights)}, beside them "
        f"{shown.text if shown else 'no'} requests of mean length"
        for index, weights, _, shown in rows
    )
    hint = "grey: weights; then the cache of the mean requests that fit"
    title = "Memory of the GPU"
    return Plot(title, hint, drawing.svg(f"{title}. {alt}"))


def write_bytes(value: float) -> str:
    """Bytes as in the tables."""
    from decimal import Decimal

    return write_number(Decimal(str(value)), "bytes")


def _histogram(
    numbers: Numbers, index: int, span: tuple[float, float], top: float, *, is_log: bool
) -> Markup:
    path = f"tokenizers[{index}].tokens_per_document"
    data = numbers.data["tokenizers"][index]["tokens_per_document"]
    edges, counts = data["histogram"]["edges"], data["histogram"]["counts"]
    n_documents = max(1, sum(counts))
    drawing = Drawing(f"lengths{index}", width_px=_WIDTH_PX, height_px=_HISTOGRAM_HEIGHT_PX)
    low, high = span
    if is_log:
        # A document of no tokens has no place on the axis of powers; it is drawn at its start.
        low = max(low, 0.7)
    high = max(high * (1.02 if is_log else 1.0), low * 1.01, low + 1e-9)
    x = Scale(low, high, 0.02 * _WIDTH_PX, 0.97 * _WIDTH_PX, is_log)
    y = Scale(0, top * 1.04, 0.82 * _HISTOGRAM_HEIGHT_PX, 0.2 * _HISTOGRAM_HEIGHT_PX)
    for (left, right), count in zip(itertools.pairwise(edges), counts, strict=True):
        start, end, upper = x(max(left, low)), x(max(right, low)), y(count / n_documents)
        color = f"t{index % N_LOOKS}"
        drawing.bar(start, upper, end - start, y.start_px - upper, color, edge="paper")
    drawing.line([(x.start_px, y.start_px), (x.end_px, y.start_px)], "rule", width=0.8)
    for tick in log_ticks(x, 6) if is_log else linear_ticks(x, 5, is_integer=True):
        at = x(tick)
        drawing.line([(at, y.start_px), (at, y.start_px + _TICK_PX)], "rule", width=0.8)
        under = y.start_px + 2 * _TICK_PX + 8.5
        drawing.text(at, under, _tick(tick), anchor="middle", color="muted")
    alts = []
    for key, height, word in (("p50", 1.24, "half have at most"), ("p95", 1.08, "p95")):
        value = numbers.show(f"{path}.{key}", "count")
        if value is None:
            continue
        _quantile(drawing, x, value, key, (y.start_px, y(height * top)))
        alts.append(f"{word} {value.text}")
    longest = numbers.show(f"{path}.max", "count")
    alts.append(f"the longest {longest.text if longest else ''}")
    return drawing.svg(f"Tokens per document with {_name(numbers, index)}: {', '.join(alts)}")


def _quantile(
    drawing: Drawing, x: Scale, value: Shown, key: str, ends: tuple[float, float]
) -> None:
    """Draws a line at a quantile with its number; the number stays inside the chart."""
    at = x(max(float(value.raw), x.low))
    dashes = "" if key == "p50" else "3.3 1.4"
    drawing.line([(at, ends[0]), (at, ends[1])], "ink", width=0.9, dashes=dashes)
    share = (at - x.start_px) / (x.end_px - x.start_px)
    # The median's number stands left of its line and the other right of its own: they never meet.
    is_left = share > 0.2 if key == "p50" else share > 0.8
    drawing.text(
        at - 4 if is_left else at + 4,
        ends[1] + 10,
        value,
        anchor="end" if is_left else "start",
        before=f"{key} ",
    )


def _bars(name: str, n: int) -> Drawing:
    return Drawing(name, width_px=_WIDTH_PX, height_px=_BAR_PX * n + _BAR_HEAD_PX)


def _bar_top(place: int) -> float:
    return place * _BAR_PX + _BAR_HEAD_PX + (_BAR_PX - _BAR_HEIGHT_PX) / 2


def _bar(drawing: Drawing, across: Scale, index: int, start: float, size: float) -> None:
    left, right, look = across(start), across(start + size), index % N_LOOKS
    drawing.bar(left, _bar_top(index), right - left, _BAR_HEIGHT_PX, f"t{look}", look=look)


def _bar_labels(
    drawing: Drawing, place: int, name: str, value: Shown | None, *, after: str = ""
) -> None:
    """Writes the name above the bar at the left, the number at the right."""
    base = _bar_top(place) - 6.5
    drawing.text(1, base, name, size_px=_LABEL_PX)
    shown, word = ("\u2013", "") if value is None else (value, after)
    drawing.text(_WIDTH_PX - 1, base, shown, anchor="end", size_px=_LABEL_PX, after=word)


def _shown_values(numbers: Numbers, key: str, kind: Kind) -> list[Shown | None]:
    path, dot, last = key.rpartition(".")
    is_figure = dot and last == "value"
    return [
        numbers.figure(f"tokenizers[{index}].{path}", kind)
        if is_figure
        else numbers.show(f"tokenizers[{index}].{key}", kind)
        for index in range(len(numbers.data["tokenizers"]))
    ]


def _alt(numbers: Numbers, title: str, shown: list[Shown | None]) -> str:
    values = "; ".join(
        f"{_name(numbers, index)} {value.text}"
        for index, value in enumerate(shown)
        if value is not None
    )
    return f"{title}: {values}"


def _name(numbers: Numbers, index: int) -> str:
    name = visible(numbers.data["tokenizers"][index]["name"])
    return name if len(name) <= _MAX_NAME_CHARS else name[: _MAX_NAME_CHARS - 1] + "\u2026"


def _tick(value: float) -> str:
    if value < 1:
        return "0" if value == 0 else ""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
