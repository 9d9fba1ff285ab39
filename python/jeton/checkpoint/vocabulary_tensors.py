"""Table of the tensors that have an axis as long as the vocabulary, for each family of models.

The table is data (``vocabulary_tensors.json``); this module finds a tensor's role by its name.
Wrappers around a text model (``language_model.``) may stand before any name of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any


class Role(StrEnum):
    """Part that a tensor with a vocabulary axis plays."""

    INPUT = "input"
    """Matrix of embeddings, one row a token."""
    HEAD = "head"
    """Output matrix, one row a token."""
    BIAS = "bias"
    """Bias of the output layer, one value a token."""
    BIAS_ROW = "bias_row"
    """Bias of the output layer as a matrix of one row."""
    PER_LAYER = "per_layer"
    """Embeddings for every layer side by side, one row a token."""
    COLUMNS = "columns"
    """Factor of an adapter that has one column a token."""
    ROWS = "rows"
    """Factor of an adapter that has one row, or value, a token."""
    INDEXED = "indexed"
    """Rows of single tokens, whose ids a configuration lists."""
    DRAFT_TO_TARGET = "d2t"
    """Distance from each id of a draft to the id of its target."""
    TARGET_TO_DRAFT = "t2d"
    """True for each id of the target that the draft has."""
    MAPPING = "mapping"
    """Row of the matrix of embeddings for each token."""
    WEIGHTS = "weights"
    """Weight of each token in a mean."""
    NONE = "none"
    """No vocabulary axis, whatever its size."""


@dataclass(frozen=True, slots=True)
class TensorNames:
    """Models whose tensors have the same names.

    Attributes:
        name: Name for messages.
        types: Values of ``model_type`` in config.json.
        prefixes: Prefixes that may stand before the names.
        tensors: Role by name; ``{n}`` is a number.
        extra_input_rows: Rows that the matrix of embeddings has beyond ``vocab_size``.
    """

    name: str
    types: tuple[str, ...]
    prefixes: tuple[str, ...]
    tensors: Mapping[str, Role]
    extra_input_rows: int


def families() -> tuple[TensorNames, ...]:
    """Returns all families of the table."""
    return _table()[0]


def family_of_type(model_type: str | None) -> TensorNames | None:
    """Returns the family that a ``model_type`` belongs to; None where it is not known."""
    return next((family for family in families() if model_type in family.types), None)


def role_of(name: str, *, model_type: str | None = None) -> Role | None:
    """Returns the role of a tensor; None where the table does not have its name.

    The names of the family of ``model_type`` count before those of others.
    """
    for family, pattern in _table()[1]:
        if model_type in family.types and (match := pattern.fullmatch(name)):
            return _role(family, match)
    for family, pattern in _table()[1]:
        if match := pattern.fullmatch(name):
            return _role(family, match)
    return None


def counts_positions_from_pad(model_type: str | None) -> bool:
    """True if a family's first position is the one behind the pad id."""
    return model_type in _positions_from_pad()


def may_be_other(name: str) -> bool:
    """True if layers that have nothing to do with a vocabulary have such names, too."""
    return f".{name}".endswith(_table()[2])


def axis_of(role: Role, n_dimensions: int) -> int:
    """Returns the axis along which the tokens lie."""
    return 1 if role in (Role.COLUMNS, Role.BIAS_ROW) and n_dimensions == 2 else 0


def _role(family: TensorNames, match: re.Match[str]) -> Role:
    number = match.lastgroup
    assert number is not None
    return list(family.tensors.values())[int(number[1:])]


@cache
def _table() -> tuple[
    tuple[TensorNames, ...], tuple[tuple[TensorNames, re.Pattern[str]], ...], tuple[str, ...]
]:
    file = Path(__file__).with_name("vocabulary_tensors.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    kinds = {"embedding": table["embeddings"], "head": table["heads"]}
    found = tuple(_family(entry) for entry in table["families"])
    wrapper = _any_of(table["wrappers"])
    patterns = tuple((family, _pattern(family, wrapper, kinds)) for family in found)
    return found, patterns, tuple(f".{name}" for name in table["may_be_other"])


@cache
def _positions_from_pad() -> frozenset[str]:
    file = Path(__file__).with_name("vocabulary_tensors.json")
    return frozenset(json.loads(file.read_text(encoding="utf-8"))["positions_from_pad"])


def _family(entry: Mapping[str, Any]) -> TensorNames:
    return TensorNames(
        entry["name"],
        tuple(entry["types"]),
        tuple(entry["prefixes"]),
        {name: Role(role) for name, role in entry["tensors"].items()},
        entry.get("extra_input_rows", 0),
    )


def _pattern(
    family: TensorNames, wrapper: str, kinds: Mapping[str, Iterable[str]]
) -> re.Pattern[str]:
    names = []
    for number, name in enumerate(family.tensors):
        text = re.escape(name).replace(re.escape("{n}"), r"\d+")
        for kind, members in kinds.items():
            text = text.replace(re.escape("{" + kind + "}"), f"(?:{_any_of(members)})")
        names.append(f"(?P<r{number}>{text})")
    prefixes = f"(?:{_any_of(family.prefixes)})?" if family.prefixes else ""
    return re.compile(f"(?:{wrapper})*{prefixes}(?:{'|'.join(names)})")


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(re.escape(text) for text in texts)
