"""Inputs of a run: files and addresses that hold documents, and their states."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from jeton.corpus import Format, InputFile, open_documents, require_text
from jeton.corpus.inputs import STANDARD_INPUT, files_of
from jeton.corpus.objects import FileState, is_address, state_of
from jeton.errors import UsageError

DatasetInputs: TypeAlias = str | os.PathLike[str] | Iterable[Any]


@dataclass(frozen=True, slots=True)
class FoundInputs:
    """The inputs of a run.

    Attributes:
        files: The files that are read, in order.
        states: Size and time of each; None: it cannot be known.
        skipped: The files that are not read; each says why.
        texts: Texts that were given as Python objects, instead of files.
    """

    files: tuple[InputFile, ...]
    states: tuple[FileState | None, ...]
    skipped: tuple[InputFile, ...] = ()
    texts: Any = None


def find_inputs(
    inputs: DatasetInputs, *, output: Path, field: str, input_format: Format | None
) -> FoundInputs:
    """Return the files of inputs; what lies in the folder of the output is none of them.

    Raises:
        EmptyCorpusError: No file holds documents.
        FileNotFoundError: An input is missing.
        MissingExtraError: An address, and fsspec is not installed.
        UsageError: There are no inputs.
    """
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    is_paths = isinstance(inputs, list | tuple | set | frozenset) and (
        not inputs or any(isinstance(item, str | os.PathLike | InputFile) for item in inputs)
    )
    if not is_paths:
        return FoundInputs((InputFile("<texts>", "memory"),), (None,), texts=inputs)
    given: list[Any] = list(inputs)
    if not given:
        raise UsageError("there are no inputs")
    found = files_of(given, format=input_format)
    # Only this function knows which files of a folder hold documents.
    stream = open_documents(found, field=field)
    usable = {file.path: file for file in (*stream.files, *stream.skipped)}
    files: list[InputFile] = []
    skipped: list[InputFile] = []
    own = output.resolve()
    for file in found:
        file = usable.get(file.path, file)
        if (
            file.was_found
            and not is_address(file.path)
            and own in Path(file.path).resolve().parents
        ):
            continue
        (skipped if file.skipped_because else files).append(file)
    if not files:
        require_text(n_documents=0, n_bytes=0, skipped=skipped)
    return FoundInputs(tuple(files), tuple(map(_state, files)), tuple(skipped))


def _state(file: InputFile) -> FileState | None:
    if file.format == "memory" or file.path == STANDARD_INPUT or file.n_bytes is None:
        return None
    return state_of(file.path)
