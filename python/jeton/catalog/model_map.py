"""Names of one's own for models, as deployments have: which model of the price list each is.

A file says it in one of four ways::

    {"chat-prod-eu": "azure:gpt-4o-mini"}          JSON
    chat-prod-eu = "azure:gpt-4o-mini"             TOML, or a line of plain text
    name,model                                     CSV, with or without this header
    chat-prod-eu,azure:gpt-4o-mini
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jeton._foreign import json_of, toml_of
from jeton._nearest import nearest
from jeton.catalog.model_names import find_listed
from jeton.errors import RecordError, UnknownPriceError
from jeton.formats.reading import read_settings

_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ModelMap:
    """Names in logs, and the names of the price list that they stand for.

    Attributes:
        names: ``PROVIDER:MODEL`` (or ``usd:INPUT/OUTPUT``) by the log's name; case does not count.
        default: The listed name for models that neither the map nor the price list knows.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    default: str | None = None

    def target(self, model: str, provider: str = "") -> str | None:
        """Return what a logged name stands for; None if the map does not have it.

        A name written with its provider (``azure:NAME``, ``azure/NAME``) comes first.
        """
        folded = {name.strip().casefold(): own for name, own in self.names.items()}
        for name in (f"{provider}:{model}", f"{provider}/{model}", model):
            found = folded.get(name.casefold())
            if found is not None:
                return found
        if self.default is not None and find_listed(model, provider or None) is None:
            return self.default
        return None


def read_model_map(path: str | Path) -> ModelMap:
    """Read a map of model names and check that the list knows what they stand for.

    Raises:
        RecordError: If the file is none of the forms, or says two things of one name.
        UnknownPriceError: If a name that is mapped to is not in the price list.
        OSError: If it cannot be read.
    """
    path = Path(path)
    text = read_settings(path, what="a map of model names", max_bytes=_MAX_BYTES)
    pairs = _pairs(text, path)
    names: dict[str, str] = {}
    for name, model in pairs:
        if names.setdefault(name, model) != model:
            raise RecordError(
                f"{path}: {name!r} is mapped to {names[name]!r} and to {model!r}", path=str(path)
            )
    if not names:
        raise RecordError(f"{path} maps no name\n{_HINT}", path=str(path))
    for model in dict.fromkeys(names.values()):
        if not model.casefold().startswith("usd:") and find_listed(model) is None:
            from jeton.catalog.prices import price_names

            raise UnknownPriceError(model, nearest=nearest(model, price_names()))
    return ModelMap(names)


_HINT = 'hint: write lines such as chat-prod-eu = "azure:gpt-4o-mini", or the same as JSON or CSV'


def _pairs(text: str, path: Path) -> list[tuple[str, str]]:
    if text.lstrip()[:1] in ("{", "["):
        return _from_json(text, path)
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and all("=" not in line and ("," in line or "\t" in line) for line in lines):
        return _from_csv(lines, path)
    try:
        return _from_table(toml_of(text), path)
    except tomllib.TOMLDecodeError:
        pass
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, equals, model = line.partition("=")
        name, model = name.strip().strip("\"'"), model.strip().strip("\"'")
        if not (equals and name and model):
            raise RecordError(
                f"{path}: line {number} is not NAME = MODEL\n{_HINT}", path=str(path), line=number
            )
        pairs.append((name, model))
    return pairs


def _from_json(text: str, path: Path) -> list[tuple[str, str]]:
    try:
        found = json_of(text)
    except ValueError as error:
        raise RecordError(f"{path} is not JSON: {error}\n{_HINT}", path=str(path)) from None
    if isinstance(found, list):
        found = {
            str(row.get("name", "")): row.get("model") for row in found if isinstance(row, dict)
        }
    return _from_table(found, path)


def _from_table(table: Mapping[str, Any], path: Path) -> list[tuple[str, str]]:
    for key in ("models", "model_map"):
        if isinstance(table.get(key), dict):
            table = table[key]
    for name, model in table.items():
        if not name or not isinstance(model, str) or not model.strip():
            raise RecordError(
                f"{path}: {name!r} is mapped to {model!r}; expected the name of a model\n{_HINT}",
                path=str(path),
            )
    return [(name.strip(), model.strip()) for name, model in table.items()]


def _from_csv(lines: list[str], path: Path) -> list[tuple[str, str]]:
    delimiter = "\t" if "\t" in lines[0] else ","
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    pairs = []
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if number == 1 and cells[1:2] and cells[1].casefold() in ("model", "listname", "price"):
            continue
        if len(cells) != _COLUMNS or not all(cells):
            raise RecordError(
                f"{path}: row {number} has {len(cells)} columns; expected a name and a model\n"
                f"{_HINT}",
                path=str(path),
                line=number,
            )
        pairs.append((cells[0], cells[1]))
    return pairs


_COLUMNS = 2
