"""``jeton adapt apply``: a model follows its new tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    check_json_place,
    write_json,
)
from jeton.cli.declaring import command, option
from jeton.cli.kinds import WHOLE

if TYPE_CHECKING:
    from jeton.adapt.weights.applying import Applied

_N_SHOWN = 40
_SCHEMA = {"schema_version": "jeton.adapt_apply/1"}
# A test holds these names equal to those of the library, which is imported only when it is needed.
INIT_NAMES = (
    "asymmetric",
    "mean",
    "vocabulary-mean",
    "exponential",
    "copy",
    "focus",
    "omp",
    "zero",
    "random",
)


@command()
@click.argument("model_dir", metavar="MODEL_DIR")
@click.argument("tokenizer_dir", metavar="TOKENIZER_DIR")
def apply(
    *,
    model_dir: str,
    tokenizer_dir: str,
    output: str | None = option(
        "New directory to write; not needed with --dry-run.", "OUT", names="-o --output"
    ),
    init: str = option(
        "Way to make the rows of added tokens; docs/guides/applying.md has their papers.",
        type=click.Choice(INIT_NAMES),
        default="mean",
    ),
    donor: str | None = option("Model that has the added tokens, for omp and focus.", "DIR"),
    pad_to: int | None = option(
        "Make the rows of each table a multiple of N. By default a padded table stays so.",
        "N",
        type=click.IntRange(min=1, max=1 << 20),
    ),
    seed: int = option("Seed of random rows.", type=WHOLE, default=0),
    as_is: tuple[str, ...] = option(
        "Copy this tensor although an axis is as long as the vocabulary. Repeatable.", "NAME"
    ),
    link: bool = option("Give unchanged files a second name; copy no bytes."),
    dry_run: bool = option("Show the plan and write nothing."),
    json_file: str | None = options.JSON_PLACE,
) -> int:
    """Give a model the vocabulary of a tokenizer that `jeton adapt` made.

    Tables of embeddings, output layers, their biases, and every file that names an id follow
    vocabulary_change.json; without that file the change is derived from the bytes of the tokens.
    Nothing is loaded: files are read and written piece by piece, whole or not at all.

    \b
    Examples:
      jeton adapt apply my-model/ domain-tokenizer/ --dry-run
      jeton adapt apply my-model/ domain-tokenizer/ -o my-model-domain/
      jeton adapt apply my-model/ domain-tokenizer/ -o out/ --init mean --pad-to 64 --link
      jeton adapt apply model-q8_0.gguf domain-tokenizer/ -o domain-q8_0.gguf
    """
    from jeton.adapt.weights import apply as apply_change

    if output is None and not dry_run:
        raise click.UsageError("missing option '-o' / '--output', or --dry-run")
    check_json_place(json_file, output)
    if model_dir.endswith(".gguf"):
        if donor is not None or as_is or link:
            raise click.UsageError("--donor, --as-is and --link are not for GGUF files")
        return _apply_to_file(
            model_dir,
            tokenizer_dir,
            None if dry_run else output,
            init=init,
            pad_to=pad_to,
            seed=seed,
            json_file=json_file,
        )
    applied = apply_change(
        model_dir,
        tokenizer_dir,
        output=output,
        init=init,
        donor=donor,
        pad_to=pad_to,
        seed=seed,
        as_is=as_is,
        link=link,
        dry_run=dry_run,
    )
    if not write_json(json_file, lambda: {**_SCHEMA, **applied.to_dict()}):
        _write(applied)
    return 0


def _apply_to_file(
    model: str,
    tokenizer: str,
    output: str | None,
    *,
    init: str,
    pad_to: int | None,
    seed: int,
    json_file: str | None,
) -> int:
    from jeton.adapt.weights.gguf_applying import apply_gguf

    done = apply_gguf(model, tokenizer, output=output, init=init, pad_to=pad_to, seed=seed)
    value = {
        **_SCHEMA,
        "output": None if done.output is None else str(done.output),
        "rows_before": done.n_old_rows,
        "rows_after": done.n_new_rows,
        "tables": dict(done.tables),
    }
    if write_json(json_file, lambda: value):
        return 0
    for name, type_name in done.tables.items():
        words = f"tensor     {name} ({type_name}): {done.n_old_rows:,} -> {done.n_new_rows:,} rows"
        streams.write_line(streams.shown(words))
    where = "nothing was written" if done.output is None else f"wrote      {done.output}"
    streams.write_line(streams.shown(where))
    return 0


def _write(applied: Applied) -> None:
    plan = applied.plan.to_dict()
    streams.write_line(
        f"ids        {plan['old_ids']:,} -> {plan['new_ids']:,}: {plan['kept']:,} kept, "
        f"{plan['added']:,} added, {plan['gone']:,} gone"
    )
    if plan["init"] is not None:
        streams.write_line(f"new rows   {plan['init']} ({plan['paper']})")
    tensors = plan["tensors"]
    for tensor in tensors[:_N_SHOWN]:
        before, after = (" x ".join(map(str, tensor[k])) for k in ("shape_before", "shape_after"))
        filled = f", {tensor['rows_filled']:,} without a token" if tensor["rows_filled"] else ""
        streams.write_line(
            streams.shown(
                f"tensor     {tensor['name']}: {before} -> {after} "
                f"({tensor['rows_added']:,} rows made{filled})"
            )
        )
    if len(tensors) > _N_SHOWN:
        streams.write_line(f"tensor     {len(tensors) - _N_SHOWN:,} more; --json has all")
    for name in plan["rewritten_files"]:
        streams.write_line(streams.shown(f"file       {name}"))
    for note in plan["notes"]:
        streams.write_line(streams.shown(f"note       {note}"))
    if applied.output is None:
        streams.write_line("nothing was written")
    else:
        streams.write_line(streams.shown(f"wrote      {applied.output}"))
