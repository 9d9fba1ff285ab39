"""Proof that a model is what a change makes of its base, read from the files of both."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import CHANGE_FILE, VocabularyChange
from jeton.adapt.weights.applying import request_of
from jeton.adapt.weights.gguf_applying import BlockMatrix, is_table
from jeton.adapt.weights.matrices import OpenFiles, are_equal, take_rows
from jeton.adapt.weights.methods import recipes_of
from jeton.adapt.weights.planning import plan_weights
from jeton.adapt.weights.tensor_plans import TensorPlan, WeightPlan
from jeton.adapt.weights.tokenizers import change_of_sides, read_sides
from jeton.checkpoint.belonging import Contradiction, contradictions, ids_document
from jeton.checkpoint.copying import BLOCK_BYTES, read_exactly
from jeton.checkpoint.gguf_file import GgufFile, StoredTensor, read_gguf_file
from jeton.checkpoint.id_fields import GONE, IdPlace, follow_ids
from jeton.checkpoint.rows import can_encode, decoded
from jeton.checkpoint.safetensors import BITS, Tensor
from jeton.checkpoint.snapshot import WeightGroup, read_groups
from jeton.checkpoint.vocabulary_tensors import axis_of, role_of
from jeton.errors import AdaptError, JetonError, UsageError
from jeton.formats.reading import read_object
from jeton.registry import load

# Result of a proof that a model is what a change makes of its base.

_MAX_PROBLEMS = 100
"""Most contradictions that a result lists."""


@dataclass(frozen=True)
class Verification:
    """Counts of all that was read, and every contradiction in it.

    Attributes:
        n_tables: Tensors with a vocabulary axis.
        n_kept_rows: Rows that were compared with those of the base, over all tables.
        n_new_rows: Rows that the base does not have, over all tables.
        n_copied: Other tensors, compared byte by byte.
        n_bytes: Bytes that were compared.
        problems: Contradictions; the first 100.
    """

    n_tables: int
    n_kept_rows: int
    n_new_rows: int
    n_copied: int
    n_bytes: int
    problems: tuple[Contradiction, ...]

    @property
    def is_proven(self) -> bool:
        """True if nothing contradicts."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as JSON can hold it."""
        return {
            "is_proven": self.is_proven,
            "tables": self.n_tables,
            "kept_rows": self.n_kept_rows,
            "new_rows": self.n_new_rows,
            "copied_tensors": self.n_copied,
            "compared_bytes": self.n_bytes,
            "problems": [{"where": p.where, "what": p.what} for p in self.problems],
        }


class Verifier:
    """Counts equal parts and notes unequal ones; the comparison of a format extends it."""

    def __init__(self) -> None:
        self.problems: list[Contradiction] = []
        self._n_tables = self._n_kept = self._n_new = self._n_copied = self._n_bytes = 0

    def note(self, where: str, what: str) -> None:
        """Notes a contradiction, unless there are very many already."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Contradiction(where, what))

    def result(self) -> Verification:
        """Returns the counts and contradictions so far."""
        return Verification(
            self._n_tables,
            self._n_kept,
            self._n_new,
            self._n_copied,
            self._n_bytes,
            tuple(self.problems[:_MAX_PROBLEMS]),
        )


# Proof that a GGUF file is what a change of vocabulary makes of its base.
#
# Tokens are matched by their bytes in the metadata, not by the change that wrote the file: a row of
# a token that both files have is equal byte for byte, in every type.

_TOKENS, _MERGES = "tokenizer.ggml.tokens", "tokenizer.ggml.merges"
_SCORES, _KINDS = "tokenizer.ggml.scores", "tokenizer.ggml.token_type"
_ID = re.compile(r"tokenizer\.ggml\.\w+_token_id")
_UNUSED = 5
"""Kind of entries behind the vocabulary, of llama.h."""


def verify_gguf(
    output: str | os.PathLike[str], *, base: str | os.PathLike[str] | None = None
) -> Verification:
    """Compare a file that ``apply`` wrote with its base, and its parts with one another.

    Args:
        output: The file.
        base: The file it was made of; None compares only its own parts.

    Raises:
        FormatError: A file is damaged.
        OSError: A file cannot be read.
    """
    file = read_gguf_file(output)
    found = _GgufVerifier()
    found.own_parts(file)
    if base is not None:
        other = read_gguf_file(base)
        found.metadata(file, other)
        with OpenFiles() as files:
            found.tensors(file, other, files)
    return found.result()


class _GgufVerifier(Verifier):
    """Compares a file with its base, and its parts with one another."""

    def own_parts(self, file: GgufFile) -> None:
        """Compares the vocabulary of a file with its tables and special ids."""
        tokens = _tokens(file)
        n = len(tokens)
        if not n:
            self.note(_TOKENS, "there are none")
        for key in (_SCORES, _KINDS):
            if key in file.values and (length := len(file.values[key].numbers())) != n:
                self.note(key, f"has {length:,} entries; there are {n:,} tokens")
        for tensor in file.tensors.values():
            if is_table(tensor.name) and tensor.shape[0] != n:
                self.note(tensor.name, f"has {tensor.shape[0]:,} rows; there are {n:,} tokens")
        for key, value in file.values.items():
            number = value.number
            if _ID.fullmatch(key) and number is not None and number >= n:
                self.note(key, f"is {number:,}; there are {n:,} tokens")
        size = file.values.get(f"{file.architecture}.vocab_size")
        if size is not None and size.number is not None and size.number != n:
            self.note("vocab_size", f"is {size.number:,}; there are {n:,} tokens")
        known = set(tokens)
        for place, merge in enumerate(_merges(file)):
            left, space, right = merge.partition(b" ")
            missing = [part for part in (left, right, left + right) if part not in known]
            if not space or missing:
                words = (missing or [merge])[0].decode("utf-8", "replace")
                self.note(_MERGES, f"merge {place:,} needs {words!r}, which is no token")

    def metadata(self, file: GgufFile, base: GgufFile) -> None:
        """Compares special ids by their tokens, the order of merges, and all other keys."""
        tokens, old_tokens = _tokens(file), _tokens(base)
        changed = {_TOKENS, _MERGES, _SCORES, _KINDS, f"{base.architecture}.vocab_size"}
        for key, value in base.values.items():
            there = file.values.get(key)
            if there is None:
                self.note(key, "is missing")
            elif _ID.fullmatch(key):
                new, old = there.number, value.number
                if new is None or old is None or new >= len(tokens) or old >= len(old_tokens):
                    continue
                if tokens[new] != old_tokens[old]:
                    self.note(key, f"is {new:,}, another token than the base's {old:,}")
            elif key not in changed and there != value:
                self.note(key, "differs from the base")
        for key in file.values.keys() - base.values.keys():
            self.note(key, "is not in the base")
        place = {merge: number for number, merge in enumerate(_merges(base))}
        common = [place[merge] for merge in _merges(file) if merge in place]
        if common != sorted(common):
            self.note(_MERGES, "merges of the base stand in another order")

    def tensors(self, file: GgufFile, base: GgufFile, files: OpenFiles) -> None:
        """Compares every tensor of the base with the file's."""
        new, old = _matched(_entries(file), _entries(base))
        for name in file.tensors.keys() - base.tensors.keys():
            self.note(name, "is not in the base")
        for name, tensor in base.tensors.items():
            there = file.tensors.get(name)
            if there is None:
                self.note(name, "is missing")
            elif there.type_name != tensor.type_name or there.shape[1:] != tensor.shape[1:]:
                shapes = f"{there.type_name} {list(there.shape)}"
                self.note(name, f"is {shapes}; expected {tensor.type_name} {list(tensor.shape)}")
            elif is_table(name):
                self._rows(file, there, base, tensor, (new, old), files)
            else:
                self._bytes(file, there, base, tensor, files)

    def _rows(
        self,
        file: GgufFile,
        there: StoredTensor,
        base: GgufFile,
        tensor: StoredTensor,
        matched: tuple[NDArray[np.int64], NDArray[np.int64]],
        files: OpenFiles,
    ) -> None:
        new, old = matched
        is_inside = (new < there.shape[0]) & (old < tensor.shape[0])
        new, old = new[is_inside], old[is_inside]
        self._n_tables += 1
        self._n_kept += len(new)
        self._n_new += there.shape[0] - len(new)
        self._n_bytes += there.n_bytes
        ours, theirs = BlockMatrix(file, there), BlockMatrix(base, tensor)
        step = max(1, BLOCK_BYTES // max(ours.row_bytes, 1))
        for start in range(0, len(new), step):
            some, others = new[start : start + step], old[start : start + step]
            a = np.frombuffer(ours.take(files, some), dtype=np.uint8)
            b = np.frombuffer(theirs.take(files, others), dtype=np.uint8)
            if not np.array_equal(a, b):
                place = int((a != b).argmax()) // ours.row_bytes
                self.note(
                    there.name,
                    f"row {int(some[place]):,} differs from row {int(others[place]):,} of the base",
                )
                return

    def _bytes(
        self,
        file: GgufFile,
        there: StoredTensor,
        base: GgufFile,
        tensor: StoredTensor,
        files: OpenFiles,
    ) -> None:
        self._n_copied += 1
        self._n_bytes += there.n_bytes
        if there.shape != tensor.shape:
            self.note(there.name, f"has the shape {list(there.shape)}")
            return
        for at in range(0, there.n_bytes, BLOCK_BYTES):
            n = min(BLOCK_BYTES, there.n_bytes - at)
            ours = read_exactly(files[file.path], there.offset + at, n)
            if ours != read_exactly(files[base.path], tensor.offset + at, n):
                self.note(there.name, "has other bytes than in the base")
                return


def _tokens(file: GgufFile) -> list[bytes]:
    value = file.values.get(_TOKENS)
    return [] if value is None else value.texts()


def _merges(file: GgufFile) -> list[bytes]:
    value = file.values.get(_MERGES)
    return [] if value is None else value.texts()


def _entries(file: GgufFile) -> list[bytes | None]:
    """Tokens by id; None for entries that stand for rows without a token."""
    kinds = file.values[_KINDS].numbers() if _KINDS in file.values else []
    return [
        None if id < len(kinds) and kinds[id] == _UNUSED and token.startswith(b"[PAD") else token
        for id, token in enumerate(_tokens(file))
    ]


def _matched(
    new: Iterable[bytes | None], old: Iterable[bytes | None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids of one token in both files, for tokens that each file has once."""
    new, old = list(new), list(old)
    once = {token for token, n in Counter(old).items() if n == 1 and token is not None}
    once &= {token for token, n in Counter(new).items() if n == 1 and token is not None}
    places = {token: id for id, token in enumerate(old) if token in once}
    pairs = [(id, places[token]) for id, token in enumerate(new) if token in once and token]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


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
