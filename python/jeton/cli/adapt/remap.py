"""``jeton adapt remap``: files of token ids that follow a change of vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    check_json_place,
    write_json,
)
from jeton.cli.declaring import command, option


@command()
@click.argument("files", nargs=-1, required=True)
def remap(
    files: tuple[str, ...],
    *,
    change_path: str = option(
        "vocabulary_change.json, or the folder of the new tokenizer that has it.",
        "PATH",
        names="--change",
        required=True,
    ),
    dtype: str | None = option(
        "Type of the numbers in a plain .bin, as in uint16; Megatron's index says it by itself.",
        "TYPE",
    ),
    ignore: tuple[int, ...] = option(
        "A number that is no id and stays, as -100 in labels. Repeatable.", "N"
    ),
    columns: tuple[str, ...] = option(
        "Column of ids in Parquet or JSONL; all others stay. Repeatable.",
        "NAME",
        names="--column",
        default=("input_ids",),
    ),
    labels: str | None = option(
        "Column of labels in Parquet or JSONL, in which -100 stays; '' for none. By default "
        "`labels`, where it repeats the ids.",
        "NAME",
    ),
    as_cut: bool = option("Also if the vocabulary has new tokens: the text stays cut as it was."),
    output: str = option(
        "File to write; a folder for several.", "PATH", names="-o --output", required=True
    ),
    json_file: str | None = options.JSON_PLACE,
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
