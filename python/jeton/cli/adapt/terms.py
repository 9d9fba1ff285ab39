"""``jeton adapt terms``: what is worth a slot of the vocabulary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton._plain import picked
from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    ReadingOptions,
    check_json_place,
    reading_of,
    write_json,
)
from jeton.cli.declaring import OptionSet, command, option
from jeton.cli.kinds import AMOUNT, COUNT

if TYPE_CHECKING:
    from jeton.adapt.term_worth import TermWorth

_N_SHOWN = 25


class _Options(OptionSet):
    """Options of the command."""

    tokenizer_name: str = options.TOKENIZER
    terms_file: str | None = option("Words to look at first: one a line.", "FILE", names="--terms")
    n_slots: int | None = option(
        "Slots to look at: 5,000 by default, or those of the terms if there are any.",
        "N",
        names="--slots",
        type=COUNT,
    )
    term_form: Literal["space", "bare", "both"] = option(
        "How terms stand in text: behind a space, without one, or a token of each.", default="space"
    )
    model_name: str | None = option(
        "Model that would have the slots: a name of `jeton catalog models`, or its folder. Says "
        "where the next slot costs more than it saves; a folder also tells rows never trained.",
        "M",
        names="--model",
    )
    gpu_name: str = option("GPU that the model runs on.", "G", names="--gpu", default="h100-sxm")
    output_tokens: float = option(
        "Tokens generated after each document, in tokens of today.", "N", type=AMOUNT, default=0.0
    )
    requests_per_day: float | None = option(
        "Requests a day, for money by the month; a document is a request.", "N", type=AMOUNT
    )
    pattern: str | None = options.PATTERN
    special_tokens: tuple[str, ...] = options.SPECIAL_ID
    quiet: bool = option("Show no progress.")
    json_file: str | None = options.JSON_PLACE


@command()
@click.argument("inputs", nargs=-1, required=True)
def terms(inputs: tuple[str, ...], *, given: _Options, read: ReadingOptions) -> None:
    """List the words that are worth a slot of the vocabulary, and where to stop.

    Tokens saved are counted by cutting the text again, each slot beyond those before it. The text
    is read two or three times; nothing is kept apart.

    \b
    Examples:
      jeton adapt terms notes.jsonl --tokenizer ./model --slots 2000
      jeton adapt terms notes.jsonl -t cl100k_base --terms drugs.txt --json terms.json
      jeton adapt terms notes.jsonl -t ./model --model ./model --requests-per-day 100000
    """
    from jeton.adapt.term_worth import term_worth
    from jeton.corpus import read_terms

    check_json_place(given.json_file)
    base = options.load_tokenizer(
        given.tokenizer_name, pattern=given.pattern, special_tokens=given.special_tokens
    )
    model, gpu, folder = model_of(given.model_name, given.gpu_name)
    with reading_of(read, quiet=given.quiet) as reading:
        found = term_worth(
            list(inputs),
            base=base,
            terms=read_terms(given.terms_file) if given.terms_file else (),
            n_slots=given.n_slots,
            term_form=given.term_form,
            model=model,
            gpu=gpu,
            model_folder=folder,
            output_tokens=given.output_tokens,
            requests_per_day=given.requests_per_day,
            reading=replace(reading, hold_out=0.0),
        )
    if not write_json(given.json_file, lambda: _as_json(found)):
        _show(found, has_model=model is not None)


def model_of(name: str | None, gpu_name: str) -> tuple[Any, Any, Path | None]:
    """Returns the facts of a model and a GPU, and the model's folder; nothing without a name."""
    if name is None:
        return None, None, None
    from jeton import catalog

    folder = Path(name) if Path(name).is_dir() else None
    facts = catalog.model_from_config(folder) if folder is not None else catalog.model(name)
    return facts, catalog.gpu(gpu_name), folder


def _as_json(found: TermWorth) -> dict[str, Any]:
    stop = found.stop
    return {
        "schema_version": "jeton.adapt_terms/1",
        **picked(found, "n_documents n_bytes n_tokens_before n_tokens_after"),
        "stop": None
        if stop is None
        else {
            "n_slots": stop.n_slots,
            "row_bytes": stop.row_bytes,
            "usd_per_request_before": str(stop.usd_per_request_before),
            "usd_per_request_after": str(stop.usd_per_request_after),
            "usd_per_month": None if stop.usd_per_month is None else str(stop.usd_per_month),
            "is_at_an_end": stop.is_at_an_end,
            "reason": stop.reason,
        },
        "free_slots": {
            "holes": list(found.free.holes),
            "padding_rows": found.free.padding_rows,
            "reserved": list(found.free.reserved),
            "unreachable": list(found.free.unreachable),
            "undertrained": list(found.free.undertrained),
        },
        "known_terms": list(found.known_terms),
        "left_out_terms": dict(found.left_out_terms),
        "slots": [
            {
                "text": slot.token.token_bytes.decode("utf-8", "replace"),
                "origin": slot.token.origin,
                "n_old_tokens": len(slot.token.parts),
                "n_saved": slot.n_saved,
                "half_width": round(slot.half_width, 1),
                "n_documents": slot.n_documents,
                "n_saved_together": slot.n_saved_together,
            }
            for slot in found.slots
        ],
    }


def _show(found: TermWorth, *, has_model: bool) -> None:
    from jeton._plain import counted
    from jeton.cli import tables

    before, after = found.n_tokens_before, found.n_tokens_after
    share = f" ({(after - before) / before:+.2%})" if before else ""
    streams.write_line(
        f"{counted(found.n_documents, 'document')}: {before:,} tokens now, {after:,} with "
        f"{len(found.slots):,} slots{share}"
    )
    free = found.free
    streams.write_line(
        f"slots that are there: {len(free.holes):,} holes, {free.padding_rows:,} rows of padding, "
        f"{len(free.reserved):,} reserved; {len(free.unreachable):,} tokens are unreachable, "
        f"{len(free.undertrained):,} have a row that was never trained"
    )
    if found.stop is None and has_model:
        streams.write_line(
            "the model has no output layer, so that a slot costs a row of memory and no time"
        )
    if found.stop is not None:
        stop = found.stop
        more = "; more may pay: look at more slots" if stop.is_at_an_end else ""
        streams.write_line(f"stop after {stop.n_slots:,} slots{more}: {stop.reason}")
        if stop.usd_per_month is not None:
            streams.write_line(f"saves {stop.usd_per_month:,.2f} USD a month at this traffic")
    tables.print_rows(
        found.slots[:_N_SHOWN],
        {
            ">SAVED": lambda slot: f"{slot.n_saved:,}",
            ">+-": lambda slot: f"{slot.half_width:,.0f}",
            ">DOCUMENTS": lambda slot: f"{slot.n_documents:,}",
            ">TOGETHER": lambda slot: f"{slot.n_saved_together:,}",
            ">NOW": lambda slot: str(len(slot.token.parts)),
            "TOKEN": lambda slot: repr(slot.token.token_bytes.decode("utf-8", "replace")),
        },
    )
    if len(found.slots) > _N_SHOWN:
        streams.write_line(f"and {len(found.slots) - _N_SHOWN:,} more: --json has all")
    for term, reason in found.left_out_terms[:_N_SHOWN]:
        streams.say(f"left out: {term!r:.60} {reason}")
