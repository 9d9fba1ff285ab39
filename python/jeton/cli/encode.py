"""``jeton encode``: text to ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, streams
from jeton.cli.declaring import command, option
from jeton.cli.kinds import WHOLE
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton._core import ModelInputs


@command(
    sections={
        "Most used": "tokenizer_name text add_special_tokens allow_special as_json",
        "Sequences": "pair",
        "Input": "field",
    }
)
@click.argument("file", required=False)
def encode(
    *,
    file: str | None,
    text: str | None = options.TEXT,
    add_special_tokens: bool = option(
        "Add the tokens of the tokenizer's template, such as a start token."
    ),
    allow_special: tuple[str, ...] = options.ALLOW_SPECIAL,
    as_json: bool = options.JSON,
    pair: str | None = option(
        "A second text for each document, such as a question about it.", "TEXT"
    ),
    max_length: int | None = option(
        "Cut documents to this many tokens, the template's included.", "N", type=WHOLE
    ),
    truncation: str | None = option(
        "Which text --max-length cuts of a document and its --pair; the longer one by default.",
        type=click.Choice(["longest_first", "only_first", "only_second"]),
    ),
    truncation_side: str | None = option(
        "The end that --max-length cuts off; right by default.",
        type=click.Choice(["left", "right"]),
    ),
    windows: bool = option("Write what --max-length cuts off in lines of its own."),
    stride: int | None = option(
        "Tokens that neighbouring --windows share; 0 by default.", "N", type=WHOLE
    ),
    pad: bool = option("Fill shorter documents up to --max-length."),
    padding_side: str | None = option(
        "The side that --pad fills; the file's, or else right.",
        type=click.Choice(["left", "right"]),
    ),
    pad_token: str | None = option(
        "The token that --pad fills with; the file's by default.", "TOKEN"
    ),
    reading: options.InputOptions,
    num_threads: int | None = options.THREADS,
    named: options.TokenizerOptions,
) -> None:
    """Turn text into token ids, one document a line.

    FILE is a text or JSON Lines file, compressed or not; - or nothing is standard input. Text
    that looks like a special token stays text unless it is allowed.

    With --max-length or --pair each line is a row as models take it: with --json the attention
    mask, the token types, and the number of its document beside the ids.

    \b
    Examples:
      jeton encode --tokenizer cl100k_base notes.txt
      jeton encode -t o200k_base --documents line < prompts.txt
      jeton encode -t qwen --text "<|im_start|>" --allow-special all --json
      jeton encode -t bert.json --add-special-tokens --max-length 512 --windows --stride 64 a.txt
    """
    tokenizer = named.load()
    rows: dict[str, Any] = {
        "truncation": truncation,
        "truncation_side": truncation_side,
        "stride": stride,
        "padding_side": padding_side,
        "pad_token": pad_token,
    }
    if max_length is None and (windows or pad or any(rows.values())):
        raise UsageError("--max-length is not given, and other options depend on it")
    if max_length is not None:
        rows |= {
            "max_length": max_length,
            "truncation": truncation or "longest_first",
            "overflow": windows,
            "padding": "max_length" if pad else None,
        }
    as_rows = max_length is not None or pair is not None
    n_documents = 0
    with options.bad_records_explained():
        for batch in streams.batches(
            file,
            text=text,
            **reading.values(),
        ):
            if as_rows:
                inputs = tokenizer.model_inputs(
                    batch,
                    None if pair is None else [pair] * len(batch),
                    add_special_tokens=add_special_tokens,
                    allow_special=streams.allowed(allow_special),
                    num_threads=num_threads,
                    **rows,
                )
                _write_rows(inputs, first_document=n_documents, as_json=as_json)
                n_documents += len(batch)
                continue
            encoded = tokenizer.encode_batch(
                batch,
                num_threads=num_threads,
                add_special_tokens=add_special_tokens,
                allow_special=streams.allowed(allow_special),
            )
            for ids in encoded.to_lists():
                if as_json:
                    streams.write_json({"ids": ids}, indent=None)
                else:
                    streams.write_line(" ".join(map(str, ids)))


def _write_rows(inputs: ModelInputs, *, first_document: int, as_json: bool) -> None:
    """Write the rows of one batch, padding included."""
    names = {
        "ids": "input_ids",
        "attention_mask": "attention_mask",
        "token_type_ids": "token_type_ids",
    }
    offsets = inputs.row_offsets
    for row, sample in enumerate(inputs.overflow_to_sample.tolist()):
        place = row if inputs.is_padded else slice(offsets[row], offsets[row + 1])
        if not as_json:
            streams.write_line(" ".join(map(str, inputs.input_ids[place].tolist())))
            continue
        written = {key: getattr(inputs, name)[place].tolist() for key, name in names.items()}
        streams.write_json({**written, "document": first_document + sample}, indent=None)
