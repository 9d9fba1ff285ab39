"""Application of a change to a model directory: planned, then written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.change import MAX_IDS, VocabularyChange
from jeton.adapt.weights.matrices import OpenFiles
from jeton.adapt.weights.methods import DEFAULT_METHOD, METHODS, Recipes, recipes_of
from jeton.adapt.weights.planning import Request, plan_weights
from jeton.adapt.weights.refusals import refuse_change, refuse_model, refuse_short_copies
from jeton.adapt.weights.settings import SettingsPlan, plan_settings, roles_by_ids, without_guesses
from jeton.adapt.weights.tensor_plans import WeightPlan
from jeton.adapt.weights.tokenizers import (
    TokenizerPair,
    change_of_sides,
    gone_special_tokens,
    read_sides,
)
from jeton.adapt.weights.writing import link_or_copy, write_weight_file
from jeton.checkpoint.belonging import ids_document
from jeton.checkpoint.configuration import read_configuration
from jeton.checkpoint.copying import DiskQueue
from jeton.checkpoint.id_fields import id_places
from jeton.checkpoint.snapshot import folder_files, index_json, read_groups
from jeton.errors import UsageError
from jeton.formats.reading import read_object

_OWNING_FILES = ("config.json", "generation_config.json", "preprocessor_config.json")


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a change does to a model directory.

    Attributes:
        model: The model directory.
        change: The change of vocabulary.
        method: How rows of added tokens are made.
        weights: The fate of the weights.
        settings: The fate of the other files; None where all of them stay.
        files: Files of the model.
    """

    model: Path
    change: VocabularyChange
    method: str
    weights: WeightPlan
    settings: SettingsPlan | None
    files: tuple[Path, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Facts that a reader should know, one sentence each."""
        left_out = () if self.settings is None else self.settings.left_out.items()
        return (
            *self.weights.notes,
            *(() if self.settings is None else self.settings.notes),
            *(f"{name} is left out: {why}" for name, why in left_out),
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as JSON can hold it."""
        change = self.change
        settings = self.settings
        return {
            "model": str(self.model),
            "old_ids": change.n_old_ids,
            "new_ids": change.n_new_ids,
            "kept": len(change.kept),
            "added": len(change.added_ids),
            "gone": len(change.gone),
            "init": self.method if len(change.added_ids) else None,
            "paper": METHODS[self.method].paper if len(change.added_ids) else None,
            "output_bytes": self.weights.n_bytes,
            "tensors": [plan.to_dict() for plan in self.weights.changed],
            "rewritten_files": [] if settings is None else sorted(settings.made),
            "left_out_files": {} if settings is None else dict(settings.left_out),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Applied:
    """Result of an application.

    Attributes:
        plan: The plan that was followed.
        output: The new directory; None where the plan was only made.
    """

    plan: Plan
    output: Path | None

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as JSON can hold it."""
        return {
            "output": None if self.output is None else str(self.output),
            **self.plan.to_dict(),
        }


def apply(
    model: str | os.PathLike[str],
    tokenizer: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    init: str = DEFAULT_METHOD,
    donor: str | os.PathLike[str] | None = None,
    pad_to: int | None = None,
    seed: int = 0,
    as_is: Iterable[str] = (),
    link: bool = False,
    dry_run: bool = False,
) -> Applied:
    """Give a model the vocabulary of another tokenizer.

    The change is read from ``vocabulary_change.json`` beside the tokenizer; without one it is
    derived from the bytes of the tokens. The model is never loaded, and its directory never
    touched.

    Args:
        model: A model directory with safetensors.
        tokenizer: The folder, or file, of the new tokenizer.
        output: The directory to write; it must not exist, or be empty.
        init: How rows of added tokens are made, one of ``METHODS``.
        donor: A model that has the added tokens, for ``"omp"`` and ``"focus"``.
        pad_to: Multiple that the rows of each table become; by default a table with spare rows
            stays padded as it is, and one without has a row for each id.
        seed: Seed of ``"random"``.
        as_is: Names of tensors to copy although an axis is as long as the vocabulary.
        link: Give unchanged files a second name instead of copying them, where that is possible.
        dry_run: Only plan.

    Returns:
        The plan, and where its result is.

    Raises:
        AdaptError: The change cannot be applied to this model.
        FormatError: A file is damaged, missing or at odds with others.
        UsageError: Arguments contradict one another.
        OSError: A file cannot be read or written.
    """
    source = Path(model)
    target = None if output is None else Path(output)
    if target is None and not dry_run:
        raise UsageError("no output directory\nhint: name one, or only plan with dry_run")
    if pad_to is not None and not 1 <= pad_to <= 1 << 20:
        raise UsageError(f"rows padded to a multiple of {pad_to}\nhint: 64 is usual")
    sides = read_sides(source, Path(tokenizer))
    if target is not None:
        check_target(target, source, Path(tokenizer))
    plan = plan_application(
        sides, init=init, donor=donor, pad_to=pad_to, seed=seed, as_is=frozenset(as_is)
    )
    if dry_run or target is None:
        return Applied(plan, None)
    with _whole_folder(target) as folder:
        _write(plan, folder, link=link)
    return Applied(plan, target)


def plan_application(
    sides: TokenizerPair,
    *,
    init: str = DEFAULT_METHOD,
    donor: str | os.PathLike[str] | None = None,
    pad_to: int | None = None,
    seed: int = 0,
    as_is: frozenset[str] = frozenset(),
) -> Plan:
    """Returns what a change does to a model; nothing is written.

    Raises:
        AdaptError, FormatError, OSError: As ``apply``.
    """
    groups = read_groups(sides.model)
    change = change_of_sides(sides)
    configuration = read_configuration(sides.model / "config.json")
    unknown = sorted(as_is - {name for group in groups for name in group.tensors})
    if unknown:
        raise UsageError(f"no tensor {unknown[0]!r} in {sides.model}\nhint: names are whole")
    recipes = _recipes(sides, change, init=init, donor=donor, seed=seed)
    request = request_of(sides.model, change, recipes, pad_to=pad_to, as_is=as_is)
    refuse_change(configuration, change)
    with OpenFiles() as files:
        weights = plan_weights(groups, request, files)
    refuse_model(sides.model, configuration, weights)
    refuse_short_copies(sides.model, groups, as_is, configuration, change.n_new_ids)
    paths = folder_files(sides.model)
    settings = None
    if not request.is_nothing:
        settings = plan_settings(
            sides.model,
            paths,
            sides.tokenizer,
            change,
            sizes=weights.sizes,
            ties=weights.ties,
            gone_tokens=gone_special_tokens(sides, change),
            unguessed=without_guesses(sides.tokenizer, sides.new),
            roles_by_ids=roles_by_ids(sides.model, sides.old) if sides.has_old else None,
        )
    return Plan(sides.model, change, init, weights, settings, tuple(paths))


def request_of(
    model: Path,
    change: VocabularyChange,
    recipes: Recipes,
    *,
    pad_to: int | None = None,
    as_is: frozenset[str] = frozenset(),
    stated: Mapping[str, int] | None = None,
) -> Request:
    """Returns what the plan of a directory's weights depends on.

    Raises:
        FormatError: A settings file is damaged.
    """
    return Request(
        change=change,
        recipes=recipes,
        configuration=read_configuration(model / "config.json"),
        owned=_owned_ids(model, change),
        trained=_trained_ids(model),
        pad_to=pad_to,
        as_is=as_is,
        stated=stated or {},
    )


def check_target(target: Path, *sources: Path) -> None:
    """Raises where an output directory would harm what is read, or something that is there.

    Raises:
        UsageError: It is not empty, or inside a source, or around it.
    """
    real = Path(os.path.realpath(target))
    for source in sources:
        inside = Path(os.path.realpath(source))
        if real == inside or inside in real.parents or real in inside.parents:
            raise UsageError(
                f"the output {target} and {source} lie in one another\n"
                "hint: name a directory beside it"
            )
    if target.is_dir():
        if any(target.iterdir()):
            raise UsageError(f"{target} is not empty\nhint: name a new directory")
    elif target.exists() or target.is_symlink():
        raise UsageError(f"{target} is no directory\nhint: name a new directory")
    file = next((parent for parent in real.parents if parent.is_file()), None)
    if file is not None:
        raise UsageError(f"{target} lies below the file {file}\nhint: name a new directory")


@contextmanager
def _whole_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which takes the name of ``target`` only if all goes well."""
    parent = Path(os.path.realpath(target)).parent
    parent.mkdir(parents=True, exist_ok=True)
    temporary = parent / f".jeton-{secrets.token_hex(8)}.tmp"
    temporary.mkdir()
    try:
        yield temporary
        # An empty folder of that name is replaced.
        temporary.rename(Path(os.path.realpath(target)))
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if error.errno is None or str(temporary) not in str(error.filename or temporary):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error
    except BaseException:  # Ctrl-C included
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _write(plan: Plan, folder: Path, *, link: bool) -> None:
    made = {} if plan.settings is None else dict(plan.settings.made)
    if plan.settings is None:
        weight_files = {file.path for group in plan.weights.groups for file in group.files}
        copied = {
            file.relative_to(plan.model).as_posix(): file
            for file in plan.files
            if file not in weight_files
        }
    else:
        copied = dict(plan.settings.copied)
        for group, plans in zip(plan.weights.groups, plan.weights.tensors, strict=True):
            if group.index is not None:
                name = group.index.relative_to(plan.model).as_posix()
                made[name] = _index(group.index, plans)
    for name, content in made.items():
        place = _place(folder, name)
        place.write_bytes(content)
    with DiskQueue() as disk:
        for name, source in copied.items():
            link_or_copy(source, _place(folder, name), link=link, disk=disk)
        for group, plans in zip(plan.weights.groups, plan.weights.tensors, strict=True):
            for file in group.files:
                place = _place(folder, file.path.relative_to(plan.model).as_posix())
                write_weight_file(file, plans, plan.change, place, link=link, disk=disk)


def _index(source: Path, plans: Mapping[str, Any]) -> bytes:
    """The index of a group in the output: sizes change, files do not."""
    if all(plan.is_copied for plan in plans.values()):
        return source.read_bytes()
    stated = (read_object(source) or {})["weight_map"]
    n_bytes = sum(plan.n_bytes for plan in plans.values())
    n_elements = sum(int(np.prod(plan.shape, dtype=np.int64)) for plan in plans.values())
    return index_json(source, stated, n_bytes, n_elements)


def _place(folder: Path, name: str) -> Path:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _recipes(
    sides: TokenizerPair,
    change: VocabularyChange,
    *,
    init: str,
    donor: str | os.PathLike[str] | None,
    seed: int,
) -> Recipes:
    if init not in METHODS:
        raise UsageError(f"no initialisation {init!r}\nhint: known are {', '.join(METHODS)}")
    method = METHODS[init]
    if method.needs_donor and donor is None:
        raise UsageError(f"initialisation {init!r} needs a donor\nhint: name one with --donor")
    if donor is not None and method.recipes is not None:
        raise UsageError(f"a donor means nothing to {init!r}\nhint: 'omp' and 'focus' take one")
    if method.recipes is not None:
        return method.recipes(change, seed)
    if not len(change.added_ids):
        return recipes_of("mean", change)
    from jeton.adapt.weights.similar import similar_recipes

    return similar_recipes(init, sides, change, None if donor is None else Path(donor))


def _owned_ids(model: Path, change: VocabularyChange) -> NDArray[np.int64]:
    """Ids beyond the tokenizer's that settings name and a table may have; they own their rows."""
    owned: set[int] = set()
    for name in _OWNING_FILES:
        document = read_object(model / name)
        if document is not None:
            owned |= {place.id for place in id_places(ids_document(name, document))}
    return np.array(sorted(id for id in owned if change.n_old_ids <= id < MAX_IDS), dtype=np.int64)


def _trained_ids(model: Path) -> dict[str, list[int]]:
    """Ids by module whose rows an adapter holds one by one."""
    stated = (read_object(model / "adapter_config.json") or {}).get("trainable_token_indices")
    if isinstance(stated, list):
        return {"": [id for id in stated if isinstance(id, int)]}
    if isinstance(stated, dict):
        return {
            str(module): [id for id in ids if isinstance(id, int)]
            for module, ids in stated.items()
            if isinstance(ids, list)
        }
    return {}
