"""``jeton show``: how a text is cut, to look at."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import options, streams
from jeton.cli.declaring import command, option
from jeton.cli.outputs import check_outputs
from jeton.cli.token_rows import Below, Token, aligned_lines, terminal_width, token_lines, visible
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton import TextBatch
    from jeton.comparing.ranks import Ranks
    from jeton.workload.choice import Chosen

__all__ = ["show", "visible"]


@command(
    sections={
        "Most used": "tokenizer_names",
        "Input": "documents",
        "Tokenizer": "allow_special",
        "Output": "as_json",
    }
)
@click.argument("file", required=False)
def show(
    *,
    file: str | None,
    tokenizer_names: tuple[str, ...] = option(
        "Name, file or folder of a tokenizer. Repeatable: cuts are shown under each other.",
        "T",
        names="-t --tokenizer",
        required=True,
    ),
    text: str | None = options.TEXT,
    with_bytes: bool = option("Write the bytes below, hexadecimal.", names="--bytes"),
    with_ranks: bool = option(
        "Write the ranks below: the place among the merges, or by falling score.", names="--ranks"
    ),
    ids: bool = option("Write the ids below.", default=True),
    html: str | None = option(
        "Write a page instead: search, every token's id, bytes, rank and place, worst documents "
        "and terms, scripts.",
        "F",
    ),
    documents: Literal["file", "line"] = options.DOCUMENTS,
    file_format: Literal["auto", "text", "jsonl"] = options.FORMAT,
    field: str = options.FIELD,
    strict: bool = options.STRICT,
    allow_special: tuple[str, ...] = options.ALLOW_SPECIAL,
    pattern: str | None = options.PATTERN,
    special_tokens: tuple[str, ...] = options.SPECIAL_ID,
    as_json: bool = options.JSON,
) -> None:
    """Show how a text is cut into tokens.

    Tokens are coloured in a terminal, and separated by a line elsewhere and under NO_COLOR. A
    space is shown as a dot, a tab as an arrow, a line end as a bent arrow. Bytes of a cut
    character are shown as \\xNN. Several tokenizers are shown under each other, the same stretch
    of text at a time. Offsets in the JSON count code points and bytes; it has one line for each
    document and tokenizer.

    \b
    Examples:
      jeton show --tokenizer cl100k_base --text "hydroxychloroquine 200 mg"
      jeton show -t cl100k_base -t jeton-medical-32k note.txt --bytes --ranks
      jeton show -t o200k_base --text "naïve" --json
      jeton show -t cl100k_base -t o200k_base notes.jsonl --html tokens.html
    """
    if html is not None and as_json:
        raise UsageError("--html and --json were given; expected one of them")
    check_outputs(html=html)
    chosen = _chosen(tokenizer_names, pattern, special_tokens)
    batches = streams.batches(
        file, text=text, field=field, documents=documents, file_format=file_format, strict=strict
    )
    if html is not None:
        if allow_special:
            raise UsageError("--html shows special tokens as text; leave --allow-special away")
        _write_page(html, batches, chosen, source="--text" if text is not None else file or "-")
        return
    ranks = _ranks(chosen) if with_ranks else [None] * len(chosen)
    wanted: tuple[tuple[Below, bool], ...] = (
        ("id", ids),
        ("bytes", with_bytes),
        ("rank", with_ranks),
    )
    below = [name for name, is_wanted in wanted if is_wanted]
    for batch in batches:
        for document in batch:
            allowed = streams.allowed(allow_special)
            cuts = [
                (item.name, _tokens(item, document, allowed, rank))
                for item, rank in zip(chosen, ranks, strict=True)
            ]
            if as_json:
                for item, (_, tokens), rank in zip(chosen, cuts, ranks, strict=True):
                    _write_json(item, document, tokens, rank)
                continue
            _write_lines(cuts, document, below)


def _chosen(
    names: Sequence[str], pattern: str | None, special_tokens: tuple[str, ...]
) -> list[Chosen]:
    from jeton.workload.choice import choose_tokenizers

    loaded = [
        options.load_tokenizer(name, pattern=pattern, special_tokens=special_tokens)
        for name in names
    ]
    return choose_tokenizers(
        [
            item if item.name is not None else item.with_name(name)
            for item, name in zip(loaded, names, strict=True)
        ],
        current=None,
    )[0]


def _ranks(chosen: Sequence[Chosen]) -> list[Ranks | None]:
    from jeton.comparing.ranks import ranks_of

    return [ranks_of(item.tokenizer) for item in chosen]


def _tokens(
    item: Chosen, text: str, allow_special: tuple[str, ...] | Literal["all"], ranks: Ranks | None
) -> list[Token]:
    encoding = item.tokenizer.encode_with_offsets(text, allow_special=allow_special)
    rows = zip(
        encoding.ids.tolist(),
        encoding.starts.tolist(),
        encoding.ends.tolist(),
        encoding.starts_bytes.tolist(),
        encoding.ends_bytes.tolist(),
        encoding.word_ids.tolist(),
        strict=True,
    )
    tokens = []
    for token_id, start, end, start_byte, end_byte, word in rows:
        token_bytes = item.tokenizer.id_to_bytes(token_id)
        tokens.append(
            Token(
                id=token_id,
                text=visible(token_bytes),
                bytes=token_bytes.hex(),
                start=start,
                end=end,
                special=word < 0,
                start_byte=start_byte,
                end_byte=end_byte,
                rank=None if ranks is None else ranks.get(token_id),
            )
        )
    return tokens


def _write_lines(
    cuts: list[tuple[str, list[Token]]], document: str, below: Sequence[Below]
) -> None:
    colour, width = streams.colour_wanted(), terminal_width()
    if len(cuts) == 1:
        lines = token_lines(cuts[0][1], below=below, colour=colour, width=width)
    else:
        lines = aligned_lines(cuts, below=below, colour=colour, width=width)
    for line in lines:
        streams.write_line(line, styled=True)
    sys.stdout.flush()
    n_bytes = len(document.encode("utf-8", "surrogatepass"))
    for name, tokens in cuts:
        words = f"{len(tokens):,} tokens, {len(document):,} characters, {n_bytes:,} bytes"
        if tokens:
            words += f", {n_bytes / len(tokens):.2f} bytes per token"
        streams.say(words if len(cuts) == 1 else f"{name}: {words}")


def _write_json(item: Chosen, text: str, tokens: list[Token], ranks: Ranks | None) -> None:
    value: dict[str, Any] = {
        "schema_version": "jeton.show/1",
        "tokenizer": item.tokenizer.name,
        "fingerprint": item.tokenizer.fingerprint,
        "text": text,
        "n_tokens": len(tokens),
        "tokens": [token.to_dict(with_rank=ranks is not None) for token in tokens],
    }
    if ranks is not None:
        value["rank_kind"] = ranks.kind
    streams.write_json(value, indent=None)


def _write_page(
    path: str, batches: Iterator[TextBatch], chosen: Sequence[Chosen], *, source: str
) -> None:
    from jeton._files import write_whole
    from jeton.comparing.inspecting import inspect_batches
    from jeton.report.inspector import inspector_html

    name = "standard input" if source == "-" else source
    inspection = inspect_batches(((name, batch) for batch in batches), chosen)
    write_whole(path, inspector_html(inspection))
    n_shown, n_all = len(inspection.documents), inspection.n_documents
    how = "documents" if inspection.is_whole else "documents of an even draw"
    streams.say(f"wrote {path}: {n_shown:,} of {n_all:,} {how}")
