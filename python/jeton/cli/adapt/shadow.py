"""``jeton adapt shadow``: two tokenizers on logged traffic, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jeton._plain import picked
from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    check_json_place,
    write_json,
)
from jeton.cli.declaring import OptionSet, command, option
from jeton.cli.kinds import AMOUNT, FiniteRange

if TYPE_CHECKING:
    from jeton.adapt.shadowing import PairedDifference, Shadow, Side, Stage
    from jeton.economics.ledger import Ledger, NotPriced


class _Options(OptionSet):
    """Options of the command."""

    a_name: str = option(
        "Today's side: TOKENIZER, TOKENIZER@PRICE or TOKENIZER@MODEL,GPU.",
        "SIDE",
        names="--a",
        required=True,
    )
    b_name: str = option("The other side, likewise.", "SIDE", names="--b", required=True)
    stages_text: str = option(
        "Stages in percent of the traffic; after one that is aborted, none is looked at.",
        "PERCENTS",
        names="--stage",
        default="1,10,50,100",
    )
    output_tokens: float | None = option(
        "Tokens generated after each request, in tokens of A; of logs their mean by default.",
        "N",
        type=AMOUNT,
    )
    logs: bool = option(
        "The inputs are request logs (OpenAI, Anthropic, OpenTelemetry and others): each "
        "request is priced as it was used."
    )
    model_map: str | None = option(
        "With --logs: your own names of models and deployments, as for `jeton audit`.",
        "F",
        type=click.Path(exists=True, dir_okay=False),
    )
    field: str = options.FIELD
    domain_field: str = option("Field with the name of the domain.", "NAME", default="")
    salt: str = option("Another text draws other requests into the stages.", "TEXT", default="")
    max_more_tokens: float = option(
        "Abort if the mean of tokens surely rises by more.", "SHARE", type=AMOUNT, default=0.0
    )
    max_more_tokens_by_domain: float = option(
        "Abort if the mean of tokens of any domain surely rises by more.",
        "SHARE",
        type=AMOUNT,
        default=0.05,
    )
    max_more_usd: float = option(
        "Abort if the mean of dollars surely rises by more.", "SHARE", type=AMOUNT, default=0.0
    )
    max_overflow: float = option(
        "Abort if more requests fit the context of A and not that of B.",
        "SHARE",
        type=FiniteRange(0, 1),
        default=0.0,
    )
    num_threads: int | None = options.THREADS
    json_file: str | None = options.JSON_PLACE


@command()
@click.argument("inputs", nargs=-1, required=True)
def shadow(inputs: tuple[str, ...], *, given: _Options) -> int:
    """Compare two tokenizers on logged traffic, with a verdict for each stage.

    A document is a request. With --logs, the ledger prices each request on both sides: as it was
    used, and with the tokens that the other tokenizer needs more or less. Differences are paired,
    with intervals of 95%; a request is in a stage by the hash of its text. The exit code is 1 if a
    stage is aborted.

    \b
    Examples:
      jeton adapt shadow calls.jsonl --a ./model --b domain/
      jeton adapt shadow calls.jsonl --logs --a o200k_base --b domain/
      jeton adapt shadow calls.jsonl --a llama3@llama-3-8b,h100-sxm --b domain/@llama-3-8b,h100-sxm
    """
    from jeton.adapt.shadowing import AbortRules
    from jeton.adapt.shadowing import shadow as compare
    from jeton.catalog.model_map import read_model_map

    if given.model_map and not given.logs:
        raise click.UsageError("--model-map is for request logs; say --logs too")
    check_json_place(given.json_file)
    found = compare(
        list(inputs),
        _side(given.a_name),
        _side(given.b_name),
        stages=_stages(given.stages_text),
        output_tokens=given.output_tokens,
        rules=AbortRules(
            max_more_tokens=given.max_more_tokens,
            max_more_tokens_by_domain=given.max_more_tokens_by_domain,
            max_more_usd=given.max_more_usd,
            max_overflow_share=given.max_overflow,
        ),
        field=given.field,
        domain_field=given.domain_field,
        salt=given.salt,
        logs=given.logs,
        model_map=read_model_map(given.model_map) if given.model_map else None,
        num_threads=given.num_threads,
    )
    if not write_json(given.json_file, lambda: _as_json(found)):
        _show(found)
    return 1 if found.is_aborted else 0


def _side(text: str) -> Side:
    from jeton import catalog
    from jeton.adapt.shadowing import Side

    name, at, what = text.partition("@")
    tokenizer = options.load_tokenizer(name)
    if not at:
        return Side(tokenizer)
    model, comma, gpu = what.rpartition(",")
    if comma:
        return Side(tokenizer, model=catalog.model(model), gpu=catalog.gpu(gpu))
    return Side(tokenizer, price=catalog.price(what))


def _stages(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no list of percents, as in 1,10,50,100", param_hint="--stage"
        ) from None


def _as_json(found: Shadow) -> dict[str, Any]:
    return {
        "schema_version": "jeton.adapt_shadow/1",
        "n_requests": found.n_requests,
        "n_without_text": found.n_without_text,
        "usd_a": _usd(found.ledger_a),
        "usd_b": _usd(found.ledger_b),
        "not_priced": [
            {
                "side": side,
                "model": entry.model or None,
                "kind": entry.kind,
                "why": entry.why,
                "n_requests": entry.n_requests,
            }
            for side, entry in _not_priced(found)
        ],
        "is_aborted": found.is_aborted,
        "stages": [
            {
                "percent": stage.percent,
                "domain": stage.domain or None,
                "n_requests": stage.n_requests,
                "tokens": _difference(stage.tokens),
                "usd": _difference(stage.usd),
                "seconds": _difference(stage.seconds),
                "n_overflow": stage.n_overflow,
                "n_priced": stage.n_priced,
                "verdict": stage.verdict,
                "reasons": list(stage.reasons),
            }
            for stage in found.stages
        ],
    }


def _usd(ledger: Ledger | None) -> str | None:
    return None if ledger is None else str(ledger.usd)


def _not_priced(found: Shadow) -> list[tuple[str, NotPriced]]:
    sides = (("a", found.ledger_a), ("b", found.ledger_b))
    return [
        (side, entry) for side, ledger in sides if ledger is not None for entry in ledger.not_priced
    ]


def _difference(value: PairedDifference | None) -> dict[str, float] | None:
    if value is None:
        return None
    return {
        **picked(value, "mean_a mean_b difference low high"),
    }


def _show(found: Shadow) -> None:
    from jeton.cli import tables

    tables.print_table(
        [
            "STAGE",
            "DOMAIN",
            "REQUESTS",
            "TOKENS A",
            "B",
            "B - A",
            "USD",
            "SECONDS",
            "OVERFLOW",
            "VERDICT",
        ],
        [_row(stage) for stage in found.stages],
        right=["STAGE", "REQUESTS", "TOKENS A", "B", "B - A", "USD", "SECONDS", "OVERFLOW"],
    )
    if found.ledger_a is not None and found.ledger_b is not None:
        streams.write_line(
            f"by the ledger: {found.ledger_a.usd} USD on side A, {found.ledger_b.usd} on side B"
        )
    if found.n_without_text:
        streams.write_line(f"left out: {found.n_without_text:,} requests show no text")
    for side, entry in _not_priced(found):
        name = f" of {entry.model}" if entry.model else ""
        words = (
            f"not priced on side {side.upper()}: {entry.n_requests:,} requests{name}: {entry.why}"
        )
        streams.write_line(streams.shown(words))
    for stage in found.stages:
        for reason in stage.reasons:
            place = f"{stage.percent:g}%{f' of {stage.domain}' if stage.domain else ''}"
            streams.write_line(f"abort at {place}: {reason}")


def _row(stage: Stage) -> list[str]:
    tokens = stage.tokens
    return [
        f"{stage.percent:g}%",
        stage.domain,
        f"{stage.n_requests:,}",
        f"{tokens.mean_a:,.1f}",
        f"{tokens.mean_b:,.1f}",
        f"{tokens.difference:+,.2f} [{tokens.low:+,.2f}, {tokens.high:+,.2f}]",
        "" if stage.usd is None else f"{stage.usd.share:+.2%}",
        "" if stage.seconds is None else f"{stage.seconds.share:+.2%}",
        f"{stage.n_overflow:,}",
        stage.verdict,
    ]
