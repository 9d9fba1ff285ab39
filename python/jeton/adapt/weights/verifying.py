"""Proof that a directory is what a change makes of its base: everything is read back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jeton.adapt.change import CHANGE_FILE, VocabularyChange
from jeton.adapt.weights.applying import request_of
from jeton.adapt.weights.gguf_verifying import verify_gguf
from jeton.adapt.weights.matrices import OpenFiles, are_equal, take_rows
from jeton.adapt.weights.methods import recipes_of
from jeton.adapt.weights.planning import plan_weights
from jeton.adapt.weights.tensor_plans import TensorPlan, WeightPlan
from jeton.adapt.weights.tokenizers import change_of_sides, read_sides
from jeton.adapt.weights.verification import Verification, Verifier
from jeton.checkpoint.belonging import contradictions, ids_document
from jeton.checkpoint.copying import BLOCK_BYTES, read_exactly
from jeton.checkpoint.elements import can_encode, decoded
from jeton.checkpoint.id_fields import GONE, IdPlace, follow_ids
from jeton.checkpoint.safetensors import BITS, Tensor
from jeton.checkpoint.snapshot import WeightGroup, read_groups
from jeton.checkpoint.vocabulary_tensors import axis_of, role_of
from jeton.errors import AdaptError, JetonError, UsageError
from jeton.formats.documents import read_object
from jeton.registry import load


def verify(
    output: str | os.PathLike[str],
    *,
    base: str | os.PathLike[str] | None = None,
    as_is: Iterable[str] = (),
) -> Verification:
    """Compare a model that ``apply`` wrote with its base, and its files with one another.

    Args:
        output: The directory, or the GGUF file.
        base: The model it was made of; None compares only its own files.
        as_is: Names of tensors that were copied although an axis is as long as the vocabulary.

    Returns:
        The compared parts, and every contradiction.

    Raises:
        FormatError: A weight file is damaged, missing or at odds with an index.
        UsageError: ``as_is`` is given for a GGUF file.
        OSError: A file cannot be read.
    """
    folder = Path(output)
    if folder.is_file():
        if list(as_is):
            raise UsageError("--as-is is for model directories\nhint: leave it out")
        return verify_gguf(folder, base=base)
    groups = read_groups(folder)
    if base is None:
        n_ids = load(folder).vocab_size
        problems = contradictions(folder, groups, n_ids)
        return Verification(0, 0, 0, 0, 0, tuple(problems))
    sides = read_sides(Path(base), folder)
    change = (
        VocabularyChange.read(folder / CHANGE_FILE)
        if not sides.has_old and (folder / CHANGE_FILE).is_file()
        else change_of_sides(sides)
    )
    found = _DirectoryVerifier(change)
    found.problems += contradictions(folder, groups, change.n_new_ids)
    old_groups = read_groups(sides.model)
    stated = _stated_rows(groups, old_groups)
    try:
        request = request_of(
            sides.model, change, recipes_of("mean", change), stated=stated, as_is=frozenset(as_is)
        )
        with OpenFiles() as files:
            plan = plan_weights(old_groups, request, files)
    except AdaptError as error:
        found.note("weights", str(error).split("\n")[0])
    else:
        found.weights(plan, groups)
    found.settings(sides.model, folder)
    return found.result()


def _stated_rows(
    groups: tuple[WeightGroup, ...], old_groups: tuple[WeightGroup, ...]
) -> dict[str, int]:
    """Rows of the tables that are there, by name."""
    there = {name: t for group in groups for name, t in group.tensors.items()}
    stated = {}
    has_other_rows = False
    for group in old_groups:
        for name, tensor in group.tensors.items():
            new = there.get(name)
            role = role_of(name)
            if new is not None and role is not None and len(new.shape) == len(tensor.shape) > 0:
                axis = axis_of(role, len(new.shape))
                stated[name] = new.shape[axis]
                has_other_rows |= new.shape[axis] != tensor.shape[axis]
    return stated if has_other_rows else {}


class _DirectoryVerifier(Verifier):
    """Compares a directory with what the change makes of its base."""

    def __init__(self, change: VocabularyChange) -> None:
        super().__init__()
        self._change = change

    def weights(self, plan: WeightPlan, groups: tuple[WeightGroup, ...]) -> None:
        """Compares every tensor of the base with what became of it."""
        there = {name: t for group in groups for name, t in group.tensors.items()}
        wanted = {name: p for plans in plan.tensors for name, p in plans.items()}
        for name in there.keys() - wanted.keys():
            self.note(name, "is not in the base")
        with OpenFiles() as files:
            for name, tensor_plan in wanted.items():
                tensor = there.get(name)
                if tensor is None:
                    self.note(name, "is missing")
                elif tensor.dtype != tensor_plan.tensor.dtype:
                    self.note(name, f"is {tensor.dtype}; expected {tensor_plan.tensor.dtype}")
                elif tensor.shape != tensor_plan.shape:
                    shapes = f"{list(tensor.shape)}; expected {list(tensor_plan.shape)}"
                    self.note(name, f"has the shape {shapes}")
                else:
                    self._tensor(tensor, tensor_plan, files)

    def _tensor(self, tensor: Tensor, plan: TensorPlan, files: OpenFiles) -> None:
        self._n_bytes += tensor.n_bytes
        if plan.content is not None:
            self._n_tables += 1
            written = read_exactly(files[tensor.file], tensor.offset, tensor.n_bytes)
            if written != plan.content:
                self.note(tensor.name, "leads to other ids than the change says")
        elif plan.rows is None or plan.is_copied:
            self._n_tables += plan.rows is not None
            self._n_copied += plan.rows is None
            self._n_kept += 0 if plan.rows is None else plan.rows.n_new_rows
            if not are_equal(tensor, plan.tensor, files):
                self.note(tensor.name, "has other bytes than in the base")
        elif plan.by_columns:
            self._columns(tensor, plan, files)
        else:
            self._rows(tensor, plan, files)

    def _rows(self, tensor: Tensor, plan: TensorPlan, files: OpenFiles) -> None:
        rows = plan.rows
        assert rows is not None
        self._n_tables += 1
        block = getattr(plan.matrix, "block_rows", 1) if plan.part else 1
        source = rows.source[::block] // block if block > 1 else rows.source
        n_old = plan.tensor.shape[0] if block > 1 else rows.n_old_rows
        n_new = plan.n_stored_rows if block > 1 else rows.n_new_rows
        kept = np.flatnonzero((source >= 0) & (source < n_old))
        self._n_kept += len(kept)
        self._n_new += n_new - len(kept)
        row_bytes = tensor.n_bytes // max(n_new, 1)
        step = max(1, BLOCK_BYTES // max(row_bytes, 1))
        for start in range(0, len(kept), step):
            new = kept[start : start + step]
            ours = np.frombuffer(take_rows(files, tensor, n_new, new), dtype=np.uint8)
            theirs = take_rows(files, plan.tensor, n_old, source[new])
            unequal = ours != np.frombuffer(theirs, dtype=np.uint8)
            if unequal.any():
                first = int(new[int(unequal.argmax()) // row_bytes])
                self.note(
                    tensor.name,
                    f"row {first:,} differs from row {int(source[first]):,} of the base",
                )
                break
        self._finite(tensor, plan, np.flatnonzero(source < 0), n_new, files)

    def _finite(
        self, tensor: Tensor, plan: TensorPlan, new: Any, n_rows: int, files: OpenFiles
    ) -> None:
        if not can_encode(tensor.dtype) or plan.part:
            return
        row_bytes = tensor.n_bytes // max(n_rows, 1)
        step = max(1, BLOCK_BYTES // max(row_bytes, 1))
        for start in range(0, len(new), step):
            rows = new[start : start + step]
            values = decoded(tensor.dtype, take_rows(files, tensor, n_rows, rows))
            if not np.isfinite(values).all():
                self.note(tensor.name, f"a new row from {int(rows[0]):,} on is not finite")
                return

    def _columns(self, tensor: Tensor, plan: TensorPlan, files: OpenFiles) -> None:
        rows = plan.rows
        assert rows is not None
        self._n_tables += 1
        is_old = rows.source >= 0
        self._n_kept += int(is_old.sum())
        self._n_new += int((~is_old).sum())
        kind = f"V{BITS[tensor.dtype] // 8}"
        for ours, theirs in zip(
            _lines(tensor, files, kind), _lines(plan.tensor, files, kind), strict=True
        ):
            if not np.array_equal(ours[is_old], theirs[rows.source[is_old]]):
                self.note(tensor.name, "a column differs from that of the base")
                return

    def settings(self, base: Path, folder: Path) -> None:
        """Compares the ids in JSON files with those of the base."""
        for file in sorted(folder.glob("*.json")):
            if file.name == CHANGE_FILE or file.name.startswith("tokenizer."):
                continue
            try:
                before, after = read_object(base / file.name), read_object(file)
            except JetonError:
                continue
            if before is None or after is None:
                continue
            expected = _ids_by_place(ids_document(file.name, before), self._change)
            actual = _ids_by_place(ids_document(file.name, after), None)
            for words, id in expected.items():
                if words in actual and actual[words] != id:
                    self.note(file.name, f"{words} is {actual[words]:,}; expected {id:,}")


def _lines(tensor: Tensor, files: OpenFiles, kind: str) -> Iterator[np.ndarray[Any, Any]]:
    size = tensor.n_bytes // max(tensor.shape[0], 1)
    for line in range(tensor.shape[0]):
        data = read_exactly(files[tensor.file], tensor.offset + line * size, size)
        yield np.frombuffer(data, dtype=kind)


def _ids_by_place(document: dict[str, Any], change: VocabularyChange | None) -> dict[str, int]:
    """The ids of a document by place, after a change where one is given."""
    if change is not None:

        def follow(place: IdPlace) -> Any:
            if place.id >= change.n_old_ids:
                return place.id
            new = int(change.new_of[place.id])
            return new if new >= 0 else GONE if place.is_listed else place.id

        document = follow_ids(document, follow)
    found: dict[str, int] = {}

    def note(place: IdPlace) -> int:
        found[place.words] = place.id
        return place.id

    follow_ids(document, note)
    return found
