"""Contradictions between a tokenizer and a checkpoint: tables that are too small, ids without rows.

``jeton adapt verify`` and ``jeton doctor`` share this check. Only headers and small JSON files are
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton.checkpoint.configuration import ModelConfiguration, read_configuration
from jeton.checkpoint.id_fields import IdPlace, id_places, no_ids
from jeton.checkpoint.safetensors import Tensor
from jeton.checkpoint.snapshot import WeightGroup
from jeton.checkpoint.vocabulary_tensors import (
    Role,
    axis_of,
    family_of_type,
    may_be_other,
    role_of,
)
from jeton.errors import JetonError
from jeton.formats.reading import read_object

ID_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "added_tokens.json",
    "preprocessor_config.json",
    "processor_config.json",
    "adapter_config.json",
)
"""Files at the top of a model directory that name ids."""
_FULL = frozenset({Role.INPUT, Role.HEAD, Role.BIAS, Role.BIAS_ROW})
_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two files that cannot both be right.

    Attributes:
        where: File, or tensor, and place.
        what: The contradiction, as one sentence.
    """

    where: str
    what: str


def vocabulary_tables(
    groups: Iterable[WeightGroup], *, model_type: str | None
) -> list[tuple[Tensor, Role, int]]:
    """Returns tensors with one entry for each id, their roles and how many entries they have."""
    found = []
    for group in groups:
        roles = {name: role_of(name, model_type=model_type) for name in group.tensors}
        drafted = Role.DRAFT_TO_TARGET in roles.values()
        mapped = Role.MAPPING in roles.values()
        for name, tensor in group.tensors.items():
            role = roles[name]
            if role not in _FULL or not tensor.shape or may_be_other(name):
                continue
            if (
                ".lora_" in name
                or (drafted and role is Role.HEAD)
                or (mapped and role is Role.INPUT)
            ):
                continue
            found.append((tensor, role, tensor.shape[axis_of(role, len(tensor.shape))]))
    return found


def short_tables(
    tables: Iterable[tuple[Tensor, Role, int]], n_ids: int, *, model_type: str | None
) -> list[tuple[Tensor, int]]:
    """Returns the tables that lack a row for some id, with their rows."""
    family = family_of_type(model_type)
    # The output layer of such a family is as long as the text's vocabulary, not as the table.
    may_lack = family is not None and family.extra_input_rows > 0
    return [
        (tensor, n_rows)
        for tensor, role, n_rows in tables
        if n_rows < n_ids and not (may_lack and role is Role.HEAD)
    ]


def contradictions(
    folder: str | Path, groups: Iterable[WeightGroup], n_ids: int
) -> list[Contradiction]:
    """Returns what a tokenizer with ``n_ids`` ids and a model directory disagree about.

    Raises:
        OSError: A file cannot be read.
    """
    path = Path(folder)
    found: list[Contradiction] = []
    configuration = None
    try:
        configuration = read_configuration(path / "config.json")
    except JetonError as error:
        found.append(Contradiction("config.json", str(error).split("\n")[0]))
    model_type = None if configuration is None else configuration.model_type
    family = family_of_type(model_type)
    extra = 0 if family is None else family.extra_input_rows
    tables = vocabulary_tables(groups, model_type=model_type)
    found += [
        Contradiction(
            tensor.name, f"has {n_rows:,} rows; the tokenizer has ids up to {n_ids - 1:,}"
        )
        for tensor, n_rows in short_tables(tables, n_ids, model_type=model_type)
    ]
    rows = sorted({n for tensor, role, n in tables if role is Role.INPUT})
    if rows and configuration is not None and configuration.vocab_size is not None:
        known = {*rows, *(n - extra for n in rows)}
        if configuration.vocab_size not in known and configuration.vocab_size < n_ids:
            found.append(
                Contradiction(
                    "config.json",
                    f"states vocab_size {configuration.vocab_size:,}; the embeddings have "
                    f"{', '.join(f'{n:,}' for n in rows)} rows",
                )
            )
    if configuration is not None:
        found += [
            Contradiction("config.json", f"states vocab_size {value!r:.60}")
            for value in bad_sizes(configuration)
        ]
    limit = max(rows) if rows else n_ids
    found += [
        Contradiction(name, str(error).split("\n")[0])
        for name, error in _id_documents(path)
        if isinstance(error, JetonError)
    ]
    found += [
        Contradiction(name, f"{place.words} is {place.id:,}; there are {limit:,} rows")
        for name, place in ids_without_rows(path, limit)
    ]
    found += [
        Contradiction(name, f"{words} is {value!r:.60}, no id")
        for name, words, value in fields_without_ids(path)
    ]
    return found[:_MAX_SHOWN]


def bad_sizes(configuration: ModelConfiguration) -> list[object]:
    """Returns what a configuration states as its number of rows and is no number above zero."""
    parts = [configuration.values]
    if configuration.text is not configuration.values:
        parts.append(configuration.text)
    stated = [part.get("vocab_size") for part in parts]
    return [
        value for value in stated if value is not None and not (type(value) is int and value > 0)
    ]


def fields_without_ids(path: Path) -> list[tuple[str, str, object]]:
    """Returns file, field and value where a role wants an id and has none.

    Files that cannot be read are passed over.
    """
    return [
        (name, words, value)
        for name, document in _id_documents(path)
        if not isinstance(document, JetonError)
        for words, value in no_ids(document)
    ]


def ids_document(name: str, document: dict[str, object]) -> dict[str, object]:
    """Returns a document in which ids stand under names that say so."""
    # added_tokens.json is an object from texts to ids, without a name for it.
    return {"token_to_id": document} if name == "added_tokens.json" else document


def ids_without_rows(path: Path, limit: int) -> list[tuple[str, IdPlace]]:
    """Returns ids in JSON files that are no row of a table of ``limit``, with their files.

    Files that cannot be read are passed over.
    """
    return [
        (name, place)
        for name, document in _id_documents(path)
        if not isinstance(document, JetonError)
        for place in id_places(ids_document(name, document))
        if place.id >= limit and place.path[-1] != "vocab_offset"
    ]


def _id_documents(path: Path) -> Iterator[tuple[str, dict[str, Any] | JetonError]]:
    for name in ID_FILES:
        try:
            document = read_object(path / name)
        except JetonError as error:
            yield name, error
            continue
        if document is not None:
            yield name, document
