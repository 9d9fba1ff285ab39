"""``jeton adapt extend``: more tokens for a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

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
from jeton.cli.personal import personal_json, say_personal

if TYPE_CHECKING:
    from jeton.adapt.extending import Extended
    from jeton.adapt.saving import SavedChange

_N_SHOWN = 10


class _Options(OptionSet):
    """Options of the command."""

    n_tokens: int | None = option(
        "New tokens in all, terms and the steps to them included. Without it, only terms.",
        "N",
        names="--add",
        type=COUNT,
    )
    terms_file: str | None = option(
        "Words that are to be one token: one a line.", "FILE", names="--terms"
    )
    term_form: Literal["space", "bare", "both"] = option(
        "How terms stand in text: behind a space, without one, or a token of each.", default="space"
    )
    spare_text: str | None = option(
        "Ids to use first, as in 100261-100275,100277: holes and reserved tokens of the model.",
        "IDS",
        names="--spare",
    )
    min_frequency: int = option(
        "Times that something occurs before it becomes a token.", "N", type=COUNT, default=1
    )
    max_token_bytes: int | None = option(
        "Longest token that is learned, for BPE on bytes; any by default.", "N", type=COUNT
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
@click.argument("inputs", nargs=-1)
def extend(
    tokenizer_name: str, inputs: tuple[str, ...], *, given: _Options, read: ReadingOptions
) -> int:
    """Add tokens to a tokenizer: learned from text, or terms that are asked for.

    New merges stand behind the old ones and old ids stay, so no text of a BPE tokenizer needs more
    tokens than before. The exit code is 1 if a document that was kept apart does need more, which
    WordPiece and Unigram cannot rule out.

    \b
    Examples:
      jeton adapt extend cl100k_base notes.jsonl --add 5000 -o domain/
      jeton adapt extend ./model --terms drugs.txt -o model-with-drugs/
      jeton adapt extend ./model notes.jsonl --add 500 --spare 128002-128255 -o domain/
    """
    from jeton.adapt.extending import extend as extend_tokenizer
    from jeton.adapt.saving import adapted_target, save_adapted
    from jeton.cli.adapt.common import parse_ids
    from jeton.corpus import read_terms

    check_json_place(given.json_file, given.output)
    refuse_source(given.output, tokenizer_name)
    base = options.load_tokenizer(
        tokenizer_name, pattern=given.pattern, special_tokens=given.special_tokens
    )
    target = adapted_target(base, given.output)
    terms = read_terms(given.terms_file) if given.terms_file else []
    with reading_of(read, quiet=given.quiet) as reading:
        found = extend_tokenizer(
            list(inputs) or None,
            base=base,
            n_tokens=given.n_tokens,
            terms=terms,
            term_form=given.term_form,
            spare=parse_ids(given.spare_text),
            min_frequency=given.min_frequency,
            max_token_bytes=given.max_token_bytes,
            reading=reading,
        )
    saved = save_adapted(found.tokenizer, found.change, target)
    if not write_json(given.json_file, lambda: _as_json(found, saved)):
        write_file_names(saved)
    if not given.quiet:
        _say(found)
    return 1 if found.held_out is not None and found.held_out.n_longer_documents else 0


def _as_json(found: Extended, saved: SavedChange) -> dict[str, Any]:
    return {
        **change_json("adapt_extend", saved),
        "n_documents": found.n_documents,
        "n_bytes": found.n_bytes,
        "held_out": held_out_json(found.held_out),
        "known_terms": list(found.known_terms),
        "left_out_terms": dict(found.left_out_terms),
        "new_tokens": [
            {
                "id": new.id,
                "text": new.token_bytes.decode("utf-8", "replace"),
                "origin": new.origin,
                "made_of": list(new.parts),
                "n_saved": new.n_saved,
            }
            for new in found.new_tokens
        ],
        "personal_tokens": _personal(found),
        "files": written_files(saved),
    }


def _personal(found: Extended) -> list[dict[str, Any]]:
    """New tokens that text was learned to have; terms were asked for by name."""
    return personal_json(
        (new.id, new.token_bytes) for new in found.new_tokens if new.origin == "learned"
    )


def _say(found: Extended) -> None:
    by_origin = {
        origin: sum(new.origin == origin for new in found.new_tokens)
        for origin in ("term", "step", "learned")
    }
    streams.say(
        f"{len(found.new_tokens):,} new tokens: {by_origin['term']:,} terms, "
        f"{by_origin['step']:,} steps to terms, {by_origin['learned']:,} learned"
    )
    if found.known_terms:
        streams.say(f"{len(found.known_terms):,} terms were one token already")
    for term, reason in found.left_out_terms[:_N_SHOWN]:
        streams.say(f"  left out: {term!r:.60} {reason}")
    if found.n_documents:
        streams.say(say_held_out(found.held_out))
    for new in found.new_tokens[:_N_SHOWN]:
        text = new.token_bytes.decode("utf-8", "replace")
        saves = "" if new.n_saved is None else f"{new.n_saved:>10,} tokens saved by "
        streams.say(f"  {saves}{text!r}, in place of {len(new.parts)} tokens")
    say_personal(_personal(found))
