"""``jeton convert``: a tokenizer from one file format to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, streams, tables
from jeton.cli.declaring import command, option

if TYPE_CHECKING:
    from jeton.converting import Conversion

EXIT_FINE, EXIT_LOSSY = 0, 1


@command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
def convert(
    *,
    source: str,
    target: str,
    wanted: str | None = option(
        "The format, where DST does not tell it: jeton, tokenizer.json, tiktoken, "
        "sentencepiece, vocab.txt, vocab.json, tekken.json, gguf, rwkv, clip or claude.",
        "FORMAT",
        names="--to",
    ),
    lossy: bool = option("Convert also if the format does not hold everything; losses are listed."),
    verify: bool = option(
        "Compare ids and decoded texts before and after, on texts at which tokenizers differ.",
        default=True,
    ),
    samples: bool = option(
        "Store a few texts with their ids in the file or beside it; they are verified at every "
        "load."
    ),
    pattern: str | None = options.PATTERN,
    special_tokens: tuple[str, ...] = options.SPECIAL_ID,
    as_json: bool = options.JSON,
) -> int:
    """Convert a tokenizer to another file format, exactly or not at all.

    SRC is a name, a file or a folder. The name of DST tells the format; a name without a suffix
    becomes a folder as save_pretrained writes it. The new file is loaded again and compared before
    it takes its place. Parts that the new format does not hold are listed, and nothing is written
    unless --lossy is given.

    Exit code 0: converted. 1: refused, because something would be lost. 2: an error.

    \b
    Examples:
      jeton convert cl100k_base cl100k_base.json
      jeton convert llama2.model ./llama2-folder
      jeton convert ./my-model/ my-model.tiktoken --json
      jeton convert t5.model t5.gguf
      jeton convert xlm.model tokenizer.json --lossy
    """
    from jeton.converting import convert as convert_tokenizer
    from jeton.errors import LossyConversionError

    try:
        result = convert_tokenizer(
            source,
            target,
            to=wanted,
            lossy=lossy,
            verify=verify,
            samples=samples,
            pattern=pattern,
            special_tokens=options.parse_special_tokens(special_tokens) or None,
        )
    except LossyConversionError as error:
        return _refused(error, source, as_json=as_json)
    if as_json:
        streams.write_json(result.to_dict())
    else:
        _print(result)
    return EXIT_FINE


def _refused(error: Any, source: str, *, as_json: bool) -> int:
    losses = [
        {"component": loss.component, "what": loss.what, "effect": loss.effect}
        for loss in error.losses
    ]
    if as_json:
        value = {
            "schema_version": "jeton.convert/1",
            "source": source,
            "format": error.format,
            "files": [],
            "losses": losses,
        }
        streams.write_json(value)
        return EXIT_LOSSY
    click.echo(f"not converted: {source} would lose something as {error.format}", err=True)
    _print_losses(losses)
    click.echo("hint: --lossy converts it all the same", err=True)
    return EXIT_LOSSY


def _print(result: Conversion) -> None:
    if result.fingerprint_preserved:
        same = "the same tokenizer, by fingerprint"
    elif result.ids_equal is None:
        same = "not compared (--no-verify)"
    elif result.ids_equal:
        same = f"equal, and decoded texts too, on {result.n_texts_compared:,} texts"
    else:
        same = f"differ, first on {(result.first_difference or '')[:60]!r}"
    rows = [
        ("format", result.format),
        *(("file", str(path)) for path in result.files),
        ("ids", same),
        ("fingerprint before", result.fingerprint_before),
        ("fingerprint after", result.fingerprint_after),
    ]
    if "pattern" in result.load_options:
        rows.append(("to load it, say pattern", str(result.load_options["pattern"])))
        special = result.load_options.get("special_tokens") or {}
        rows.append(("and special_tokens", ", ".join(f"{k}={v}" for k, v in special.items())))
    else:
        rows += [(f"to load it, say {k}", str(v)) for k, v in result.load_options.items()]
    rows += [("not in this format", what) for what in result.left_behind]
    tables.print_facts(rows)
    if result.losses:
        streams.write_line("")
        _print_losses(result.to_dict()["losses"])


def _print_losses(losses: list[dict[str, str]]) -> None:
    tables.print_rows(
        losses,
        {
            "LOST": lambda loss: loss["component"],
            "WHAT": lambda loss: loss["what"],
            "EFFECT": lambda loss: loss["effect"],
        },
    )
