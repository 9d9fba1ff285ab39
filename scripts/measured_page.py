"""Write the tables of docs/measured.md: published measurements against what we foresee.

``measured_page.py`` rewrites what stands between the page's markers; ``--check`` only says whether
it is up to date (exit code 1 when it is not).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from jeton._files import write_whole
from jeton.catalog import gpu, model
from jeton.corpus.traces import Trace
from jeton.economics import prefill_seconds
from jeton.economics.traffic import EngineSettings, Server, TrafficRun, simulate_traffic

__all__ = ["main", "replayed", "tables"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measured.md"
DATA = Path(__file__).resolve().parent / "published_serving.json"
BEGIN = "<!-- tables: begin (written by scripts/measured_page.py) -->"
END = "<!-- tables: end -->"


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


def tables() -> str:
    """The tables as Markdown."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    lines = [
        "| model | GPUs | prompt | published | foreseen | deviation | source |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for entry in data["prefill"]:
        seconds = prefill_seconds(
            model(entry["model"]), gpu(entry["gpu"]), entry["tokens"], n_gpus=entry["n_gpus"]
        )
        ms = seconds * 1e3
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
    for entry in data["serving"]:
        rate = replayed(entry).output_tokens_per_second
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


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    fresh = f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"
    if options.check:
        if fresh != text:
            sys.stderr.write("error: docs/measured.md is stale\n")
            sys.stderr.write("hint: python scripts/measured_page.py\n")
        return int(fresh != text)
    write_whole(PAGE, fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
