"""``jeton plan chunks``: prompt tokens of a step, and edges of buckets."""

from __future__ import annotations

from typing import Any

import click

from jeton.cli import outputs
from jeton.cli.finite import FiniteRange
from jeton.cli.memory_options import MEMORY_SECTION, memory_options, plan_for
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.plan.options import (
    above_zero,
    model_option,
    read_traffic,
    step_overhead_option,
    trace_options,
)
from jeton.cli.plan.writing import write_plan

_SECTIONS = {
    "Most used": ("model", "gpu", "tpot", "prompt_tokens", "output_tokens", "html", "json_file"),
    "Steps": ("running", "load", "step_overhead_ms", "max_buckets", "multiple"),
    "Traffic": ("rate", "strict"),
    "Memory": MEMORY_SECTION,
    "Output": ("markdown", "quiet"),
}

_COUNT = click.IntRange(min=1)


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("trace", metavar="[TRACE]", required=False)
@model_option
@click.option(
    "--gpu", required=True, metavar="G", help="GPU that it runs on; `jeton catalog gpus`."
)
@click.option(
    "--tpot",
    type=above_zero,
    default=0.1,
    show_default=True,
    metavar="S",
    help="Longest step, seconds: the time between two tokens while a prompt is read.",
)
@click.option(
    "--prompt-tokens", type=_COUNT, metavar="N", help="Tokens of the mean prompt, without TRACE."
)
@click.option(
    "--output-tokens", type=_COUNT, metavar="N", help="Tokens of the mean answer, without TRACE."
)
@click.option(
    "--running",
    type=_COUNT,
    metavar="N",
    help="Requests that decode beside; by default as many of mean length as the cache holds.",
)
@click.option(
    "--load",
    type=FiniteRange(min=0, min_open=True, max=10),
    default=0.8,
    show_default=True,
    metavar="N",
    help="Load of the replay that decode batches are taken from, over the rate that is sustained.",
)
@step_overhead_option
@click.option(
    "--max-buckets",
    type=click.IntRange(min=1, max=64),
    default=8,
    show_default=True,
    metavar="N",
    help="Edges of buckets at most.",
)
@click.option(
    "--multiple",
    type=_COUNT,
    default=64,
    show_default=True,
    metavar="N",
    help="Tile of the hardware, tokens: edges of prompts are multiples of it.",
)
@trace_options
@memory_options
@click.option("-o", "--html", metavar="F", help="Write a page with plots.")
@outputs.json_file_option
@outputs.markdown_option
@click.option("-q", "--quiet", is_flag=True, help="No table, only the files.")
def chunks(
    *,
    trace: str | None,
    model: str,
    gpu: str,
    tpot: float,
    prompt_tokens: int | None,
    output_tokens: int | None,
    running: int | None,
    load: float,
    step_overhead_ms: float,
    max_buckets: int,
    multiple: int,
    rate: float | None,
    strict: bool,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
    **held: Any,
) -> int:
    """Say how many prompt tokens a step reads best, and where the edges of buckets lie.

    A step reads prompt tokens beside the requests that decode. More of them use the GPU better and
    make those requests wait. The roofline tells both; the advised size keeps the limit. With a
    TRACE, edges of prompts and of decode batches are those with the least time. Exit code 1: no
    size keeps the limit.

    \b
    Examples:
      jeton plan chunks trace.csv --model llama-3.1-8b --gpu h100-sxm
      jeton plan chunks --model qwen2.5-14b --gpu l40s --prompt-tokens 3000 --output-tokens 200
      jeton plan chunks trace.csv --model llama-3-8b --gpu l4 --tpot 0.2 --json - | jq .best_tokens
    """
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.planning.serving import plan_chunks
    from jeton.report.plans import chunks as looks

    outputs.check_outputs(html=html, json_file=json_file, markdown=markdown)
    found = plan_chunks(
        None if trace is None else read_traffic(trace, rate=rate, strict=strict),
        model=model,
        gpu=gpu,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        n_decoding=running,
        tpot_seconds=tpot,
        max_buckets=max_buckets,
        multiple=multiple,
        load=load,
        plan=plan_for(find_model(model), find_gpu(gpu), **held),
        step_overhead_seconds=step_overhead_ms / 1e3,
    )
    write_plan(
        html=html,
        json_file=json_file,
        markdown=markdown,
        quiet=quiet,
        make_html=lambda: looks.chunk_html(found),
        make_json=lambda: looks.chunk_json(found),
        make_markdown=lambda: looks.chunk_markdown(found),
        words=lambda: looks.chunk_words(found),
        grids=lambda: looks.chunk_grids(found),
    )
    return 0 if found.best_tokens is not None else 1
