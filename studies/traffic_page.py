"""Write the tables of docs/guides/traffic.md from the public traces.

``python -m studies.traffic_page TRACES`` (the folder of the traces that the page names) rewrites
what stands between the page's markers; ``--check`` only says whether it is up to date (exit code 1
when not). ``--time N`` replays N requests, drawn from Azure's conversations, and says how long that
takes.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np

from jeton.catalog import gpu, model
from jeton.corpus.traces import Trace, read_trace
from jeton.economics.admission import ADMISSION_POLICIES, ORDERS
from jeton.economics.traffic import (
    EngineSettings,
    Policy,
    Server,
    compare_traffic,
    simulate_traffic,
)
from scripts.marked import Part
from studies.traffic_claims import allocation_claim, padding_claim

__all__ = ["main", "tables"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "traffic.md"
PART = Part("tables", "python -m studies.traffic_page TRACES")

TRACES = {
    "Azure, conversations": "AzureLLMInferenceTrace_conv.csv",
    "Azure, code": "AzureLLMInferenceTrace_code.csv",
    "Mooncake, conversations": "mooncake_conversation_trace.jsonl.zst",
    "arXiv summaries (lengths)": (
        "vidur_arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv.zst"
    ),
}
SPEEDS = (0.2, 0.3)
PREFIX_SPEEDS = (0.1, 0.2)
PREFIX_GPUS = (1, 4)
SERVERS = (
    ("Azure, conversations", "qwen2.5-14b", "a100-40gb"),
    ("Azure, conversations", "llama-3.1-8b", "a100-80gb"),
    ("Azure, code", "qwen2.5-14b", "a100-40gb"),
    ("Mooncake, conversations", "llama-3.1-8b", "h100-sxm"),
)


def tables(folder: Path) -> str:
    """The tables as Markdown."""
    traces = {
        name: read_trace(folder / file, requests_per_second=2.0) for name, file in TRACES.items()
    }
    return "\n\n".join(
        (
            _policies(traces["Azure, conversations"]),
            _allocation(traces),
            _prefixes(traces["Mooncake, conversations"]),
            _padding(traces),
        )
    )


def _policies(trace: Trace) -> str:
    lines = [
        "| policy | speed | first token p50 | p99 | per output token | peak memory | of it empty "
        "| preempted | behind at the end | USD a request |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for factor in SPEEDS:
        report = compare_traffic(
            trace, Server(model("qwen2.5-14b"), gpu("a100-40gb")), rate_factor=factor
        )
        lines += [
            f"| {run.policy} | {factor:g} | {_seconds(run.ttft_seconds.p50)} "
            f"| {_seconds(run.ttft_seconds.p99)} | {run.tpot_seconds.mean * 1e3:.1f} ms "
            f"| {run.peak_bytes / 1e9:.1f} GB | {run.waste_share:.1%} | {run.n_preemptions:,} "
            f"| {run.n_backlog:,} | ${run.usd_per_request:.6f} |"
            for run in report.runs
        ]
    return "\n".join(lines)


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.2f} s"


def _allocation(traces: dict[str, Trace]) -> str:
    lines = [
        "| trace, model, GPU | tokens/s static | dynamic | prediction | prediction over static "
        "| prediction over dynamic | memory that holds tokens (static, dynamic, prediction) |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, shape, device in SERVERS:
        claim = allocation_claim(traces[name], Server(model(shape), gpu(device)), with_rates=False)
        static, dynamic, prediction = (f"{v:,.0f}" for v in claim.tokens_per_second.values())
        held = ", ".join(f"{share:.0%}" for share in claim.held_share.values())
        lines.append(
            f"| {name}, {shape}, {device} | {static} | {dynamic} | {prediction} "
            f"| {claim.lift('prediction', 'static'):+.0%} "
            f"| {claim.lift('prediction', 'dynamic'):+.1%} | {held} |"
        )
    return "\n".join(lines)


def _prefixes(trace: Trace) -> str:
    lines = [
        "| GPUs | speed | prefix cache | tokens found | first token p50 | p99 "
        "| time at work | USD a request |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    n_tokens = int(trace.prompt_tokens.sum())
    for n_gpus in PREFIX_GPUS:
        for factor in PREFIX_SPEEDS:
            for is_shared in (False, True):
                run = simulate_traffic(
                    trace.part(rate_factor=factor * n_gpus),
                    Server(model("llama-3.1-8b"), gpu("h100-sxm"), n_gpus=n_gpus),
                    settings=EngineSettings(prefix_cache=is_shared),
                )
                lines.append(
                    f"| {n_gpus} | {factor * n_gpus:g} | {'on' if is_shared else 'off'} "
                    f"| {run.cached_tokens / n_tokens:.1%} | {_seconds(run.ttft_seconds.p50)} "
                    f"| {_seconds(run.ttft_seconds.p99)} | {run.busy_share:.0%} "
                    f"| ${run.usd_per_request:.6f} |"
                )
    lines.append(f"| any | | of endless memory | {_seen_before(trace) / n_tokens:.1%} | | | | |")
    return "\n".join(lines)


def _seen_before(trace: Trace) -> int:
    """Prompt tokens that a cache would find that forgets nothing, requests one after the other."""
    size, found = trace.block_tokens, 0
    seen: set[int] = set()
    for prompt, blocks in zip(trace.prompt_tokens.tolist(), trace.prompt_blocks(), strict=True):
        for block in blocks[: (prompt - 1) // size]:
            if block not in seen:
                break
            found += size
        seen.update(blocks[: prompt // size])
    return found


def _padding(traces: dict[str, Trace]) -> str:
    lines = [
        "| prompts of | static wastes | sequences cut | tokens lost | padded to the longest of 32 "
        "saves | the same in batches of like length |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, trace in traces.items():
        claim = padding_claim(trace.prompt_tokens)
        lines.append(
            f"| {name} | {claim.static_waste_share:.0%} | {claim.truncated_share:.0%} "
            f"| {claim.lost_token_share:.0%} | {claim.dynamic_saved_share:.1%} "
            f"| {claim.bucketed_saved_share:.0%} |"
        )
    return "\n".join(lines)


def timed(folder: Path, n_requests: int) -> str:
    """Processor seconds of replaying so many requests, under each policy."""
    trace = read_trace(folder / TRACES["Azure, conversations"])
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(trace), n_requests)
    # As many a second as leave an A100 hardly idle.
    drawn = Trace.of(
        np.cumsum(rng.exponential(1 / 5.0, n_requests)),
        trace.prompt_tokens[rows],
        trace.output_tokens[rows],
    )
    server = Server(model("llama-3.1-8b"), gpu("a100-80gb"))
    lines = []
    for name, order in itertools.product(ADMISSION_POLICIES, ORDERS):
        policy = Policy(name, order=order)
        begun = time.process_time()
        run = simulate_traffic(drawn, server, policy=policy)
        seconds = time.process_time() - begun
        lines.append(
            f"{policy.label}: {n_requests:,} requests in {seconds:.1f} s "
            f"({seconds / n_requests * 1e6:.1f} microseconds each), {run.n_answered:,} answered"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("traces", type=Path, help="folder of the traces")
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    parser.add_argument("--time", type=int, metavar="N", help="replay N requests, say how long")
    options = parser.parse_args(arguments)
    if options.time:
        sys.stdout.write(f"{timed(options.traces, options.time)}\n")
        return 0
    return PART.update(PAGE, tables(options.traces), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
