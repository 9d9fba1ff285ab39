"""``jeton adapt replace``: another tokenizer for a model."""

from __future__ import annotations

import click

from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    change_json,
    check_json_place,
    refuse_source,
    write_file_names,
    write_json,
    written_files,
)
from jeton.cli.declaring import command, option


@command()
@click.argument("old_name", metavar="OLD")
@click.argument("new_name", metavar="NEW")
def replace(
    old_name: str,
    new_name: str,
    *,
    force: bool = option("Go on although the two cut numbers by different rules."),
    output: str = option(
        "Folder or file for the new tokenizer; the change is written beside it.",
        "PATH",
        names="-o --output",
        required=True,
    ),
    json_file: str | None = options.JSON_PLACE,
) -> None:
    """Give a model another tokenizer: its rows are found by the bytes of tokens.

    OLD is the model's tokenizer, NEW the one that it is to get. Tokens that both have keep their
    rows; the change says of which old tokens each other one is made.

    \b
    Examples:
      jeton adapt replace ./model jeton-medical-32k -o medical-tokenizer/
      jeton adapt replace llama3 ./my-tokenizer --force -o replaced/
    """
    from jeton.adapt.replacing import replacement
    from jeton.adapt.saving import adapted_target, save_adapted

    check_json_place(json_file, output)
    refuse_source(output, old_name, new_name)
    old, new = options.load_tokenizer(old_name), options.load_tokenizer(new_name)
    target = adapted_target(new, output)
    found = replacement(old, new, force=force)
    saved = save_adapted(new, found.change, target)
    if write_json(
        json_file,
        lambda: {
            **change_json("adapt_replace", saved),
            "n_kept": found.n_kept,
            "n_added": found.n_added,
            "n_gone": len(saved.change.gone),
            "n_without_parts": found.n_without_parts,
            "old_digits": found.old_digits,
            "new_digits": found.new_digits,
            "files": written_files(saved),
        },
    ):
        return
    write_file_names(saved)
    streams.say(
        f"{found.n_kept:,} tokens keep their rows, {found.n_added:,} are made of old ones "
        f"({found.n_without_parts:,} of none), {len(saved.change.gone):,} old ids are gone"
    )
    streams.say(f"numbers: {found.old_digits} before, {found.new_digits} after")
