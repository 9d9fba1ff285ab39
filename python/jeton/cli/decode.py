"""``jeton decode``: ids to text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton._foreign import json_of
from jeton.cli import options, streams
from jeton.cli.declaring import command, option
from jeton.errors import DecodeError, RecordError, UnknownTokenIdError

if TYPE_CHECKING:
    from jeton import Tokenizer

_HINT = 'hint: a line of ids is `1 2 3`, [1, 2, 3] or {"ids": [1, 2, 3]}, as jeton encode writes it'


@command()
@click.argument("file", required=False)
def decode(
    *,
    file: str | None,
    named: options.TokenizerOptions,
    skip_special_tokens: bool = option("Leave special tokens out of the text."),
    errors: str = option(
        "Ids that end within a character: write the bytes as they are, or stop.",
        type=click.Choice(["bytes", "strict"]),
        default="bytes",
    ),
    as_json: bool = options.JSON,
) -> None:
    """Turn token ids back into text.

    Each line of FILE (- or nothing: standard input) is a document. A document is ids with spaces or
    commas between them, a JSON list, or a JSON object with "ids", as `jeton encode` writes it.
    Texts are separated by one line end and nothing is added after the last, so that encoding a file
    and decoding the ids gives the file.

    \b
    Examples:
      jeton encode -t cl100k_base notes.txt | jeton decode -t cl100k_base
      echo "15339 1917" | jeton decode --tokenizer cl100k_base
      jeton decode -t o200k_base ids.jsonl --json
    """
    tokenizer = named.load()
    place = "standard input" if file in (None, "-") else str(file)
    first = True
    for number, line in _lines(file):
        ids = _read_ids(line, place, number)
        _check(ids, tokenizer, place, number)
        try:
            if as_json:
                text = tokenizer.decode(
                    ids,
                    skip_special_tokens=skip_special_tokens,
                    errors="strict" if errors == "strict" else "replace",
                )
                streams.write_json({"text": text}, indent=None)
                continue
            if errors == "strict":
                data = tokenizer.decode(
                    ids, skip_special_tokens=skip_special_tokens, errors="strict"
                ).encode()
            else:
                data = tokenizer.decode_bytes(ids, skip_special_tokens=skip_special_tokens)
        except UnknownTokenIdError as error:
            raise UnknownTokenIdError(
                f"{place}, line {number}: {error}\n"
                "hint: decode with the tokenizer that made the ids",
                id=error.id,
                vocab_size=error.vocab_size,
            ) from None
        except DecodeError as error:
            # The core's hint speaks to programs; here the option is the way out.
            message = str(error).partition("\n")[0]
            hint = "leave out --errors strict to get the bytes as they are"
            raise DecodeError(f"{place}, line {number}: {message}\nhint: {hint}") from None
        streams.write_bytes(data if first else b"\n" + data)
        first = False


def _lines(file: str | None) -> Iterator[tuple[int, bytes]]:
    if file in (None, "-"):
        yield from enumerate(sys.stdin.buffer, start=1)
        return
    with Path(str(file)).open("rb") as stream:
        yield from enumerate(stream, start=1)


def _read_ids(line: bytes, place: str, number: int) -> list[int]:
    """The ids of one line; a blank line is an empty document, as `encode` writes it."""
    text = line.strip()
    if text.startswith((b"[", b"{")):
        return _read_json(text, place, number)
    words = text.replace(b",", b" ").split()
    try:
        return [int(word) for word in words]
    except ValueError:
        wrong = next(word for word in words if not word.lstrip(b"-").isdigit())
        shown = wrong[:40].decode("utf-8", "backslashreplace")
        raise RecordError(
            f"{place}, line {number}: {shown!r} is not a token id; expected whole numbers with "
            f"spaces between them, or JSON\n{_HINT}",
            path=place,
            line=number,
        ) from None


def _read_json(text: bytes, place: str, number: int) -> list[int]:
    try:
        value: Any = json_of(text, any_integer=True)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RecordError(
            f"{place}, line {number}: not valid JSON: {reason}\n{_HINT}", path=place, line=number
        ) from None
    if isinstance(value, dict):
        value = value.get("ids")
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise RecordError(
            f'{place}, line {number}: expected a list of whole numbers, or an object with "ids"'
            f"\n{_HINT}",
            path=place,
            line=number,
        )
    return value


def _check(ids: list[int], tokenizer: Tokenizer, place: str, number: int) -> None:
    """Refuse ids that no vocabulary of this size has, also those that fit no integer type."""
    size = tokenizer.vocab_size
    if not ids or (min(ids) >= 0 and max(ids) < size):
        return
    wrong = next(i for i in ids if not 0 <= i < size)
    raise UnknownTokenIdError(
        f"{place}, line {number}: id {wrong} is out of range; {tokenizer.name or 'the tokenizer'} "
        f"has ids 0 to {size - 1}\nhint: decode with the tokenizer that made the ids",
        id=wrong,
        vocab_size=size,
    )
