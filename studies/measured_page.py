"""Write tables and plot of measured.md: published measurements against what we foresee.

``python -m studies.measured_page`` rewrites what stands between the page's markers, and the plot;
``--check`` only says whether they are up to date (exit code 1 when they are not).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jeton._files import write_whole
from jeton.catalog import gpu, model
from jeton.corpus.traces import Trace
from jeton.economics import prefill_seconds
from jeton.economics.traffic import EngineSettings, Server, TrafficRun, simulate_traffic
from scripts.marked import Part
from studies.claims.figures import Figure, Figures
from studies.claims.plots import Plot, digest, draw, drawn_from

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["main", "replayed", "tables"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "studies" / "measured.md"
DATA = Path(__file__).resolve().parent / "published_serving.json"
PLOT = ROOT / "docs" / "studies" / "figures" / "measured.svg"
TOLERANCE = 0.25
"""Tolerance of times, as the project asks of calibrated points."""
PART = Part("tables", "python -m studies.measured_page")


def replayed(entry: dict[str, Any]) -> TrafficRun:
    """Replay a published load test with the default shares of the datasheet."""
    n = entry["n_requests"]
    trace = Trace.of(np.zeros(n), np.full(n, entry["prompt"]), np.full(n, entry["output"]))
    is_one_batch = entry["clients"] is None
    settings = EngineSettings(
        max_requests=entry["batch"],
        clients=entry["clients"],
        prefill="whole" if is_one_batch else "chunked",
        step_tokens=entry["batch"] * (entry["prompt"] + 1) + 1 if is_one_batch else 2048,
    )
    server = Server(
        model(entry["model"]),
        gpu(entry["gpu"]),
        # One batch was sized by hand to fill the card.
        reserved_share=0.0 if is_one_batch else 0.1,
    )
    return simulate_traffic(trace, server, settings=settings)


def compared() -> tuple[list[tuple[dict[str, Any], float]], list[tuple[dict[str, Any], float]]]:
    """Published prompts with the milliseconds foreseen, load tests with the tokens a second."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    prefill = [
        (
            entry,
            prefill_seconds(
                model(entry["model"]), gpu(entry["gpu"]), entry["tokens"], n_gpus=entry["n_gpus"]
            )
            * 1e3,
        )
        for entry in data["prefill"]
    ]
    serving = [(entry, replayed(entry).output_tokens_per_second) for entry in data["serving"]]
    return prefill, serving


def tables() -> str:
    """The tables as Markdown."""
    prefill, serving = compared()
    lines = [
        "| model | GPUs | prompt | published | foreseen | deviation | source |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for entry, ms in prefill:
        lines.append(
            f"| {entry['model']} | {entry['n_gpus']} x {entry['gpu']} | {entry['tokens']:,} tokens "
            f"| {entry['milliseconds']:,} ms | {ms:,.0f} ms "
            f"| {ms / entry['milliseconds'] - 1:+.0%} "
            f"| {entry['source']} |"
        )
    lines += [
        "",
        "| model | GPU | load | published | simulated | deviation | source |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for entry, rate in serving:
        load = (
            f"batch of {entry['batch']}"
            if entry["clients"] is None
            else (f"{entry['clients']} client{'s' * (entry['clients'] > 1)}")
        )
        lines.append(
            f"| {entry['model']} | {entry['gpu']} | {load}, {entry['prompt']:,} + "
            f"{entry['output']:,} tokens | {entry['tokens_per_second']:,} tokens/s "
            f"| {rate:,.0f} tokens/s | {rate / entry['tokens_per_second'] - 1:+.0%} "
            f"| {entry['source']} |"
        )
    return "\n".join(lines)


def figures() -> Figures:
    """The points of the plot: seconds of a prompt, and of an output token of a whole load."""
    prefill, serving = compared()
    points: dict[str, Figure] = {}
    for place, (entry, ms) in enumerate(prefill):
        points[f"prompts.{place:02}.published"] = Figure(entry["milliseconds"] / 1e3, "seconds")
        points[f"prompts.{place:02}.foreseen"] = Figure(ms / 1e3, "seconds")
    for place, (entry, rate) in enumerate(serving):
        points[f"loads.{place:02}.published"] = Figure(1 / entry["tokens_per_second"], "seconds")
        points[f"loads.{place:02}.foreseen"] = Figure(1 / rate, "seconds")
    return Figures(points)


def _draw(axes: Axes, points: Figures) -> None:
    for kind, label, marker, color in (
        ("prompts", "reading a prompt", "s", "#c8553d"),
        ("loads", "an output token of a load", "o", "#1b6ca8"),
    ):
        found = points.below(kind)
        keys = sorted({key.partition(".")[0] for key in found})
        axes.scatter(
            [1e3 * found[f"{key}.published"].value for key in keys],
            [1e3 * found[f"{key}.foreseen"].value for key in keys],
            label=label,
            marker=marker,
            color=color,
            s=22,
            zorder=3,
        )
    ends = np.array([0.1, 1000.0])
    axes.plot(ends, ends, color="#444444", linewidth=1)
    for share, name in ((TOLERANCE, "25% off"), (-TOLERANCE, None)):
        axes.plot(ends, ends * (1 + share), color="#444444", linestyle=":", linewidth=1, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("published, ms")
    axes.set_ylabel("foreseen, ms")
    axes.legend()


MEASURED = Plot(
    "Foreseen over published times with the assumed shares, on logarithmic axes: load tests are "
    "foreseen slower than published throughout, short prompts faster",
    ("prompts.", "loads."),
    _draw,
)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    points = figures()
    drawn = drawn_from(PLOT.read_text(encoding="utf-8")) if PLOT.is_file() else ""
    is_drawn = drawn == digest(MEASURED, points)
    code = PART.update(PAGE, tables(), check=options.check)
    if is_drawn:
        return code
    if options.check:
        sys.stderr.write(f"error: {PLOT.name} is stale\nhint: {PART.command}\n")
        return 1
    write_whole(PLOT, draw(MEASURED, points))
    return code


if __name__ == "__main__":
    sys.exit(main())
