"""``jeton show``: how a text is cut, to look at."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options, streams
from jeton.cli.token_rows import Token, terminal_width, token_lines, visible

if TYPE_CHECKING:
    from jeton import Tokenizer

__all__ = ["show", "visible"]


@click.command()
@click.argument("file", required=False)
@options.tokenizer_option
@options.text_option
@click.option("--ids/--no-ids", default=True, show_default=True, help="Write the ids below.")
@options.allow_special_option
@options.documents_option
@options.format_option
@options.field_option
@options.strict_option
@options.pattern_option
@options.json_option
def show(
    *,
    file: str | None,
    tokenizer_name: str,
    text: str | None,
    ids: bool,
    allow_special: tuple[str, ...],
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    field: str,
    strict: bool,
    pattern: str | None,
    as_json: bool,
) -> None:
    """Show how a text is cut into tokens.

    Tokens are coloured in a terminal and separated by a line elsewhere and under NO_COLOR; a
    space is shown as a dot, a tab as an arrow, a line end as a bent arrow, and bytes of a
    character that is cut as \\xNN. Offsets in the JSON count code points.

    \b
    Examples:
      jeton show --tokenizer cl100k_base --text "hydroxychloroquine 200 mg"
      jeton show -t jeton-medical-32k note.txt --no-ids
      jeton show -t o200k_base --text "naïve" --json
    """
    tokenizer = options.load_tokenizer(tokenizer_name, pattern=pattern)
    for batch in streams.batches(
        file, text=text, field=field, documents=documents, file_format=file_format, strict=strict
    ):
        for document in batch:
            tokens = _tokens(tokenizer, document, streams.allowed(allow_special))
            if as_json:
                _write_json(tokenizer, document, tokens)
                continue
            colour = streams.colour_wanted()
            for line in token_lines(tokens, ids=ids, colour=colour, width=terminal_width()):
                streams.write_line(line)
            sys.stdout.flush()
            n_bytes = len(document.encode("utf-8", "surrogatepass"))
            words = f"{len(tokens):,} tokens, {len(document):,} characters, {n_bytes:,} bytes"
            if tokens:
                words += f", {n_bytes / len(tokens):.2f} bytes per token"
            streams.say(words)


def _tokens(
    tokenizer: Tokenizer, text: str, allow_special: tuple[str, ...] | Literal["all"]
) -> list[Token]:
    encoding = tokenizer.encode_with_offsets(text, allow_special=allow_special)
    rows = zip(
        encoding.ids.tolist(),
        encoding.starts.tolist(),
        encoding.ends.tolist(),
        encoding.word_ids.tolist(),
        strict=True,
    )
    tokens = []
    for token_id, start, end, word in rows:
        token_bytes = tokenizer.id_to_bytes(token_id)
        tokens.append(
            Token(
                id=token_id,
                text=visible(token_bytes),
                bytes=token_bytes.hex(),
                start=start,
                end=end,
                special=word < 0,
            )
        )
    return tokens


def _write_json(tokenizer: Tokenizer, text: str, tokens: list[Token]) -> None:
    value = {
        "schema_version": "jeton.show/1",
        "tokenizer": tokenizer.name,
        "fingerprint": tokenizer.fingerprint,
        "text": text,
        "n_tokens": len(tokens),
        "tokens": [asdict(token) for token in tokens],
    }
    streams.write_json(value, indent=None)
