"""``jeton plan admission``: which policy of admission serves a trace best."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options
from jeton.cli.declaring import command, option
from jeton.cli.kinds import NUMBERS, POSITIVE, USD
from jeton.cli.memory_options import EngineOptions
from jeton.cli.plan.writing import read_traffic, write_plan
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.economics.admission import Policy


@command(
    sections={
        "Most used": "model gpu objective ttft tpot html json_file",
        "Traffic": "rate strict seeds requests window loads",
        "Policies": "policies",
        "Output": "markdown",
    },
)
@click.argument("trace", metavar="TRACE")
def admission(
    *,
    trace: str,
    ttft: float = options.TTFT,
    tpot: float = options.TPOT,
    rate: float | None = options.TRACE_RATE,
    strict: bool = options.STRICT_ROWS,
    model: str = options.SERVED_MODEL,
    gpu: str = options.SERVED_GPU,
    objective: Literal["goodput", "ttft", "cost", "utilisation"] = option(
        "Figure that is sought: most answers in time a second, the quickest first token, fewest "
        "dollars for tokens in time, the fullest cache.",
        default="goodput",
    ),
    html: str | None = option("Write a page with plots.", "F", old_names="-o"),
    seeds: int = option(
        "Drawings of the trace's windows; intervals are over them.",
        "N",
        type=click.IntRange(min=1, max=1000),
        default=8,
    ),
    requests: int = option(
        "Requests of a drawing.", "N", type=click.IntRange(min=20, max=1_000_000), default=1500
    ),
    window: float | None = option(
        "Length of the windows, seconds; by default 60, less for a trace below 8 minutes.",
        "S",
        type=POSITIVE,
    ),
    loads: tuple[float, ...] | None = option(
        "Rates of the requests over the rate that the server sustains; by default around the "
        "load with the most answers in time.",
        "N,N,...",
        type=NUMBERS,
        multiple=False,
    ),
    policies: tuple[str, ...] = option(
        "Policy to compare, such as peak or peak,shortest for the shortest predicted request "
        "first. Repeatable; by default all, in the usual order, and three the other way.",
        "P",
        names="--policy",
    ),
    prefix_cache: bool = option("Prompts that begin alike share memory, for traces with hash_ids."),
    step_overhead_ms: float = options.STEP_OVERHEAD,
    usd_per_hour: Decimal | None = option(
        "Price of one GPU and hour; by default the catalog's low list price.", "USD", type=USD
    ),
    files: options.ReportOptions,
    held: EngineOptions,
) -> int:
    """Say which policy of admission serves a trace best, and the settings that come closest.

    Windows of the trace are drawn and replayed at several loads under each policy. Policies reserve
    the longest answer, the mean, the 95% quantile or the conformal bound; hand out pages as tokens
    come; or look at the memory's future peak. Answers in time, waits, evictions and dollars are
    told for each, with intervals over seeds. Exit code 1: half of the requests are late under all.

    \b
    Examples:
      jeton plan admission trace.csv --model llama-3.1-8b --gpu h100-sxm
      jeton plan admission trace.csv --model qwen2.5-14b --gpu a100-40gb --ttft 1 --html plan.html
      jeton plan admission trace.jsonl --model llama-3-8b --gpu l4 --policy dynamic --policy peak
      jeton plan admission trace.csv --model llama-3-8b --gpu a10g --json - | jq .best
    """
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.planning.serving import DEFAULT_POLICIES, LatencyObjective, plan_admission
    from jeton.report.plans import admission as looks

    files.check(html=html)
    aims = LatencyObjective(ttft, tpot, objective)
    chosen = tuple(_policy(text) for text in policies) or DEFAULT_POLICIES
    plan = held.plan_for(find_model(model), find_gpu(gpu))
    read = read_traffic(trace, rate=rate, strict=strict)
    with progress_bar(quiet=files.quiet) as on_progress:
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
        files,
        html=html,
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
