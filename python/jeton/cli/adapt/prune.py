"""``jeton adapt prune``: a tokenizer without what a text does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    ReadingOptions,
    change_json,
    check_json_place,
    held_out_json,
    reading_of,
    refuse_source,
    say_held_out,
    write_file_names,
    write_json,
    written_files,
)
from jeton.cli.declaring import OptionSet, command, option
from jeton.cli.kinds import COUNT

if TYPE_CHECKING:
    from jeton.adapt.pruning import Pruned
    from jeton.adapt.saving import SavedChange

_N_SHOWN = 10


class _Options(OptionSet):
    """Options of the command."""

    n_tokens: int = option(
        "Tokens that are to be left, special and added ones included.",
        "N",
        names="--to",
        type=COUNT,
        required=True,
    )
    keep_file: str | None = option("Words whose tokens stay: one a line.", "FILE", names="--keep")
    keep_ids: bool = option(
        "Leave ids as they are, with holes in place of what goes; else ids become compact."
    )
    pattern: str | None = options.PATTERN
    special_tokens: tuple[str, ...] = options.SPECIAL_ID
    output: str = option(
        "Folder or file of the new tokenizer; the change is written beside it.",
        "PATH",
        names="-o --output",
        required=True,
    )
    quiet: bool = option("Say nothing on standard error.")
    json_file: str | None = options.JSON_PLACE


@command()
@click.argument("tokenizer_name", metavar="TOKENIZER")
@click.argument("inputs", nargs=-1, required=True)
def prune(
    tokenizer_name: str, inputs: tuple[str, ...], *, given: _Options, read: ReadingOptions
) -> None:
    """Take tokens out that a text does not need, those first that cost it least.

    In BPE only tokens go that no other token is made of. Bytes, single characters, special and
    added tokens, and what the chat template of a model's folder or GGUF file writes never go.

    \b
    Examples:
      jeton adapt prune ./model notes.jsonl --to 32000 -o small-model/
      jeton adapt prune ./model notes.jsonl --to 32000 --keep names.txt --keep-ids -o small-model/
    """
    from jeton.adapt.pruning import prune as prune_tokenizer
    from jeton.adapt.saving import adapted_target, save_adapted
    from jeton.corpus import read_terms

    check_json_place(given.json_file, given.output)
    refuse_source(given.output, tokenizer_name)
    base = options.load_tokenizer(
        tokenizer_name, pattern=given.pattern, special_tokens=given.special_tokens
    )
    target = adapted_target(base, given.output)
    keep = read_terms(given.keep_file) if given.keep_file else []
    with reading_of(read, quiet=given.quiet) as reading:
        found = prune_tokenizer(
            list(inputs),
            base=base,
            n_tokens=given.n_tokens,
            keep=keep,
            keep_ids=given.keep_ids,
            reading=reading,
        )
    saved = save_adapted(found.tokenizer, found.change, target)
    if not write_json(given.json_file, lambda: _as_json(found, saved)):
        write_file_names(saved)
    if not given.quiet:
        streams.say(
            f"{len(found.removed):,} tokens went, {saved.tokenizer.n_tokens:,} are left, of which "
            f"{found.n_protected:,} could not go; {saved.change.n_new_ids:,} ids"
        )
        streams.say(say_held_out(found.held_out))


def _as_json(found: Pruned, saved: SavedChange) -> dict[str, Any]:
    return {
        **change_json("adapt_prune", saved),
        "n_tokens": saved.tokenizer.n_tokens,
        "n_removed": len(found.removed),
        "n_protected": found.n_protected,
        "n_documents": found.n_documents,
        "n_bytes": found.n_bytes,
        "held_out": held_out_json(found.held_out),
        "most_used_removed": [
            {
                "old_id": token.id,
                "text": token.token_bytes.decode("utf-8", "replace"),
                "n_uses": token.n_uses,
            }
            for token in sorted(found.removed, key=lambda token: -token.n_uses)[:_N_SHOWN]
        ],
        "files": written_files(saved),
    }
