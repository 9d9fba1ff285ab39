"""Plan of the weights: which tensor changes how, decided before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.matrices import Looked, Matrix, OpenFiles, Plain, tie_to_state, tied_names
from jeton.adapt.weights.methods import Recipe, Recipes, recipes_of
from jeton.adapt.weights.storage import companions, is_packed, stem_of, stored_matrix
from jeton.adapt.weights.tensor_plans import (
    NEW,
    RowMap,
    TensorPlan,
    WeightPlan,
    gathered,
    padded_map,
)
from jeton.checkpoint.configuration import ModelConfiguration
from jeton.checkpoint.copying import read_exactly
from jeton.checkpoint.safetensors import Tensor
from jeton.checkpoint.snapshot import WeightGroup
from jeton.checkpoint.vocabulary_tensors import Role, axis_of, family_of_type, may_be_other, role_of
from jeton.errors import AdaptError

# Small tensors that hold ids, and tables that are reached through them.
#
# A draft model (EAGLE-3) has a vocabulary of its own: ``d2t`` leads from its ids to those of the
# target, ``t2d`` marks the target's ids that it has. A static embedding model (model2vec) may share
# rows between tokens: ``mapping`` has the row of each token. An adapter may hold rows of single
# ids.

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


_MAX_NAMED = 10
_TABLES = frozenset({Role.INPUT, Role.HEAD, Role.PER_LAYER, Role.BIAS, Role.BIAS_ROW})
_SALTS = {Role.HEAD: 1, Role.BIAS: 2, Role.BIAS_ROW: 2, Role.PER_LAYER: 3}
_ADAPTER = frozenset({Role.COLUMNS, Role.ROWS})


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """Everything that the plan of a model's weights depends on.

    Attributes:
        change: The change of vocabulary.
        recipes: The recipes of new rows.
        configuration: Content of config.json; None where there is none.
        owned: int64, ascending: ids beyond the tokenizer's that the settings name.
        trained: Ids by module whose rows an adapter holds one by one.
        pad_to: Multiple that rows are rounded up to.
        as_is: Tensors that are copied whatever their size.
        stated: Rows of new tables that are there already, by name.
    """

    change: VocabularyChange
    recipes: Recipes
    configuration: ModelConfiguration | None = None
    owned: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    trained: Mapping[str, Sequence[int]] = field(default_factory=dict)
    pad_to: int | None = None
    as_is: frozenset[str] = frozenset()
    stated: Mapping[str, int] = field(default_factory=dict)

    @property
    def model_type(self) -> str | None:
        """Name of the kind of model."""
        return None if self.configuration is None else self.configuration.model_type

    @property
    def is_nothing(self) -> bool:
        """True if every file stays as it is."""
        return self.change.is_identity and self.pad_to is None and not self.stated


def plan_weights(groups: Sequence[WeightGroup], request: Request, files: OpenFiles) -> WeightPlan:
    """Decides what becomes of every tensor.

    Raises:
        AdaptError: A tensor has an axis as long as the vocabulary and is not known; a table has
            fewer rows than the tokenizer has ids; the storage of a table allows no new rows.
        FormatError: A file changed while it was read.
    """
    plans: list[dict[str, TensorPlan]] = []
    notes: list[str] = []
    ties: bool | None = None
    for group in groups:
        found = _Group(group, request, files)
        plans.append(found.plan())
        notes += found.notes
        ties = found.ties if ties is None else ties
    sizes = _sizes(plans, request)
    if not request.is_nothing:
        _refuse_unknown(groups, plans, set(sizes) | {request.change.n_old_ids}, request)
        if not any(plan.role is not None for group_plans in plans for plan in group_plans.values()):
            raise AdaptError(
                f"no tensor of {groups[0].files[0].path.parent} is known to have a vocabulary axis"
                "\nhint: name the directory of a language model"
            )
    known = tuple(
        {name: group_plans.get(name) or TensorPlan(group.tensors[name]) for name in group.tensors}
        for group, group_plans in zip(groups, plans, strict=True)
    )
    return WeightPlan(tuple(groups), known, sizes, ties, tuple(dict.fromkeys(notes)))


class _Group:
    """Plans of the tensors of one group that have a vocabulary axis."""

    def __init__(self, group: WeightGroup, request: Request, files: OpenFiles) -> None:
        self._tensors = group.tensors
        self._request = request
        self._files = files
        self._maps: dict[tuple[int, int, bool, int | None], RowMap] = {}
        self.notes: list[str] = []
        self.ties: bool | None = None
        self._is_one_table = False
        self._roles = self._find_roles()

    def plan(self) -> dict[str, TensorPlan]:
        """Returns the plans by name."""
        names = {role: self._named(role) for role in Role}
        if self._request.is_nothing:
            return {
                name: TensorPlan(self._tensors[name], role) for name, role in self._roles.items()
            }
        special: dict[str, TensorPlan] = {}
        if names[Role.DRAFT_TO_TARGET]:
            special |= self._draft(names)
        if names[Role.MAPPING]:
            special |= plan_lookup(
                self._tensors, names, self._request.change, self._request.recipes.input, self._files
            )
        special |= plan_indexed(
            self._tensors, names[Role.INDEXED], self._request.change, self._request.trained
        )
        tied = tied_names(
            self._tensors,
            [n for n in names[Role.INPUT] if n not in special],
            [n for n in names[Role.HEAD] if n not in special],
            self._files,
        )
        self.ties, notes = tie_to_state(self._request.configuration, names, tied)
        self.notes += notes
        self._is_one_table = bool(tied) or self._has_no_output_layer(names)
        plans = dict(special)
        for name, role in self._roles.items():
            if name not in plans:
                plans |= self._table(name, role, is_tied=name in tied)
        return plans

    def _has_no_output_layer(self, names: Mapping[Role, list[str]]) -> bool:
        """True if the embeddings are the output layer, as far as the files say."""
        configuration = self._request.configuration
        stated = None if configuration is None else configuration.ties_embeddings
        return not names[Role.HEAD] and stated is not False

    def _find_roles(self) -> dict[str, Role]:
        request = self._request
        roles: dict[str, Role] = {}
        for name, tensor in self._tensors.items():
            role = role_of(name, model_type=request.model_type)
            if role is None and name.endswith((".qweight", ".weight_q", ".weight_packed")):
                role = role_of(f"{stem_of(name)}.weight", model_type=request.model_type)
            if role is None or name in request.as_is:
                continue
            if role is not Role.NONE and may_be_other(name) and not self._fits(tensor, role):
                # Other layers have such names, too.
                continue
            roles[name] = role
        return roles

    def _fits(self, tensor: Tensor, role: Role) -> bool:
        if role in (Role.MAPPING, Role.WEIGHTS) or not tensor.shape:
            return True
        has_lookup = "mapping" in self._tensors
        axis = axis_of(role, len(tensor.shape))
        return has_lookup or tensor.shape[axis] >= self._request.change.n_old_ids

    def _named(self, role: Role) -> list[str]:
        return [name for name, found in self._roles.items() if found is role]

    def _draft(self, names: Mapping[Role, list[str]]) -> dict[str, TensorPlan]:
        t2d = [self._tensors[name] for name in names[Role.TARGET_TO_DRAFT]]
        rows = self._map(t2d[0].shape[0], t2d[0].name) if t2d else None
        heads = [self._tensors[name] for name in names[Role.HEAD]]
        return plan_draft(
            self._tensors[names[Role.DRAFT_TO_TARGET][0]],
            t2d,
            heads,
            rows,
            self._request.change,
            self._files,
        )

    def _map(self, n_rows: int, label: str, *, extra: int = 0, short: bool = False) -> RowMap:
        stated = self._request.stated.get(label)
        key = (n_rows, extra, short, stated)
        if key not in self._maps:
            self._maps[key] = padded_map(
                self._request.change,
                n_rows,
                label=f"{label!r}",
                pad_to=self._request.pad_to,
                extra_rows=extra,
                owned=self._request.owned,
                may_be_short=short,
                n_rows=stated,
            )
        return self._maps[key]

    def _extra(self, n_rows: int, role: Role) -> int:
        """Rows that the family has beyond its vocabulary."""
        configuration = self._request.configuration
        family = family_of_type(self._request.model_type)
        if role is not Role.INPUT or configuration is None or family is None:
            return 0
        extra = family.extra_input_rows
        return extra if configuration.vocab_size == n_rows - extra else 0

    def _table(self, name: str, role: Role, *, is_tied: bool) -> dict[str, TensorPlan]:
        """Plans of a table and of what is stored beside it."""
        tensor = self._tensors[name]
        if role is Role.NONE or role not in _TABLES | _ADAPTER | {Role.WEIGHTS}:
            return {name: TensorPlan(tensor, role)}
        if not tensor.shape:
            return {}
        family = family_of_type(self._request.model_type)
        short = role is Role.PER_LAYER or (
            role is Role.HEAD and family is not None and family.extra_input_rows > 0
        )
        by_columns = axis_of(role, len(tensor.shape)) == 1 and role is Role.COLUMNS
        if is_packed(name, self._tensors):
            return self._packed(name)
        n_rows = tensor.shape[axis_of(role, len(tensor.shape))]
        rows = self._map(n_rows, name, extra=self._extra(n_rows, role), short=short)
        stored = stored_matrix(
            tensor,
            self._tensors,
            self._files,
            by_columns=by_columns,
            is_row=role is Role.BIAS_ROW and len(tensor.shape) == 2,
        )
        recipe = self._recipe(name, role, is_tied=is_tied)
        _check_blocks(stored.matrix, rows, name)
        plans = {
            part.name: TensorPlan(
                part,
                role,
                rows,
                stored.matrix,
                number,
                recipe,
                salt=0 if is_tied else _SALTS.get(role, 0),
                by_columns=stored.by_columns,
            )
            for number, part in enumerate(stored.matrix.tensors)
        }
        for other in companions(name, self._tensors):
            plans.setdefault(other, TensorPlan(self._tensors[other], Role.NONE))
        return plans

    def _packed(self, name: str) -> dict[str, TensorPlan]:
        raise AdaptError(
            f"{name!r} in {self._tensors[name].file} packs the rows of several tokens into one "
            "number (GPTQ, AWQ)\nhint: apply the change to the model before its output layer is "
            "quantised, or keep that layer plain"
        )

    def _recipe(self, name: str, role: Role, *, is_tied: bool) -> Recipe:
        recipes = self._request.recipes
        if role in _ADAPTER or ".lora_" in name:
            # The addition of an adapter to a row is linear in the row: the mean fits every method.
            return recipes_of("mean", self._request.change).input
        if is_tied or (role is Role.INPUT and self._is_one_table):
            return recipes.both
        if role in (Role.HEAD, Role.BIAS, Role.BIAS_ROW):
            return recipes.both if self._is_one_table else recipes.head
        return recipes.input


def _check_blocks(matrix: Matrix, rows: RowMap, name: str) -> None:
    """Raises where rows that share a scale would have to be moved."""
    block = getattr(matrix, "block_rows", 1)
    kept = np.flatnonzero(rows.source >= 0)
    if block > 1 and not np.array_equal(rows.source[kept], kept):
        raise AdaptError(
            f"rows of {name!r} share scales by blocks of {block}; this change moves rows, which "
            "would give them other values\nhint: apply the change to the model before it is "
            "quantised"
        )


def _sizes(plans: Sequence[Mapping[str, TensorPlan]], request: Request) -> dict[int, int]:
    """New size by old size, as far as it is unambiguous; that of the embeddings counts most."""
    change = request.change
    sizes = {change.n_old_ids: change.n_new_ids}
    order = (Role.TARGET_TO_DRAFT, Role.PER_LAYER, Role.BIAS, Role.HEAD, Role.INPUT)
    for role in order:
        for group_plans in plans:
            for plan in group_plans.values():
                if plan.role is not role or plan.part:
                    continue
                before, after = plan.tensor.shape, plan.shape
                if before:
                    sizes[before[0]] = after[0]
                if role is Role.INPUT and before:
                    family = family_of_type(request.model_type)
                    extra = 0 if family is None else family.extra_input_rows
                    if extra:
                        sizes[before[0] - extra] = after[0] - extra
    return sizes


def _refuse_unknown(
    groups: Sequence[WeightGroup],
    plans: Sequence[Mapping[str, TensorPlan]],
    sizes: set[int],
    request: Request,
) -> None:
    unknown = [
        tensor
        for group, known in zip(groups, plans, strict=True)
        for name, tensor in group.tensors.items()
        if name not in known and name not in request.as_is and sizes & set(tensor.shape)
    ]
    if not unknown:
        return
    shown = ", ".join(f"{t.name!r} {list(t.shape)}" for t in unknown[:_MAX_NAMED])
    more = f" and {len(unknown) - _MAX_NAMED:,} more" if len(unknown) > _MAX_NAMED else ""
    raise AdaptError(
        f"{shown}{more}: an axis as long as the vocabulary, and no known name, in "
        f"{unknown[0].file}\nhint: --as-is NAME copies a tensor that has nothing to do with the "
        "vocabulary"
    )
