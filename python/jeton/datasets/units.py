"""Work in units of about equal bytes, whatever the files are.

A large file of lines is cut into ranges at line ends, Parquet into row groups; small files go
together. A compressed file is one unit: it can only be read from its beginning. How the work is cut
depends on the inputs alone, so that the result does not depend on the workers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from jeton.corpus import Format, InputFile, open_documents, require_text
from jeton.corpus.inputs import STANDARD_INPUT, files_of
from jeton.corpus.objects import FileState, is_address, state_of
from jeton.datasets.options import DatasetOptions
from jeton.errors import UsageError

UNIT_BYTES = 16 << 20
"""16 MiB of text: a tenth of a second of work, small beside any memory."""

MAX_UNIT_FILES = 1024
"""Small files in one unit."""

MAGIC_BYTES = 4


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """A part of the inputs that one worker reads and tokenizes.

    Attributes:
        files: Numbers of the files, in order; one, if there is a range or row groups.
        start: First byte of a range of lines; a line belongs to the range in which it begins.
        end: One past the last byte of the range; -1: the files are read whole.
        row_groups: Row groups of a Parquet file; empty: all.
    """

    files: tuple[int, ...]
    start: int = 0
    end: int = -1
    row_groups: tuple[int, ...] = ()

    def to_list(self) -> list[Any]:
        """The unit as plain data, for the fingerprint of a plan."""
        return [list(self.files), self.start, self.end, list(self.row_groups)]


def plan_units(files: Sequence[InputFile], options: DatasetOptions) -> list[WorkUnit]:
    """Return the units of the inputs, in the order of the documents.

    Raises:
        MissingExtraError: Parquet without pyarrow.
        RecordError: A Parquet file is damaged.
        OSError: A file cannot be read.
    """
    units: list[WorkUnit] = []
    waiting: list[int] = []
    n_bytes = 0
    for number, file in enumerate(files):
        size = file.n_bytes or 0
        is_small = file.n_bytes is not None and size < UNIT_BYTES // 4
        if is_small and not is_address(file.path):
            waiting.append(number)
            n_bytes += size
            if n_bytes >= UNIT_BYTES // 4 or len(waiting) >= MAX_UNIT_FILES:
                units.append(WorkUnit(tuple(waiting)))
                waiting, n_bytes = [], 0
            continue
        if waiting:
            units.append(WorkUnit(tuple(waiting)))
            waiting, n_bytes = [], 0
        units += _units_of(number, file, options)
    if waiting:
        units.append(WorkUnit(tuple(waiting)))
    return units


def _units_of(number: int, file: InputFile, options: DatasetOptions) -> Iterator[WorkUnit]:
    if file.format == "parquet" and not is_address(file.path):
        yield from _row_groups(number, file)
        return
    size = file.n_bytes or 0
    if size <= UNIT_BYTES or not _has_lines(file, options):
        yield WorkUnit((number,))
        return
    for start in range(0, size, UNIT_BYTES):
        yield WorkUnit((number,), start=start, end=min(size, start + UNIT_BYTES))


def _has_lines(file: InputFile, options: DatasetOptions) -> bool:
    """True if a file can be read from any line on."""
    if file.encoding or "[]" in options.field or options.keeps_records:
        # A record's number is known to those alone who read all before it.
        return False
    is_lines = file.format == "jsonl" or (file.format == "text" and options.documents == "line")
    return is_lines and not _is_compressed(file.path)


def _is_compressed(path: str) -> bool:
    from jeton.corpus.objects import read_range

    head = read_range(path, 0, MAGIC_BYTES)
    is_skippable = len(head) == MAGIC_BYTES and head[1:] == b"\x2a\x4d\x18" and head[0] >> 4 == 5
    return head.startswith((b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd")) or is_skippable


def _row_groups(number: int, file: InputFile) -> Iterator[WorkUnit]:
    from jeton.corpus.parquet import row_group_bytes

    sizes = row_group_bytes(file.path)
    if sizes is None:
        yield WorkUnit((number,))
        return
    waiting: list[int] = []
    n_bytes = 0
    for group, size in enumerate(sizes):
        waiting.append(group)
        n_bytes += size
        if n_bytes >= UNIT_BYTES:
            yield WorkUnit((number,), row_groups=tuple(waiting))
            waiting, n_bytes = [], 0
    if waiting:
        yield WorkUnit((number,), row_groups=tuple(waiting))


# Inputs of a run: files and addresses that hold documents, and their states.

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
