"""``jeton plan fleet``: how many servers of which GPU, and the bill."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import click

from jeton.cli import outputs
from jeton.cli.finite import FiniteRange
from jeton.cli.memory_options import MEMORY_SECTION, memory_options, plan_for
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.plan.options import (
    Rented,
    Usd,
    above_zero,
    limit_options,
    model_option,
    read_traffic,
    step_overhead_option,
    trace_options,
)
from jeton.cli.plan.writing import write_plan
from jeton.cli.progress import progress_bar

_SECTIONS = {
    "Most used": ("model", "gpus", "ttft", "tpot", "html", "json_file"),
    "Traffic": ("rate", "strict", "speed", "seconds", "window"),
    "Servers": ("spread", "prefix_cache", "startup"),
    "Engine and price": ("step_overhead_ms", "usd_per_hour", "today"),
    "Memory": MEMORY_SECTION,
    "Output": ("markdown", "quiet"),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("trace", metavar="TRACE")
@model_option
@click.option(
    "--gpus",
    required=True,
    metavar="G,G,...",
    help="GPUs to choose from, such as h100-sxm,l40s; `jeton catalog gpus`.",
)
@limit_options
@trace_options
@click.option(
    "--speed",
    type=above_zero,
    default=1.0,
    show_default=True,
    metavar="N",
    help="Replay the trace N times as fast as recorded: N times the traffic.",
)
@click.option(
    "--seconds", type=above_zero, metavar="S", help="Take only the first S seconds of the trace."
)
@click.option(
    "--window",
    type=above_zero,
    default=600.0,
    show_default=True,
    metavar="S",
    help="Windows whose peak is told, and that could each have their own number of servers.",
)
@click.option(
    "--spread",
    type=click.Choice(["turns", "prefix"]),
    default="turns",
    show_default=True,
    help="Balancer: each server in turn, or the one that has read the prompt's beginning.",
)
@click.option(
    "--prefix-cache",
    is_flag=True,
    help="Prompts that begin alike share memory on a server; so they do with --spread prefix.",
)
@click.option(
    "--startup",
    type=FiniteRange(min=0, max=999_999),
    default=0.0,
    show_default=True,
    metavar="S",
    help="Seconds from the start of a server to its first answer, paid ahead of each window.",
)
@click.option(
    "--today",
    type=Rented(),
    metavar="N:GPU",
    help="GPUs that you rent now, such as 8:h100-sxm: the bill stands beside the plan's.",
)
@step_overhead_option
@click.option(
    "--usd-per-hour",
    type=Usd(),
    metavar="USD",
    help="Price of one GPU and hour, where --gpus has one; by default the catalog's low list "
    "price of each.",
)
@memory_options
@click.option("-o", "--html", metavar="F", help="Write a page.")
@outputs.json_file_option
@outputs.markdown_option
@click.option("-q", "--quiet", is_flag=True, help="No table and no progress, only the files.")
def fleet(
    *,
    trace: str,
    model: str,
    gpus: str,
    ttft: float,
    tpot: float,
    rate: float | None,
    strict: bool,
    speed: float,
    seconds: float | None,
    window: float,
    spread: Literal["turns", "prefix"],
    prefix_cache: bool,
    startup: float,
    today: tuple[int, str] | None,
    step_overhead_ms: float,
    usd_per_hour: Decimal | None,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
    **held: Any,
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

    outputs.check_outputs(html=html, json_file=json_file, markdown=markdown)
    names = [name.strip() for name in gpus.split(",") if name.strip()]
    if not names:
        raise UsageError("no GPU is given; expected at least one")
    if held["calibrate"] is not None and len(names) > 1:
        raise UsageError("a log is of one GPU; expected one of --gpus with --calibrate")
    read = read_traffic(trace, rate=rate, strict=strict)
    with progress_bar(quiet=quiet) as on_progress:
        found = plan_fleet(
            read.part(seconds=seconds, rate_factor=speed),
            model=model,
            gpus=names,
            objective=LatencyObjective(ttft, tpot),
            window_seconds=window,
            plan=plan_for(find_model(model), find_gpu(names[0]), **held),
            usd_per_hour=usd_per_hour,
            step_overhead_seconds=step_overhead_ms / 1e3,
            startup_seconds=startup,
            spread=spread,
            prefix_cache=prefix_cache,
            today=today,
            on_progress=on_progress,
        )
    write_plan(
        html=html,
        json_file=json_file,
        markdown=markdown,
        quiet=quiet,
        make_html=lambda: looks.fleet_html(found),
        make_json=lambda: looks.fleet_json(found),
        make_markdown=lambda: looks.fleet_markdown(found),
        words=lambda: looks.fleet_words(found),
        grids=lambda: looks.fleet_grids(found),
    )
    return 0 if found.best is not None else 1
