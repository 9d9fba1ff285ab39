"""``jeton memory``: what a model leaves for requests on a GPU, part by part."""

from __future__ import annotations

from typing import Any

import click

from jeton.cli import options, streams, tables
from jeton.cli.memory_options import memory_options, memory_plan

__all__ = ["memory"]

_GIB = 2**30


@click.command()
@click.argument("model")
@click.option(
    "--gpu",
    "gpus",
    metavar="G",
    multiple=True,
    required=True,
    help="GPU that the model runs on; `jeton catalog gpus` lists them. Repeatable.",
)
@click.option(
    "--request-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Length of a request, prompt and output: how many of them fit. By default the model's "
    "context.",
)
@memory_options
@options.json_option
def memory(
    *,
    model: str,
    gpus: tuple[str, ...],
    request_tokens: int | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Show the room that a model leaves for requests on a GPU, and the longest context.

    MODEL is a name of the catalog, a published name (Qwen/Qwen2.5-7B-Instruct, llama-3.1-8b-fp8),
    a folder with a config.json, or such a file. Sizes are GiB of each GPU, as engines print them
    when they start. Exit code 1: it does not fit one of the GPUs.

    \b
    Examples:
      jeton memory gpt-oss-120b --gpu h100
      jeton memory qwen2.5-14b --gpu rtx-4090 --tensor-parallel 2
      jeton memory ./my-model --gpu l4 --gpu a10 --weights int4 --kv-dtype fp8
    """
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.economics.serving.memory_fit import fit_on, plan_summary

    facts = find_model(model)
    plan = memory_plan(**given)
    length = request_tokens or facts.context_tokens
    found = [fit_on(facts, find_gpu(name), plan, request_tokens=length) for name in gpus]
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.memory/1",
                "model": plan_summary(facts, plan),
                "gpus": [fit.to_dict() for fit in found],
            }
        )
    else:
        tables.print_facts(
            (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
            for name, value in plan_summary(facts, plan).items()
            if value is not None
        )
        streams.write_line("")
        _print_fits(found, length)
    return 0 if all(fit.budget.fits for fit in found) else 1


def _print_fits(found: list[Any], length: int) -> None:
    headings = [
        "GPUS",
        "USABLE",
        "WEIGHTS",
        "ACTIVATIONS",
        "ENGINE",
        "KV CACHE",
        "KV TOKENS",
        "LONGEST CONTEXT",
        f"REQUESTS OF {length:,}",
    ]
    rows = []
    for fit in found:
        budget = fit.budget
        rows.append(
            [
                fit.group,
                *(
                    f"{size / _GIB:,.2f}"
                    for size in (
                        budget.usable_bytes,
                        budget.weight_bytes,
                        budget.activation_bytes,
                        budget.engine_bytes,
                        budget.kv_bytes,
                    )
                ),
                f"{fit.kv_cache_tokens:,}",
                f"{fit.longest_context_tokens:,}",
                f"{fit.n_requests:,}",
            ]
        )
    tables.print_table(headings, rows, right=headings[1:])
    streams.say("sizes in GiB of each GPU; estimated, see docs/guides/serving-memory.md")
    for fit in found:
        for note in fit.notes:
            streams.say(note)
