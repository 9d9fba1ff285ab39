"""``jeton plan fleet``: how many servers of which GPU, and the bill."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import click

from jeton.cli import options
from jeton.cli.declaring import command, option
from jeton.cli.kinds import RENTED, USD, FiniteRange
from jeton.cli.memory_options import EngineOptions
from jeton.cli.plan.writing import read_traffic, write_plan
from jeton.cli.progress import progress_bar


@command(
    sections={
        "Most used": "model gpus ttft tpot html json_file",
        "Traffic": "rate strict speed seconds window",
        "Servers": "spread",
        "Engine and price": "step_overhead_ms",
        "Output": "markdown",
    },
)
@click.argument("trace", metavar="TRACE")
def fleet(
    *,
    trace: str,
    ttft: float = options.TTFT,
    tpot: float = options.TPOT,
    rate: float | None = options.TRACE_RATE,
    strict: bool = options.STRICT_ROWS,
    model: str = options.SERVED_MODEL,
    gpus: str = option(
        "GPUs to choose from, such as h100-sxm,l40s; `jeton catalog gpus`.",
        "G,G,...",
        required=True,
    ),
    html: str | None = option("Write a page.", "F", old_names="-o"),
    speed: float = option(
        "Replay the trace N times as fast as recorded: N times the traffic.",
        "N",
        type=options.ABOVE_ZERO,
        default=1.0,
    ),
    seconds: float | None = option(
        "Take only the first S seconds of the trace.", "S", type=options.ABOVE_ZERO
    ),
    window: float = option(
        "Windows whose peak is told, and that could each have their own number of servers.",
        "S",
        type=options.ABOVE_ZERO,
        default=600.0,
    ),
    spread: Literal["turns", "prefix"] = option(
        "Balancer: each server in turn, or the one that has read the prompt's beginning.",
        default="turns",
    ),
    prefix_cache: bool = option(
        "Prompts that begin alike share memory on a server; so they do with --spread prefix."
    ),
    startup: float = option(
        "Seconds from the start of a server to its first answer, paid ahead of each window.",
        "S",
        type=FiniteRange(min=0, max=999_999),
        default=0.0,
    ),
    step_overhead_ms: float = options.STEP_OVERHEAD,
    usd_per_hour: Decimal | None = option(
        "Price of one GPU and hour, where --gpus has one; by default the catalog's low list "
        "price of each.",
        "USD",
        type=USD,
    ),
    today: tuple[int, str] | None = option(
        "GPUs that you rent now, such as 8:h100-sxm: the bill stands beside the plan's.",
        "N:GPU",
        type=RENTED,
        multiple=False,
    ),
    files: options.ReportOptions,
    held: EngineOptions,
) -> int:
    """Say how many servers of which GPU answer a trace in time, peaks included, and the bill.

    Every server of a fleet is replayed with its share of the requests, as --spread deals them out.
    The fewest are found with which 99 of 100 requests keep both limits. Exit code 1: no fleet does.

    \b
    Examples:
      jeton plan fleet trace.csv --model llama-3.1-8b --gpus h100-sxm,a100-80gb,l40s
      jeton plan fleet trace.csv --model llama-3.1-70b --gpus h100-sxm --speed 20 --ttft 1
      jeton plan fleet trace.csv --model llama-3-8b --gpus l4 --usd-per-hour 0.5 --json -
      jeton plan fleet mooncake.jsonl --model llama-3.1-8b --gpus h100-sxm --spread prefix
      jeton plan fleet trace.csv --model llama-3-8b --gpus l4,l40s --today 12:l4 --startup 180
    """
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.errors import UsageError
    from jeton.planning.serving import LatencyObjective, plan_fleet
    from jeton.report.plans import fleet as looks

    files.check(html=html)
    names = [name.strip() for name in gpus.split(",") if name.strip()]
    if not names:
        raise UsageError("no GPU is given; expected at least one")
    if held.calibrate is not None and len(names) > 1:
        raise UsageError("a log is of one GPU; expected one of --gpus with --calibrate")
    read = read_traffic(trace, rate=rate, strict=strict)
    with progress_bar(quiet=files.quiet) as on_progress:
        found = plan_fleet(
            read.part(seconds=seconds, rate_factor=speed),
            model=model,
            gpus=names,
            objective=LatencyObjective(ttft, tpot),
            window_seconds=window,
            plan=held.plan_for(find_model(model), find_gpu(names[0])),
            usd_per_hour=usd_per_hour,
            step_overhead_seconds=step_overhead_ms / 1e3,
            startup_seconds=startup,
            spread=spread,
            prefix_cache=prefix_cache,
            today=today,
            on_progress=on_progress,
        )
    write_plan(
        files,
        html=html,
        make_html=lambda: looks.fleet_html(found),
        make_json=lambda: looks.fleet_json(found),
        make_markdown=lambda: looks.fleet_markdown(found),
        words=lambda: looks.fleet_words(found),
        grids=lambda: looks.fleet_grids(found),
    )
    return 0 if found.best is not None else 1
