"""``jeton adapt plan``: ways to a new vocabulary, side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from jeton._plain import less, picked
from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    ReadingOptions,
    check_json_place,
    reading_of,
    write_json,
)
from jeton.cli.adapt.terms import model_of
from jeton.cli.declaring import OptionSet, command, option
from jeton.cli.kinds import AMOUNT, COUNT

if TYPE_CHECKING:
    from jeton.adapt.migration import MigrationPlan
    from jeton.economics.ledger import Ledger


class _Options(OptionSet):
    """Options of the command."""

    old_name: str = option("The model's tokenizer.", "T", names="--old", required=True)
    new_name: str = option("The one that it may get.", "T", names="--new", required=True)
    model: str = options.PLANNED_MODEL
    gpu: str = options.PLANNED_GPU
    output_tokens: float | None = option(
        "Tokens generated after each document, in tokens of today; of logs their mean by default.",
        "N",
        type=AMOUNT,
    )
    requests_per_day: float | None = option(
        "Requests a day, for months to break even and the best way.", "N", type=AMOUNT
    )
    logs: bool = option(
        "The inputs are request logs: output and requests a day are those of the log, and the "
        "ledger says what the requests cost."
    )
    model_map: str | None = option(
        "With --logs: your own names of models and deployments, as for `jeton audit`.",
        "F",
        type=click.Path(exists=True, dir_okay=False),
    )
    extension_tokens: int = option(
        "Tokens on which new rows alone are trained: an assumption.",
        "N",
        type=COUNT,
        default=50_000_000,
    )
    continued_tokens: int = option(
        "Tokens of continued pretraining: an assumption.", "N", type=COUNT, default=5_000_000_000
    )
    pretraining_tokens: int | None = option(
        "Tokens of a training from nothing; 20 for each parameter by default.", "N", type=COUNT
    )
    quiet: bool = option("Show no progress.")
    json_file: str | None = options.JSON_PLACE


@command()
@click.argument("inputs", nargs=-1, required=True)
def plan(inputs: tuple[str, ...], *, given: _Options, read: ReadingOptions) -> None:
    """Lay the ways to a new vocabulary side by side: nothing, extension, training on, all anew.

    Tokens are measured on the text, a document a request; with --logs on what was sent. Training
    and serving are estimated.

    \b
    Examples:
      jeton adapt plan calls.jsonl --old ./model --new domain/ --model llama-3.2-1b
      jeton adapt plan calls.jsonl --logs --old ./model --new domain/ --model llama-3.2-1b
      jeton adapt plan calls.jsonl --old llama3 --new domain/ --model ./model --requests-per-day 1e6
    """
    from jeton.adapt.deriving import change_between
    from jeton.adapt.migration import migration_plan
    from jeton.catalog.model_map import read_model_map
    from jeton.errors import AdaptError

    if given.model_map and not given.logs:
        raise click.UsageError("--model-map is for request logs; say --logs too")
    check_json_place(given.json_file)
    old = options.load_tokenizer(given.old_name)
    new = options.load_tokenizer(given.new_name)
    model, gpu, _ = model_of(given.model, given.gpu)
    try:
        change = change_between(old, new)
    except AdaptError:
        # Rows can be found by the change that lies beside the tokenizer; a plan needs none.
        change = None
    with reading_of(read, quiet=given.quiet) as reading:
        found = migration_plan(
            list(inputs),
            old=old,
            new=new,
            model=model,
            gpu=gpu,
            output_tokens=given.output_tokens,
            logs=given.logs,
            model_map=read_model_map(given.model_map) if given.model_map else None,
            requests_per_day=given.requests_per_day,
            extension_tokens=given.extension_tokens,
            continued_tokens=given.continued_tokens,
            pretraining_tokens=given.pretraining_tokens,
            change=change,
            reading=replace(reading, hold_out=0.0),
        )
    if not write_json(given.json_file, lambda: _as_json(found)):
        _show(found)


def _as_json(found: MigrationPlan) -> dict[str, Any]:
    return {
        "schema_version": "jeton.adapt_plan/1",
        **picked(found, "model gpu n_documents n_tokens_before n_tokens_after"),
        "logged": None
        if found.ledger_now is None or found.ledger_then is None
        else {
            "n_without_text": found.n_without_text,
            "n_priced": found.ledger_now.n_priced,
            "usd_now": str(found.ledger_now.usd),
            "usd_then": str(found.ledger_then.usd),
            "not_priced": [
                {
                    "model": entry.model or None,
                    "kind": entry.kind,
                    "why": entry.why,
                    "n_requests": entry.n_requests,
                }
                for entry in found.ledger_now.not_priced
            ],
        },
        "best": found.best,
        "ways": [
            {
                "name": way.name,
                "training_tokens": way.training_tokens,
                "gpu_hours": round(way.gpu_hours, 3),
                "n_gpus": way.n_gpus,
                "usd_once": str(way.usd_once),
                "tokens_ratio": round(way.tokens_ratio, 6),
                "usd_per_request": str(way.usd_per_request),
                "usd_saved_per_request": str(way.usd_saved_per_request),
                "break_even_requests": way.break_even_requests,
                "break_even_months": way.break_even_months,
                "risk": way.risk,
            }
            for way in found.ways
        ],
        "other_changes": [{"what": what, "do": how} for what, how in found.other_changes],
        "steps": list(found.steps),
        "rollback": found.rollback,
    }


def _show(found: MigrationPlan) -> None:
    from jeton.cli import tables

    share = found.n_tokens_after / max(1, found.n_tokens_before) - 1
    streams.write_line(
        f"{found.n_documents:,} documents: {found.n_tokens_before:,} tokens now, "
        f"{found.n_tokens_after:,} then ({share:+.2%}); {found.model} on {found.gpu}"
    )
    tables.print_rows(
        found.ways,
        {
            "WAY": lambda way: way.name,
            ">GPU-HOURS": lambda way: f"{way.gpu_hours:,.1f}",
            ">USD ONCE": lambda way: f"{way.usd_once:,.2f}",
            ">USD/1M REQUESTS": lambda way: f"{way.usd_per_request * 1_000_000:,.2f}",
            ">BREAK-EVEN REQUESTS": lambda way: (
                "never" if way.break_even_requests is None else f"{way.break_even_requests:,}"
            ),
            ">MONTHS": lambda way: (
                "" if way.break_even_months is None else f"{way.break_even_months:,.1f}"
            ),
        },
    )
    now, best = found.ways[0], next((w for w in found.ways if w.name == found.best), None)
    if best is not None and best is not now:
        streams.write_line(
            f"as now {now.usd_per_request * 1_000_000:,.2f} USD a million requests; with "
            f"{best.name} {best.usd_per_request * 1_000_000:,.2f} USD, "
            f"{less(now.usd_per_request, best.usd_per_request)}"
        )
    if found.ledger_now is not None and found.ledger_then is not None:
        _show_ledgers(found, found.ledger_now, found.ledger_then)
    if found.best is not None:
        streams.write_line(f"most earned after a year: {found.best}")
    for way in found.ways[1:]:
        streams.write_line(f"risk of {way.name}: {way.risk}")
    streams.write_line("also change:")
    for what, how in found.other_changes:
        streams.write_line(f"  {what}: {how}")
    streams.write_line("steps:")
    for number, step in enumerate(found.steps, start=1):
        streams.write_line(f"  {number}. {step}")
    streams.write_line(f"rollback: {found.rollback}")


def _show_ledgers(found: MigrationPlan, now: Ledger, then: Ledger) -> None:
    streams.write_line(
        f"by the ledger: {now.n_priced:,} requests cost {now.usd} USD as logged, {then.usd} USD "
        f"with the new tokens at the same prices, {less(now.usd, then.usd)}"
    )
    if found.n_without_text:
        streams.write_line(f"left out: {found.n_without_text:,} requests show no text")
    for entry in now.not_priced:
        name = f" of {entry.model}" if entry.model else ""
        words = f"not priced: {entry.n_requests:,} requests{name}: {entry.why}"
        streams.write_line(streams.shown(words))
