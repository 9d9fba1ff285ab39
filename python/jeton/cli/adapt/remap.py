"""``jeton adapt remap``: files of token ids that follow a change of vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jeton.cli import streams
from jeton.cli.adapt.json_place import (
    JsonPlaceCommand,
    check_json_place,
    json_place_option,
    write_json,
)


@click.command(cls=JsonPlaceCommand)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--change",
    "change_path",
    required=True,
    metavar="PATH",
    help="vocabulary_change.json, or the folder of the new tokenizer that has it.",
)
@click.option(
    "--dtype",
    metavar="TYPE",
    help="Type of the numbers in a plain .bin, as in uint16; Megatron's index says it by itself.",
)
@click.option(
    "--ignore",
    type=int,
    multiple=True,
    metavar="N",
    help="A number that is no id and stays, as -100 in labels. Repeatable.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    default=("input_ids",),
    show_default=True,
    help="Column of ids in Parquet or JSONL; all others stay. Repeatable.",
)
@click.option(
    "--labels",
    metavar="NAME",
    help="Column of labels in Parquet or JSONL, in which -100 stays; '' for none. By default "
    "`labels`, where it repeats the ids.",
)
@click.option(
    "--as-cut",
    is_flag=True,
    help="Also if the vocabulary has new tokens: the text stays cut as it was.",
)
@click.option(
    "-o", "--output", required=True, metavar="PATH", help="File to write; a folder for several."
)
@json_place_option
def remap(
    files: tuple[str, ...],
    change_path: str,
    dtype: str | None,
    ignore: tuple[int, ...],
    columns: tuple[str, ...],
    labels: str | None,
    output: str,
    *,
    as_cut: bool,
    json_file: str | None,
) -> None:
    """Make files of old token ids files of new ones, where that is exact.

    A vocabulary that was pruned or permuted keeps the cut of every text whose tokens it has. Where
    an id is gone, or new tokens would cut the text in another way, the command says so and writes
    nothing.

    \b
    Examples:
      jeton adapt remap train.npy --change small-model/ -o small-train.npy
      jeton adapt remap train.bin --change small-model/ --dtype uint16 -o small-train.bin
      jeton adapt remap train.parquet --change small-model/ --column ids -o small-train.parquet
    """
    from jeton.adapt.change import VocabularyChange
    from jeton.adapt.remapping import remap_file, remap_files

    check_json_place(json_file, output)
    change = VocabularyChange.read(change_path)
    out = Path(output)
    options: dict[str, Any] = {
        "dtype": dtype,
        "ignore": ignore,
        "as_cut": as_cut,
        "columns": columns,
        "labels": labels,
    }
    if len(files) > 1 or out.is_dir() or output.endswith("/"):
        done = remap_files(change, files, out, **options)
    else:
        done = [remap_file(change, files[0], out, **options)]
    rows = [
        {
            "path": str(one.path),
            "n_ids": one.n_ids,
            "n_ignored": one.n_ignored,
            "dtype": one.dtype,
        }
        for one in done
    ]
    value = {"schema_version": "jeton.adapt_remap/1", "files": rows}
    if write_json(json_file, lambda: value):
        return
    for one in done:
        streams.write_line(str(one.path))
        streams.say(f"{one.path.name}: {one.n_ids:,} ids as {one.dtype}")
