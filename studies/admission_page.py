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
FIGURES = _DOCS / "studies" / "admission.json"
PART = Part("verdict", "python -m studies.admission_page TRACES")

SEEDS, REQUESTS = 8, 1500
LOADS = (0.3, 0.45, 0.6, 0.75, 0.9, 1.2)


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


def measured(folder: Path, wanted: str) -> dict[str, Any]:
    """Replay the scenes whose names hold ``wanted``; the others stay as they were."""
    known: dict[str, Any] = {}
    if wanted and FIGURES.exists():
        text = FIGURES.read_text(encoding="utf-8")
        known = {scene["name"]: scene for scene in json.loads(text)["scenes"]}
    found = []
    for scene in SCENES:
        if wanted not in scene.name:
            found += [known[scene.name]] if scene.name in known else []
            continue
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
        found.append({"name": scene.name, **_kept(data)})
        print(f"{scene.name}: {time.process_time() - start:.0f} s", file=sys.stderr)
    return {"scenes": found}


def _kept(data: dict[str, Any]) -> dict[str, Any]:
    """The figures that the page shows, and the goodput over loads."""
    place = data["loads"].index(data["load"])
    policies = [
        {
            **policy,
            "loads": [one["goodput_requests_per_second"] for one in policy["loads"]],
            "at": policy["loads"][place],
        }
        for policy in data["policies"]
    ]
    return {**data, "policies": policies}


def table(figures: dict[str, Any]) -> str:
    """The tables as Markdown."""
    blocks = [_verdicts(figures["scenes"])]
    blocks += [_policies(scene) for scene in figures["scenes"]]
    return "\n\n".join(blocks)


def _verdicts(scenes: list[dict[str, Any]]) -> str:
    lines = [
        "| trace | best policy | in time, over reserving the longest answer | over vLLM's default "
        "| over the 95% quantile | rate at equal p99, over the 95% quantile |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for scene in scenes:
        # Named by the drawings that chose; its figures are from others.
        top = next(one for one in scene["policies"] if one["label"] == scene["best"])
        lines.append(
            f"| {scene['name']} | {top['label']} "
            f"| {_ratio(top['goodput_over'].get('maximum'))} "
            f"| {_ratio(top['goodput_over'].get('dynamic'))} "
            f"| {_ratio(top['goodput_over'].get('p95'))} "
            f"| {_ratio(top['rate_at_p99_over'].get('p95'))} |"
        )
    lines += [
        "",
        "| trace | tokens in memory at most load, `peak` over `dynamic` | `conformal` over "
        "`dynamic` | `conformal` over `maximum` | `conformal` over `static` |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for scene in scenes:
        by_label = {policy["label"]: policy["utilisation_over"] for policy in scene["policies"]}
        lines.append(
            f"| {scene['name']} | {_change(by_label['peak']['dynamic'])} "
            f"| {_change(by_label['conformal']['dynamic'])} "
            f"| {_change(by_label['conformal']['maximum'])} "
            f"| {_change(by_label['conformal']['static'])} |"
        )
    return "\n".join(lines)


def _policies(scene: dict[str, Any]) -> str:
    server, limits = scene["server"], scene["objective"]
    rate = scene["policies"][0]["at"]["requests_per_second"]
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
        at = policy["at"]
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
    parser.add_argument("--scene", default="", help="only the scenes whose names hold this")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    if given.traces is not None:
        text = json.dumps(measured(given.traces, given.scene), indent=1, allow_nan=False)
        FIGURES.write_text(text + "\n", encoding="utf-8")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    return PART.update(PAGE, table(figures), check=given.check)


if __name__ == "__main__":
    raise SystemExit(main())
