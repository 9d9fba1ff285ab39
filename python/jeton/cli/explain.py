"""``jeton explain``: a smallest text on which two tokenizers differ, and why they do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import WHOLE
from jeton.cli.progress import progress_bar
from jeton.cli.token_rows import Token, terminal_width, token_lines, visible

if TYPE_CHECKING:
    from jeton.explaining import Cut, Difference, Explanation

EXIT_SAME, EXIT_DIFFERENT = 0, 1

_MAX_TEXT_CHARS = 200
"""Characters shown of a text that could not be made small."""

_MAX_NAMED_CHARS = 8
"""Texts up to this length have their code points written out."""

_MAX_PARTS = 20
"""Places of the canonical form that are listed; --json has all."""

_SOURCES = {
    "texts": "the given texts",
    "probe": "the probe texts",
    "edge_texts": "the generated texts",
    "vocabulary": "the tokens of the vocabularies",
    "special_tokens": "texts with special tokens",
}


@command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
def explain(
    *,
    first: str,
    second: str,
    inputs: tuple[str, ...],
    text: str | None = options.TEXT,
    by: Literal["ids", "bytes"] = option(
        "Compare ids, or only the bytes of the tokens, for vocabularies that number their "
        "tokens differently.",
        default="ids",
    ),
    n_cases: int | None = option(
        "Number of generated texts to try; 20,000 by default.", "N", names="--cases", type=WHOLE
    ),
    seed: int = option("Seed of those texts.", "S", default=0),
    documents: Literal["file", "line"] = options.DOCUMENTS,
    file_format: Literal["auto", "text", "jsonl"] = options.FORMAT,
    field: str = options.FIELD,
    strict: bool = options.STRICT,
    as_json: bool = options.JSON,
) -> int:
    """Find a smallest text on which two tokenizers differ, and the component that causes it.

    A and B are names, files or folders. The search goes through --text or the INPUTs first, then
    through texts made to tell tokenizers apart, then through every token of both vocabularies. The
    text that is found is made as small as it gets; then components of A and B are exchanged to
    see which of them is the cause. A rank file with a split pattern of its own gets a name first,
    by `jeton vocab add`.

    Exit code 0: they are the same, or no difference was found. 1: there is a difference.

    \b
    Examples:
      jeton explain gpt2 cl100k_base --by bytes
      jeton explain cl100k_base ours/tokenizer.json --cases 100000 --seed 7
      jeton explain old.json new.json logs.jsonl --field message --json
    """
    if text is not None and inputs:
        raise click.UsageError("give files or --text, not both")
    # The function and this command share a name.
    from jeton.explaining import DEFAULT_N_CASES
    from jeton.explaining import explain as find_difference

    a, b = options.load_tokenizer(first), options.load_tokenizer(second)
    texts = _texts(
        inputs, text, field=field, documents=documents, file_format=file_format, strict=strict
    )
    with progress_bar(quiet=as_json) as on_progress:
        explanation = find_difference(
            a,
            b,
            texts=texts,
            by=by,
            n_cases=DEFAULT_N_CASES if n_cases is None else n_cases,
            seed=seed,
            on_progress=on_progress,
        )
    if as_json:
        streams.write_json(explanation.to_dict())
    elif explanation.difference is None:
        _write_no_difference(explanation)
    else:
        _write_difference(explanation, explanation.difference, names=(first, second))
    sys.stdout.flush()
    return EXIT_SAME if explanation.difference is None else EXIT_DIFFERENT


def _texts(
    inputs: tuple[str, ...],
    text: str | None,
    *,
    field: str,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
) -> Iterator[str]:
    if text is not None:
        yield from streams.text_batch(text)
        return
    for path in inputs:
        for batch in streams.batches(
            path, field=field, documents=documents, file_format=file_format, strict=strict
        ):
            yield from batch


def _write_no_difference(explanation: Explanation) -> None:
    if explanation.verdict == "same_fingerprint":
        streams.write_line("the same tokenizer: equal fingerprints")
        tables.print_facts([("fingerprint", explanation.fingerprints[0])])
        return
    streams.write_line(f"no difference found in {_counted(explanation.n_texts, 'text')}")
    tables.print_facts(
        [
            ("probe digest of both", explanation.probe_digests[0])
            if explanation.is_same_on_probe
            else ("probe digests", " and ".join(explanation.probe_digests)),
            ("fingerprint of A", explanation.fingerprints[0]),
            ("fingerprint of B", explanation.fingerprints[1]),
        ]
    )
    streams.write_line("")
    streams.write_line("they are written down differently in")
    _write_parts(explanation)


def _write_parts(explanation: Explanation) -> None:
    for part in explanation.parts[:_MAX_PARTS]:
        streams.write_line(f"  {part.path}")
        streams.write_line(f"    A  {_printable(part.a)}")
        streams.write_line(f"    B  {_printable(part.b)}")
    more = len(explanation.parts) - _MAX_PARTS
    if more > 0:
        streams.write_line(f"  and {more:,} more; --json lists all")


def _write_difference(
    explanation: Explanation, difference: Difference, *, names: tuple[str, str]
) -> None:
    text = difference.text
    size = _counted(len(text), "character")
    if difference.is_minimal:
        streams.write_line(f"a smallest text on which they differ ({size}):")
    else:
        streams.write_line(f"a text on which they differ ({size}, and not all could be left out):")
    streams.write_line(f"  {_line(text) or '(the empty text)'}")
    if 0 < len(text) <= _MAX_NAMED_CHARS:
        streams.write_line("  " + " ".join(f"U+{ord(char):04X}" for char in text))
    for label, name, side in zip("AB", names, (difference.a, difference.b), strict=True):
        streams.write_line("")
        streams.write_line(f"{label}  {_printable(name)}")
        for line in _rows(side):
            streams.write_line(f"  {line}", styled=True)
    streams.write_line("")
    where = ", ".join(difference.paths)
    extent = f" ({where})" if where and where != difference.component else ""
    rows = [
        ("component", difference.component + extent),
        ("cause", difference.cause),
        ("proof" if difference.is_proven else "not proven", difference.proof),
        (
            "found in",
            f"{_SOURCES[difference.source]}; {_counted(explanation.n_texts, 'text')} compared",
        ),
    ]
    if difference.special_tokens:
        rows.append(("note", "special tokens were added and allowed; as text no difference found"))
    elif difference.a.tokens == difference.b.tokens and explanation.by == "ids":
        rows.append(("hint", "only the numbers differ here; --by bytes looks further"))
    tables.print_facts(rows)


def _rows(side: Cut) -> Iterator[str]:
    if side.error is not None:
        yield f"error: {_printable(side.error)}"
        return
    if not side.ids:
        yield "(no tokens)"
        return
    tokens = [
        Token(id=token_id, text=visible(token), bytes=token.hex(), start=0, end=0, special=special)
        for token_id, token, special in zip(side.ids, side.tokens, side.special, strict=True)
    ]
    yield from token_lines(
        tokens, below=("id",), colour=streams.colour_wanted(), width=terminal_width() - 2
    )


def _printable(text: str) -> str:
    """Words with what a terminal might obey written as escapes; spaces stay spaces."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _line(text: str) -> str:
    """A text on one line, safely printed; long ones are cut."""
    shown = text if len(text) <= _MAX_TEXT_CHARS else text[: _MAX_TEXT_CHARS - 1] + "…"
    return visible(shown.encode("utf-8", "surrogateescape"))
