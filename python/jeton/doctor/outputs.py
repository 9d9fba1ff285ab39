"""Outputs of a model: texts, the pieces in which they were streamed, ids."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton.errors import LimitError, RecordError

MAX_FILE_BYTES = 256 << 20
"""Largest file of outputs that is read; a sample is enough to see what goes wrong."""
_MAX_OUTPUTS = 100_000


@dataclass(frozen=True, slots=True)
class Output:
    """One generated text.

    Attributes:
        where: File and line.
        text: The text as it reached the user; None where only ids are known.
        ids: The ids that were generated; None where only the text is known.
        pieces: The texts in which it was streamed; None where it was not.
    """

    where: str
    text: str | None = None
    ids: tuple[int, ...] | None = None
    pieces: tuple[str, ...] | None = None


def read_outputs(path: str | os.PathLike[str]) -> tuple[Output, ...]:
    """Read a file of outputs.

    JSON Lines have ``text`` (or ``output``, ``response``, ``content``), ``ids`` (or ``output_ids``,
    ``token_ids``) and ``pieces`` (or ``chunks``, ``deltas``), any of them, or are a plain list of
    ids. Any other file is one text.

    Raises:
        RecordError: A line is neither.
        LimitError: The file is larger than ``MAX_FILE_BYTES``.
        OSError: It cannot be read.
    """
    file = Path(path)
    with file.open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise LimitError(
            f"{file} is larger than {MAX_FILE_BYTES >> 20} MB\nhint: a sample of it is enough",
            what="outputs",
            limit=MAX_FILE_BYTES,
        )
    if file.suffix.lower() not in (".jsonl", ".ndjson", ".json"):
        # Damage is what is looked for, so bytes that are not UTF-8 show as U+FFFD.
        return (Output(str(file), data.decode("utf-8", "replace")),)
    outputs: list[Output] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        if len(outputs) >= _MAX_OUTPUTS:
            break
        outputs.append(_output(file, number, line))
    return tuple(outputs)


def _output(file: Path, number: int, line: str) -> Output:
    hint = 'hint: expected {"text": "...", "ids": [...], "pieces": ["...", ...]} in each line'
    try:
        value = json_of(line, any_integer=True)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:120]
        raise RecordError(
            f"{file}, line {number}: no JSON: {reason}\n{hint}",
            path=str(file),
            line=number,
        ) from None
    where = f"{file}, line {number}"
    if isinstance(value, str):
        return Output(where, text=value)
    ids = _ids(value)
    if ids is not None:
        return Output(where, ids=ids)
    if isinstance(value, Mapping):
        text = _first(value, ("text", "output", "response", "content", "generated_text"))
        found_ids = _ids(_first(value, ("ids", "output_ids", "token_ids")))
        pieces = _first(value, ("pieces", "chunks", "deltas"))
        strings = _strings(pieces)
        if isinstance(text, str) or found_ids is not None or strings is not None:
            shown = text if isinstance(text, str) else None
            if shown is None and strings is not None:
                shown = "".join(strings)
            return Output(where, shown, found_ids, strings)
    raise RecordError(
        f"{file}, line {number}: no text, ids or pieces in it\n{hint}",
        path=str(file),
        line=number,
    )


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _ids(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in value):
        return None
    return tuple(value)


def _strings(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not value or not all(isinstance(i, str) for i in value):
        return None
    return tuple(value)
