"""Weight files written by a plan: tensor by tensor, in blocks, never a table as a whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.matrices import OpenFiles, rows_at_once, take_rows
from jeton.adapt.weights.methods import TableFacts, made_rows
from jeton.adapt.weights.storage import BlockScaled
from jeton.adapt.weights.tensor_plans import NEW, TensorPlan
from jeton.checkpoint.adapted import marked_metadata
from jeton.checkpoint.copying import (
    BLOCK_BYTES,
    DiskQueue,
    copy_file,
    copy_range,
    read_exactly,
)
from jeton.checkpoint.rows import encoded
from jeton.checkpoint.safetensors import BITS, SafetensorsFile


def link_or_copy(source: Path, target: Path, *, link: bool, disk: DiskQueue) -> None:
    """Gives a file a second name, or copies it where names cannot be given.

    Raises:
        OSError: As of the disk.
    """
    if link:
        try:
            os.link(os.path.realpath(source), target)
            return
        except OSError:
            # Another file system, or one without hard links.
            pass
    copy_file(source, target, disk)


def write_weight_file(
    source: SafetensorsFile,
    plans: Mapping[str, TensorPlan],
    change: VocabularyChange,
    target: Path,
    *,
    link: bool,
    disk: DiskQueue,
) -> None:
    """Writes one file of weights; ``disk`` says when it is stored.

    Raises:
        AdaptError: A table is stored in a way that takes no new rows.
        FormatError: The source changed while it was read.
        OSError: As of the disk.
    """
    if all(plans[name].is_copied for name in source.tensors):
        link_or_copy(source.path, target, link=link, disk=disk)
        return
    order = sorted(source.tensors.values(), key=lambda tensor: (tensor.offset, tensor.n_bytes))
    with OpenFiles() as files, disk.new_file(target) as out:
        out.write(_header(source, [plans[tensor.name] for tensor in order], change))
        for tensor in order:
            TensorWriter(plans[tensor.name], change, files).write(out)


class TensorWriter:
    """Writes what becomes of one tensor."""

    def __init__(self, plan: TensorPlan, change: VocabularyChange, files: OpenFiles) -> None:
        self._plan = plan
        self._n_ids = change.n_old_ids
        self._files = files
        self._facts: TableFacts | None = None

    def write(self, out: IO[bytes]) -> None:
        """Writes all its bytes."""
        plan = self._plan
        if plan.content is not None:
            out.write(plan.content)
        elif plan.is_copied:
            tensor = plan.tensor
            copy_range(self._files[tensor.file], tensor.offset, out, tensor.n_bytes)
        elif plan.by_columns:
            self._write_columns(out)
        elif isinstance(plan.matrix, BlockScaled):
            self._write_tiles(out, plan.matrix)
        else:
            self._write_rows(out)

    def values(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Returns the values of rows that are new, float32 (n, n_columns)."""
        plan = self._plan
        assert plan.matrix is not None
        assert plan.rows is not None
        is_new = plan.rows.source[rows] == NEW
        made = np.empty((len(rows), plan.matrix.n_columns), dtype=np.float32)
        if not is_new.all():
            made[~is_new] = self.facts().mean
        if is_new.any():
            assert plan.recipe is not None
            tokens = plan.rows.token_numbers(rows[is_new])
            made[is_new] = made_rows(
                plan.matrix, self._files, plan.recipe, self.facts, tokens, salt=plan.salt
            )
        return made

    def facts(self) -> TableFacts:
        """Returns what the old rows have in common; the table is read when this is first asked."""
        if self._facts is None:
            assert self._plan.matrix is not None
            self._facts = TableFacts(self._plan.matrix, self._files, self._n_ids)
        return self._facts

    def _write_rows(self, out: IO[bytes]) -> None:
        plan = self._plan
        assert plan.rows is not None
        assert plan.matrix is not None
        tensor, n_old = plan.tensor, plan.rows.n_old_rows
        row_bytes = tensor.n_bytes // n_old if n_old else 0
        waiting: list[NDArray[np.int64]] = []
        n_waiting = 0
        for run in plan.rows.runs():
            is_long = run.n * row_bytes >= _LONG_RUN_BYTES
            if run.old >= 0 and not is_long:
                waiting.append(np.arange(run.old, run.old + run.n))
                n_waiting += run.n * row_bytes
                if n_waiting < BLOCK_BYTES:
                    continue
            if waiting:
                out.write(take_rows(self._files, tensor, n_old, np.concatenate(waiting)))
                waiting, n_waiting = [], 0
            if run.old >= 0 and is_long:
                stream = self._files[tensor.file]
                copy_range(stream, tensor.offset + run.old * row_bytes, out, run.n * row_bytes)
            elif run.old < 0:
                for rows in _blocks(run.new, run.new + run.n, plan.matrix.n_columns):
                    out.write(plan.matrix.stored(self.values(rows), plan.part, int(rows[0])))
        if waiting:
            out.write(take_rows(self._files, tensor, n_old, np.concatenate(waiting)))

    def _write_tiles(self, out: IO[bytes], matrix: BlockScaled) -> None:
        """Writes a tensor of a matrix whose rows share scales; old rows are its beginning."""
        plan = self._plan
        assert plan.rows is not None
        tensor, block = plan.tensor, matrix.block_rows
        old = np.flatnonzero(plan.rows.source >= 0)
        n_kept = int(old[-1]) + 1 if len(old) else 0
        unit = 1 if plan.part == 0 else block
        n_units = min(-(-n_kept // unit), tensor.shape[0])
        unit_bytes = tensor.n_bytes // tensor.shape[0]
        copy_range(self._files[tensor.file], tensor.offset, out, n_units * unit_bytes)
        matrix.factors(self._files)
        start = n_units * unit
        # Whole tiles at once, because their rows share a scale.
        step = max(block, rows_at_once(matrix.n_columns) // block * block)
        while start < plan.rows.n_new_rows:
            end = min((start // step + 1) * step, plan.rows.n_new_rows)
            rows = np.arange(start, end)
            out.write(matrix.stored(self.values(rows), plan.part, start))
            start = end

    def _write_columns(self, out: IO[bytes]) -> None:
        plan = self._plan
        assert plan.rows is not None
        assert plan.matrix is not None
        tensor, source = plan.tensor, plan.rows.source
        is_old = source >= 0
        size = BITS[tensor.dtype] // 8
        made = self.values(np.flatnonzero(~is_old))
        old_bytes = plan.rows.n_old_rows * size
        for column in range(plan.matrix.n_columns):
            data = read_exactly(
                self._files[tensor.file], tensor.offset + column * old_bytes, old_bytes
            )
            elements = np.frombuffer(data, dtype=f"V{size}")
            written = np.empty(len(source), dtype=f"V{size}")
            written[is_old] = elements[source[is_old]]
            new = encoded(tensor.dtype, made[:, column]) if len(made) else b""
            written[~is_old] = np.frombuffer(new, dtype=f"V{size}")
            out.write(written.tobytes())


_LONG_RUN_BYTES = 1 << 18
"""Runs of rows from this size on are moved by the kernel; shorter ones are gathered."""


def _blocks(start: int, end: int, n_columns: int) -> Iterator[NDArray[np.int64]]:
    step = rows_at_once(n_columns)
    for first in range(start, end, step):
        yield np.arange(first, min(first + step, end))


def _header(source: SafetensorsFile, plans: list[TensorPlan], change: VocabularyChange) -> bytes:
    """The header of the new file; tensors stay in the order of their bytes."""
    at = 0
    metadata = marked_metadata(source.metadata, change.new_fingerprint)
    entries: dict[str, Any] = {"__metadata__": metadata}
    for plan in plans:
        entries[plan.tensor.name] = {
            "dtype": plan.tensor.dtype,
            "shape": list(plan.shape),
            "data_offsets": [at, at + plan.n_bytes],
        }
        at += plan.n_bytes
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    # As the reference: data begins at a multiple of 8 bytes.
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
