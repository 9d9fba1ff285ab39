"""``jeton plan chunks``: prompt tokens of a step, and edges of buckets."""

from __future__ import annotations

import click

from jeton.cli import options
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, FiniteRange
from jeton.cli.memory_options import EngineOptions
from jeton.cli.plan.writing import read_traffic, write_plan


@command(
    sections={"Most used": "model", "Steps": "running", "Output": "markdown"},
)
@click.argument("trace", metavar="[TRACE]", required=False)
def chunks(
    *,
    trace: str | None,
    rate: float | None = options.TRACE_RATE,
    strict: bool = options.STRICT_ROWS,
    model: str = options.SERVED_MODEL,
    gpu: str = options.SERVED_GPU,
    tpot: float = option(
        "Longest step, seconds: the time between two tokens while a prompt is read.",
        "S",
        type=options.ABOVE_ZERO,
        default=0.1,
    ),
    prompt_tokens: int | None = option(
        "Tokens of the mean prompt, without TRACE.", "N", type=COUNT
    ),
    output_tokens: int | None = option(
        "Tokens of the mean answer, without TRACE.", "N", type=COUNT
    ),
    html: str | None = option("Write a page with plots.", "F", old_names="-o"),
    running: int | None = option(
        "Requests that decode beside; by default as many of mean length as the cache holds.",
        "N",
        type=COUNT,
    ),
    load: float = option(
        "Load of the replay that decode batches are taken from, over the rate that is sustained.",
        "N",
        type=FiniteRange(min=0, min_open=True, max=10),
        default=0.8,
    ),
    step_overhead_ms: float = options.STEP_OVERHEAD,
    max_buckets: int = option(
        "Edges of buckets at most.", "N", type=click.IntRange(min=1, max=64), default=8
    ),
    multiple: int = option(
        "Tile of the hardware, tokens: edges of prompts are multiples of it.",
        "N",
        type=COUNT,
        default=64,
    ),
    files: options.ReportOptions,
    held: EngineOptions,
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

    files.check(html=html)
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
        plan=held.plan_for(find_model(model), find_gpu(gpu)),
        step_overhead_seconds=step_overhead_ms / 1e3,
    )
    write_plan(
        files,
        html=html,
        make_html=lambda: looks.chunk_html(found),
        make_json=lambda: looks.chunk_json(found),
        make_markdown=lambda: looks.chunk_markdown(found),
        words=lambda: looks.chunk_words(found),
        grids=lambda: looks.chunk_grids(found),
    )
    return 0 if found.best_tokens is not None else 1
