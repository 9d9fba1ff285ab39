"""A command's own output among its inputs: never read, and never written over what is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jeton.corpus.inputs import STANDARD_INPUT, InputFile, expand_inputs
from jeton.corpus.objects import is_address
from jeton.errors import UsageError


def inputs_without_output(
    inputs: Sequence[str],
    *,
    tokenizer: Iterable[str | os.PathLike[str] | None] = (),
    files: Mapping[str, str | None] | None = None,
) -> list[Any]:
    """The inputs, in which what the command itself writes is marked as skipped.

    Args:
        inputs: Paths, folders, globs, ``"-"``, as on a command line.
        tokenizer: Where tokenizers and cards go: what lies there from an earlier run is skipped.
        files: Other files by option: they hold text or counts of the inputs, so that a place
            inside of an input folder is refused.

    Raises:
        UsageError: An output is one of the inputs, or a file would lie among them.
        FileNotFoundError: An input is missing.
    """
    local = [name for name in inputs if name != STANDARD_INPUT and not is_address(name)]
    folders = [Path(name).resolve() for name in local if Path(name).is_dir()]
    named = {Path(name).resolve() for name in local if Path(name).is_file()}
    for option, name in (files or {}).items():
        if name in (None, "-", ""):
            continue
        place = Path(str(name)).resolve()
        inside = next((folder for folder in folders if folder in place.parents), None)
        if place in named or inside is not None:
            where = "one of the inputs" if place in named else f"inside of the input {inside}"
            raise UsageError(
                f"{option} {name} is {where}: the next run would read it\n"
                "hint: write it to another folder"
            )
    places = [Path(str(name)).resolve() for name in tokenizer if name is not None]
    for place in places:
        if place in folders:
            raise UsageError(
                f"the output {place.name} is the folder that is read: a second run would read "
                "what the first one wrote\nhint: name another folder"
            )
        if place in named:
            raise UsageError(
                f"the output {place.name} is one of the inputs and would be written over\n"
                "hint: name another file"
            )
    among = [p for p in places if any(f in p.parents for f in folders) or _is_globbed(local)]
    if not among:
        return list(inputs)
    return [_marked(file, among) for file in expand_inputs(inputs)]


def _is_globbed(inputs: Sequence[str]) -> bool:
    return any(not Path(name).exists() for name in inputs)


def _marked(file: InputFile, places: Sequence[Path]) -> InputFile:
    if file.path == STANDARD_INPUT or is_address(file.path) or file.skipped_because:
        return file
    path = Path(file.path).resolve()
    for place in places:
        if place == path or place in path.parents:
            return replace(file, skipped_because="it is the output of this very command")
    return file
