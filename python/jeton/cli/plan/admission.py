"""``jeton plan admission``: which policy of admission serves a trace best."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import outputs
from jeton.cli.finite import FiniteRange
from jeton.cli.memory_options import MEMORY_SECTION, memory_options, plan_for
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.plan.options import (
    NumberList,
    Usd,
    limit_options,
    model_option,
    read_traffic,
    step_overhead_option,
    trace_options,
)
from jeton.cli.plan.writing import write_plan
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.economics.admission import Policy

_SECTIONS = {
    "Most used": ("model", "gpu", "objective", "ttft", "tpot", "html", "json_file"),
    "Traffic": ("rate", "strict", "seeds", "requests", "window", "loads"),
    "Policies": ("policies", "prefix_cache", "step_overhead_ms", "usd_per_hour"),
    "Memory": MEMORY_SECTION,
    "Output": ("markdown", "quiet"),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("trace", metavar="TRACE")
@model_option
@click.option(
    "--gpu", required=True, metavar="G", help="GPU that it runs on; `jeton catalog gpus`."
)
@click.option(
    "--objective",
    type=click.Choice(["goodput", "ttft", "cost", "utilisation"]),
    default="goodput",
    show_default=True,
    help="Figure that is sought: most answers in time a second, the quickest first token, fewest "
    "dollars for tokens in time, the fullest cache.",
)
@limit_options
@trace_options
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="P",
    help="Policy to compare, such as peak or peak,shortest for the shortest predicted request "
    "first. Repeatable; by default all, in the usual order, and three the other way.",
)
@click.option(
    "--loads",
    type=NumberList(),
    metavar="N,N,...",
    help="Rates of the requests over the rate that the server sustains; by default around the "
    "load with the most answers in time.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=1000),
    default=8,
    show_default=True,
    metavar="N",
    help="Drawings of the trace's windows; intervals are over them.",
)
@click.option(
    "--requests",
    type=click.IntRange(min=20, max=1_000_000),
    default=1500,
    show_default=True,
    metavar="N",
    help="Requests of a drawing.",
)
@click.option(
    "--window",
    type=FiniteRange(min=0, min_open=True),
    metavar="S",
    help="Length of the windows, seconds; by default 60, less for a trace below 8 minutes.",
)
@click.option(
    "--prefix-cache",
    is_flag=True,
    help="Prompts that begin alike share memory, for traces with hash_ids.",
)
@step_overhead_option
@click.option(
    "--usd-per-hour",
    type=Usd(),
    metavar="USD",
    help="Price of one GPU and hour; by default the catalog's low list price.",
)
@memory_options
@click.option("-o", "--html", metavar="F", help="Write a page with plots.")
@outputs.json_file_option
@outputs.markdown_option
@click.option("-q", "--quiet", is_flag=True, help="No table and no progress, only the files.")
def admission(
    *,
    trace: str,
    model: str,
    gpu: str,
    objective: Literal["goodput", "ttft", "cost", "utilisation"],
    ttft: float,
    tpot: float,
    rate: float | None,
    strict: bool,
    policies: tuple[str, ...],
    loads: tuple[float, ...] | None,
    seeds: int,
    requests: int,
    window: float | None,
    prefix_cache: bool,
    step_overhead_ms: float,
    usd_per_hour: Decimal | None,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
    **held: Any,
) -> int:
    """Say which policy of admission serves a trace best, and the settings that come closest.

    Windows of the trace are drawn and replayed at several loads under each policy. Policies reserve
    the longest answer, the mean, the 95% quantile or the conformal bound; hand out pages as tokens
    come; or look at the memory's future peak. Answers in time, waits, evictions and dollars are
    told for each, with intervals over seeds. Exit code 1: half of the requests are late under all.

    \b
    Examples:
      jeton plan admission trace.csv --model llama-3.1-8b --gpu h100-sxm
      jeton plan admission trace.csv --model qwen2.5-14b --gpu a100-40gb --ttft 1 -o plan.html
      jeton plan admission trace.jsonl --model llama-3-8b --gpu l4 --policy dynamic --policy peak
      jeton plan admission trace.csv --model llama-3-8b --gpu a10g --json - | jq .best
    """
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.planning.serving import DEFAULT_POLICIES, LatencyObjective, plan_admission
    from jeton.report.plans import admission as looks

    outputs.check_outputs(html=html, json_file=json_file, markdown=markdown)
    aims = LatencyObjective(ttft, tpot, objective)
    chosen = tuple(_policy(text) for text in policies) or DEFAULT_POLICIES
    plan = plan_for(find_model(model), find_gpu(gpu), **held)
    read = read_traffic(trace, rate=rate, strict=strict)
    with progress_bar(quiet=quiet) as on_progress:
        found = plan_admission(
            read,
            model=model,
            gpu=gpu,
            objective=aims,
            policies=chosen,
            loads=loads,
            seeds=seeds,
            n_requests=requests,
            window_seconds=window,
            plan=plan,
            prefix_cache=prefix_cache,
            step_overhead_seconds=step_overhead_ms / 1e3,
            usd_per_hour=usd_per_hour,
            on_progress=on_progress,
        )
    write_plan(
        html=html,
        json_file=json_file,
        markdown=markdown,
        quiet=quiet,
        make_html=lambda: looks.admission_html(found),
        make_json=lambda: looks.admission_json(found),
        make_markdown=lambda: looks.admission_markdown(found),
        words=lambda: looks.admission_words(found),
        grids=lambda: looks.admission_grids(found),
    )
    return 0 if found.is_met else 1


def _policy(text: str) -> Policy:
    """A policy such as ``peak`` or ``peak,shortest``.

    Raises:
        UsageError: There is no such policy or order.
    """
    from jeton.economics.admission import ADMISSION_POLICIES, Policy

    name, _, order = text.partition(",")
    known = next((one for one in ADMISSION_POLICIES if one == name), None)
    if known is None or order not in ("", "first-come", "shortest"):
        raise UsageError(
            f"--policy {text}: there is no such policy; expected one of "
            f"{', '.join(ADMISSION_POLICIES)}, each alone or with ,shortest"
        )
    return Policy(known, order="shortest" if order == "shortest" else "first-come")
