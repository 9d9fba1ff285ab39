"""Small tensors that hold ids, and tables that are reached through them.

A draft model (EAGLE-3) has a vocabulary of its own: ``d2t`` leads from its ids to those of the
target, ``t2d`` marks the target's ids that it has. A static embedding model (model2vec) may share
rows between tokens: ``mapping`` has the row of each token. An adapter may hold rows of single ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.matrices import Looked, OpenFiles, Plain
from jeton.adapt.weights.recipes import Recipe
from jeton.adapt.weights.row_maps import NEW, RowMap, gathered
from jeton.adapt.weights.tensor_plans import TensorPlan
from jeton.checkpoint.copying import read_exactly
from jeton.checkpoint.safetensors import Tensor
from jeton.checkpoint.vocabulary_tensors import Role
from jeton.errors import AdaptError

_INTEGERS = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "U16": "<u2", "U32": "<u4", "U64": "<u8"}
_MAX_BYTES = 256 << 20
"""Largest tensor of ids that is held, in bytes: those of 33 million ids."""


def plan_draft(
    d2t: Tensor,
    t2d: Sequence[Tensor],
    heads: Sequence[Tensor],
    target_rows: RowMap | None,
    change: VocabularyChange,
    files: OpenFiles,
) -> dict[str, TensorPlan]:
    """Returns the plans of a draft's own tensors: its ids lead to the same tokens as before.

    Ids whose target is gone leave the draft. The others stay in the order of their targets.
    """
    distance = _integers(d2t, files)
    target = np.arange(len(distance)) + distance
    n_ids = max(len(target), change.n_old_ids if target_rows is None else target_rows.n_old_rows)
    if len(target) and not (target.min() >= 0 and target.max() < n_ids):
        raise AdaptError(
            f"{d2t.name!r} in {d2t.file} leads to id {int(target.max()):,} of a target with "
            f"{n_ids:,}\nhint: name the draft that was made for this model"
        )
    new_of = np.full(n_ids, -1, dtype=np.int64)
    if target_rows is not None:
        old = np.flatnonzero(target_rows.source >= 0)
        new_of[target_rows.source[old]] = old
    else:
        new_of[: change.n_old_ids] = change.new_of
    moved = new_of[target]
    kept = np.flatnonzero(moved >= 0)
    kept = kept[np.argsort(moved[kept], kind="stable")]
    new_target = moved[kept]
    rows = gathered(len(target), kept)
    values = (new_target - np.arange(len(kept))).astype(_INTEGERS[d2t.dtype])
    plans = {
        d2t.name: TensorPlan(
            d2t, Role.DRAFT_TO_TARGET, content=values.tobytes(), n_content=len(values)
        )
    }
    for tensor in t2d:
        assert target_rows is not None
        marks = np.zeros(target_rows.n_new_rows, dtype=np.uint8)
        marks[new_target] = 1
        plans[tensor.name] = TensorPlan(
            tensor, Role.TARGET_TO_DRAFT, content=marks.tobytes(), n_content=len(marks)
        )
    for head in heads:
        if head.shape[0] == len(target):
            plans[head.name] = TensorPlan(head, Role.HEAD, rows, Plain(head))
    return plans


def plan_lookup(
    tensors: Mapping[str, Tensor],
    names: Mapping[Role, Sequence[str]],
    change: VocabularyChange,
    recipe: Recipe,
    files: OpenFiles,
) -> dict[str, TensorPlan]:
    """Returns the plans of a static model whose tokens share rows; new tokens get new rows."""
    mapping = tensors[names[Role.MAPPING][0]]
    if mapping.shape != (change.n_old_ids,):
        raise AdaptError(
            f"{mapping.name!r} in {mapping.file} has the shape {list(mapping.shape)} and the "
            f"tokenizer {change.n_old_ids:,} ids: they do not belong together\n"
            "hint: fetch both again, from one place"
        )
    places = _integers(mapping, files)
    plans: dict[str, TensorPlan] = {}
    n_rows = 0
    for name in names[Role.INPUT]:
        tensor = tensors[name]
        n_rows = tensor.shape[0]
        if len(places) and not (places.min() >= 0 and places.max() < n_rows):
            raise AdaptError(
                f"{mapping.name!r} in {mapping.file} leads to row {int(places.max()):,} of "
                f"{n_rows:,}\nhint: fetch or copy it again"
            )
        source = np.concatenate([np.arange(n_rows), np.full(len(change.added_ids), NEW)])
        plans[name] = TensorPlan(
            tensor,
            Role.INPUT,
            RowMap(n_rows, source),
            Looked(Plain(tensor), places),
            recipe=recipe,
        )
    moved = np.zeros(change.n_new_ids, dtype=np.int64)
    moved[change.kept] = places[change.old_of[change.kept]]
    moved[change.added_ids] = n_rows + np.arange(len(change.added_ids))
    plans[mapping.name] = TensorPlan(
        mapping,
        Role.MAPPING,
        content=moved.astype(_INTEGERS[mapping.dtype]).tobytes(),
        n_content=len(moved),
    )
    return plans


def plan_indexed(
    tensors: Mapping[str, Tensor],
    names: Sequence[str],
    change: VocabularyChange,
    trained: Mapping[str, Sequence[int]],
) -> dict[str, TensorPlan]:
    """Returns the plans of rows whose ids a configuration lists; those of gone ids go."""
    plans = {}
    for name in names:
        ids = next((ids for module, ids in trained.items() if module in name), None)
        tensor = tensors[name]
        if ids is None or len(ids) != tensor.shape[0]:
            n = "no ids" if ids is None else f"{len(ids):,} ids"
            raise AdaptError(
                f"{name!r} in {tensor.file} has {tensor.shape[0]:,} rows and "
                f"adapter_config.json lists {n} for it\nhint: fetch or copy both again"
            )
        rows = gathered(len(ids), kept_trained(ids, change))
        plans[name] = TensorPlan(tensor, Role.INDEXED, rows, Plain(tensor))
    return plans


def kept_trained(ids: Sequence[int], change: VocabularyChange) -> NDArray[np.int64]:
    """Returns the places of the ids that stay in the vocabulary."""
    listed = np.array(ids, dtype=np.int64).reshape(-1)
    inside = (listed >= 0) & (listed < change.n_old_ids)
    kept = ~inside
    kept[inside] = change.new_of[listed[inside]] >= 0
    return np.flatnonzero(kept)


def _integers(tensor: Tensor, files: OpenFiles) -> NDArray[np.int64]:
    if tensor.dtype not in _INTEGERS or len(tensor.shape) != 1 or tensor.n_bytes > _MAX_BYTES:
        raise AdaptError(
            f"{tensor.name!r} in {tensor.file} is {tensor.dtype} of the shape "
            f"{list(tensor.shape)}; expected a list of integers\nhint: fetch or copy it again"
        )
    data = read_exactly(files[tensor.file], tensor.offset, tensor.n_bytes)
    return np.frombuffer(data, dtype=_INTEGERS[tensor.dtype]).astype(np.int64)
