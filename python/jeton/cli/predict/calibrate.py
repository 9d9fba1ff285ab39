"""``jeton predict calibrate``: coefficients of bytes by script class, in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import WHOLE, FiniteRange

if TYPE_CHECKING:
    from jeton.estimating.calibrated import CountModel


@command()
@click.argument("inputs", nargs=-1, required=True)
def calibrate(
    *,
    inputs: tuple[str, ...],
    tokenizer_name: str | None = option("Tokenizer to learn.", "T", names="-t --tokenizer"),
    usage: bool = option(
        "The inputs are request logs with texts and usage: learn the provider's counts."
    ),
    output: str = option("File for the model, JSON.", "F", names="-o --output", required=True),
    field: str = option(
        "Field of records with the text.", "NAME", default="text", show_default=False
    ),
    coverage: float = option(
        "Share of texts that an interval is to hold.",
        "SHARE",
        type=FiniteRange(0.5, 1, max_open=True),
        default=0.9,
    ),
    piece_bytes: int | None = option(
        "Bytes of the pieces that texts are learned in, at most; by default 2 to 16 KiB, by how "
        "much text there is.",
        "N",
        type=click.IntRange(min=512),
    ),
    seed: int = option("Seed of sizes and of the split.", "N", type=WHOLE, default=0),
    as_json: bool = options.JSON,
) -> None:
    """Learn from texts how many tokens bytes of each script make.

    The model is for one tokenizer (--tokenizer), or for a provider whose tokenizer is secret
    (--usage). Three quarters of the texts fit it and make its intervals, each text foreseen from
    others; a quarter judges them. `jeton predict tokens --calibration F` uses it.

    \b
    Examples:
      jeton predict calibrate corpus/ --tokenizer o200k_base -o o200k.json
      jeton predict calibrate requests.jsonl --usage -o provider.json
    """
    if usage == (tokenizer_name is not None):
        raise click.UsageError("give either --tokenizer or --usage: whose counts are learned")
    from jeton.estimating.learning import learn_from_texts, learn_from_usage

    if tokenizer_name is None:
        model = learn_from_usage(list(inputs), coverage=coverage, seed=seed)
    else:
        import jeton

        tokenizer = jeton.load(tokenizer_name)
        model = learn_from_texts(
            _texts(inputs, field),
            tokenizer,
            coverage=coverage,
            piece_bytes=piece_bytes,
            seed=seed,
        )
    model.save(output)
    if as_json:
        streams.write_json(model.to_dict())
    else:
        _print(model)
    outputs.say_written(output)


def _texts(inputs: tuple[str, ...], field: str) -> Iterator[str]:
    from jeton.corpus import open_documents

    for _, batch in open_documents(list(inputs), field=field):
        yield from batch


def _print(model: CountModel) -> None:
    headings = ["KIND", "BYTES", "TEXTS", "WIDTH", "JUDGED", "HELD"]
    rows = [
        [
            item.kind or "all",
            f"{1 << item.size_octave:,}+" if item.size_octave >= 0 else "any",
            f"{item.n_texts:,}",
            f"{item.high - item.low:.1%}",
            f"{item.n_judged:,}",
            f"{item.coverage_share:.1%}" if item.n_judged else "",
        ]
        for item in model.ranges
    ]
    tables.print_table(headings, rows, right=headings[1:])
    streams.say(
        f"learned from {model.n_texts:,} texts, {model.n_bytes:,} bytes; intervals are to hold "
        f"{model.coverage:.0%}, judged on texts that taught nothing"
    )
