"""Write the tables of docs/guides/admission.md from the public traces, and their figures as JSON.

``python -m studies.admission_page TRACES`` (the folder of the traces that the page names) replays
the traces under every policy, writes `FIGURES` and from these the page's marked part. Without
TRACES the page is written from `FIGURES` alone; ``--check`` only says whether it is up to date
(exit code 1 when not).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton.corpus.traces import read_trace
from jeton.planning.serving import LatencyObjective, plan_admission
from scripts.marked import Part

__all__ = ["main", "table"]

_DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = _DOCS / "guides" / "admission.md"
FIGURES = _DOCS / "studies" / "figures" / "admission.json"
PART = Part("verdict", "python -m studies.admission_page TRACES")

SEEDS, REQUESTS = 10, 3000
LOADS = (0.3, 0.45, 0.6, 0.75, 0.9, 1.05, 1.25)


@dataclass(frozen=True, slots=True)
class Scene:
    """Trace, server and limits."""

    name: str
    file: str
    model: str
    gpu: str
    ttft_seconds: float
    tpot_seconds: float


SCENES = (
    Scene(
        "Azure, conversations",
        "AzureLLMInferenceTrace_conv.csv",
        "qwen2.5-14b",
        "a100-40gb",
        2.0,
        0.15,
    ),
    Scene("Azure, code", "AzureLLMInferenceTrace_code.csv", "qwen2.5-14b", "a100-40gb", 4.0, 0.5),
    Scene(
        "Mooncake, conversations",
        "mooncake_conversation_trace.jsonl.zst",
        "llama-3.1-8b",
        "h100-sxm",
        10.0,
        0.3,
    ),
)


def measured(folder: Path) -> dict[str, Any]:
    """Replay every scene."""
    found = []
    for scene in SCENES:
        start = time.process_time()
        plan = plan_admission(
            read_trace(folder / scene.file),
            model=scene.model,
            gpu=scene.gpu,
            objective=LatencyObjective(scene.ttft_seconds, scene.tpot_seconds),
            loads=LOADS,
            seeds=SEEDS,
            n_requests=REQUESTS,
        )
        data = plan.to_dict()
        data["trace"]["path"] = scene.file
        found.append({"name": scene.name, **data})
        print(f"{scene.name}: {time.process_time() - start:.0f} s", file=sys.stderr)
    return {"scenes": found}


def table(figures: dict[str, Any]) -> str:
    """The tables as Markdown."""
    blocks = [_verdicts(figures["scenes"])]
    blocks += [_policies(scene) for scene in figures["scenes"]]
    return "\n\n".join(blocks)


def _verdicts(scenes: list[dict[str, Any]]) -> str:
    lines = [
        "| trace | best policy | goodput over reserving the longest answer | over vLLM's default "
        "| over the 95% quantile | rate at p99 over the 95% quantile "
        "| tokens in memory, `peak` over `dynamic` | `conformal` over `dynamic` "
        "| `prediction` over `static` |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for scene in scenes:
        by_label = {policy["label"]: policy for policy in scene["policies"]}
        top = max(scene["policies"], key=lambda policy: policy["best_goodput"]["mean"])
        lines.append(
            f"| {scene['name']} | {top['label']} "
            f"| {_ratio(top['best_goodput_over'].get('maximum'))} "
            f"| {_ratio(top['best_goodput_over'].get('dynamic'))} "
            f"| {_ratio(top['best_goodput_over'].get('p95'))} "
            f"| {_ratio(top['rate_at_p99_over'].get('p95'))} "
            f"| {_change(by_label['peak']['utilisation_over']['dynamic'])} "
            f"| {_change(by_label['conformal']['utilisation_over']['dynamic'])} "
            f"| {_change(by_label['prediction']['utilisation_over']['static'])} |"
        )
    return "\n".join(lines)


def _policies(scene: dict[str, Any]) -> str:
    server, limits = scene["server"], scene["objective"]
    most = scene["loads"].index(scene["load"])
    rate = scene["policies"][0]["loads"][most]["requests_per_second"]
    lines = [
        f"{scene['name']}: {server['model']} on {server['gpu']}, "
        f"{server['capacity_tokens']:,} tokens of cache; in time is {limits['ttft_seconds']:g} s "
        f"and {limits['tpot_seconds']:g} s a token; at {rate:.3g} requests a second.",
        "",
        "| policy | in time a second (95%) | share in time | cache in use | evictions of 1,000 "
        "| first token p50 | p99 | USD a million tokens | best of any load (95%) |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for policy in scene["policies"]:
        at = policy["loads"][most]
        usd = at["usd_per_mtok"]
        lines.append(
            f"| {policy['label']} | {_figure(at['goodput_requests_per_second'])} "
            f"| {at['in_time_share']['mean']:.0%} | {at['utilisation_share']['mean']:.0%} "
            f"| {at['evictions_per_thousand']['mean']:.1f} "
            f"| {_seconds(at['ttft_p50_seconds']['mean'])} "
            f"| {_seconds(at['ttft_p99_seconds']['mean'])} "
            f"| {'' if usd is None else format(usd['mean'], '.3f')} "
            f"| {_figure(policy['best_goodput'])} |"
        )
    return "\n".join(lines)


def _figure(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.2f} ({figure['low']:.2f}-{figure['high']:.2f})"


def _ratio(figure: dict[str, float] | None) -> str:
    if figure is None:
        return "-"
    return f"{figure['mean']:.2f} ({figure['low']:.2f}-{figure['high']:.2f})"


def _change(figure: dict[str, float] | None) -> str:
    if figure is None:
        return "-"
    mean, low, high = (100 * (figure[name] - 1) for name in ("mean", "low", "high"))
    return f"{mean:+.0f}% ({low:+.0f} to {high:+.0f})"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2f} s"


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="?", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    if given.traces is not None:
        text = json.dumps(measured(given.traces), indent=1, allow_nan=False)
        FIGURES.write_text(text + "\n", encoding="utf-8")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    return PART.update(PAGE, table(figures), check=given.check)


if __name__ == "__main__":
    raise SystemExit(main())
