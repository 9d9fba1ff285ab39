"""``jeton info``: facts about one tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, streams, tables

if TYPE_CHECKING:
    from jeton import Tokenizer

__all__ = ["info"]


@click.command()
@click.argument("tokenizer_name", metavar="T")
@click.option(
    "--canonical",
    is_flag=True,
    help="Write the canonical form, whose SHA-256 is the fingerprint, and nothing else.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the canonical form into this file instead of to standard output.",
)
@options.pattern_option
@options.special_id_option
@options.json_option
def info(
    *,
    tokenizer_name: str,
    canonical: bool,
    output: str | None,
    pattern: str | None,
    special_tokens: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what a tokenizer is.

    T is a name, a file or a folder. The fingerprint is the SHA-256 of the canonical form: equal
    ones mean the same tokenizer. The probe digest is one of the ids of a fixed text: files that
    write one tokenizer down differently share it.

    \b
    Examples:
      jeton info cl100k_base
      jeton info ./my-tokenizer/tokenizer.json --json
      jeton info jeton-general-32k --canonical | sha256sum
      jeton info cl100k_base --canonical -o cl100k_base.jeton.json
    """
    if output is not None and not canonical:
        raise click.UsageError("-o writes the canonical form: --canonical is missing")
    if canonical and as_json:
        raise click.UsageError("give --canonical or --json, not both; the canonical form is JSON")
    tokenizer = options.load_tokenizer(
        tokenizer_name, pattern=pattern, special_tokens=special_tokens
    )
    if canonical:
        _write_canonical(tokenizer, output)
        return
    facts = _facts(tokenizer)
    card = _card(tokenizer_name)
    if as_json:
        streams.write_json({"schema_version": "jeton.info/1", **facts, "training_card": card})
        return
    special = facts["special_tokens"]
    rows = [
        ("name", str(facts["name"])),
        ("algorithm", facts["algorithm"]),
        ("ids equal those of", facts["reference"]),
        ("vocab size", f"{facts['vocab_size']:,}"),
        ("tokens", f"{facts['n_tokens']:,}"),
        ("longest token", f"{facts['longest_token_bytes']:,} bytes"),
        ("special tokens", f"{len(special):,}"),
        ("split pattern", facts["split_pattern"] or "none"),
        ("fingerprint", facts["fingerprint"]),
        ("probe digest", facts["probe_digest"]),
    ]
    tables.print_facts(rows)
    if special:
        shown = list(special.items())[:_SHOWN_SPECIAL_TOKENS]
        more = len(special) - len(shown)
        streams.write_line("")
        tables.print_facts((str(number), text) for text, number in shown)
        if more:
            streams.write_line(f"and {more:,} more; --json lists all")
    if card:
        streams.write_line("")
        tables.print_facts((f"card: {key}", _short(value)) for key, value in card.items())


_SHOWN_SPECIAL_TOKENS = 12


def _write_canonical(tokenizer: Tokenizer, output: str | None) -> None:
    from jeton._files import write_whole

    data = tokenizer.to_canonical()
    if output is None or output == "-":
        streams.write_bytes(data)
        return
    write_whole(output, data)
    streams.say(f"wrote {output}")


def _facts(tokenizer: Tokenizer) -> dict[str, Any]:
    from jeton.probe import probe_digest

    special = dict(sorted(tokenizer.special_tokens.items(), key=lambda item: item[1]))
    return {
        "name": tokenizer.name,
        "algorithm": tokenizer.algorithm,
        "reference": tokenizer.reference,
        "vocab_size": tokenizer.vocab_size,
        "n_tokens": tokenizer.n_tokens,
        "longest_token_bytes": int(tokenizer.token_lengths().max(initial=0)),
        "split_pattern": tokenizer.split_pattern,
        "fingerprint": tokenizer.fingerprint,
        "probe_digest": probe_digest(tokenizer),
        "special_tokens": special,
    }


def _card(name: str) -> dict[str, Any] | None:
    from jeton.registry import training_card

    return training_card(name)


def _short(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"{len(value)} entries; --json shows them"
    return str(value)
