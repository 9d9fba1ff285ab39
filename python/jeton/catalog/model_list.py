"""The models of the catalog, by name, by published name, or from a ``config.json``.

``models.json`` holds one entry per model with the fields of its published configuration and the day
on which it was checked. A test recomputes every model's size from its shape and compares it with
the published size, which catches a wrong fact.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from jeton._nearest import fold, nearest
from jeton.catalog._files import index_by_name, read_catalog_file
from jeton.catalog.gguf_model import model_from_gguf
from jeton.catalog.model_config import facts_of, model_from_config
from jeton.catalog.model_facts import UNKNOWN_WEIGHTS, ModelFacts
from jeton.catalog.published_names import base_name
from jeton.errors import UnknownModelError

_BLOCK_FP8 = ("qwen3-", "qwen3.")
"""Families whose own FP8 repositories have scales for blocks of 128 x 128 (vllm#17569)."""


def model(name: str) -> ModelFacts:
    """Return the facts of a model by name, by published name, or from a ``config.json``.

    Case does not matter. A published name may carry its owner, a fine-tuning (``-Instruct``) and a
    format of the weights (``-FP8``, ``-AWQ``), which then is that of the facts. A path to a
    folder with a ``config.json``, or to the file, reads the shape from there
    (`jeton.catalog.model_from_config`); a GGUF file says its shape and weights itself.

    Raises:
        UnknownModelError: If the catalog has no such model; carries the nearest names.
        ModelConfigError: If a configuration lacks what the shape needs.
        OSError: A file cannot be read.
    """
    index = _index()
    found = index.get(fold(name))
    if found is not None:
        return found
    path = _config_path(name)
    if path is not None:
        return model_from_gguf(path) if path.suffix == ".gguf" else model_from_config(path)
    found = listed_model(name)
    if found is not None:
        return found
    offered = nearest(name, (entry.name for entry in models()))
    # A misspelt repository name resembles an alias, not a short name.
    offered = offered or tuple(dict.fromkeys(index[key].name for key in nearest(name, index)))
    raise UnknownModelError(name, nearest=offered)


def listed_model(name: str) -> ModelFacts | None:
    """Return the catalog's facts of a name or a published name; None: it has none.

    No file is looked at.
    """
    index = _index()
    found = index.get(fold(name))
    resolved = None if found is not None else base_name(name, index)
    return found if resolved is None else _as_published(name, *resolved)


def _config_path(name: str) -> Path | None:
    """Return the path where a name is one: a folder, a JSON file, or plainly meant as a path."""
    path = Path(name)
    if path.is_dir() or (path.suffix in (".json", ".gguf") and path.is_file()):
        return path
    if path.suffix in (".json", ".gguf") or name.startswith(("./", "../", "/", "~")):
        return path.expanduser()
    return None


def _as_published(asked: str, known: str, weights: str | None) -> ModelFacts:
    base = _index()[known]
    if weights is None and fold(asked).endswith("gguf"):
        return replace(base, weights=UNKNOWN_WEIGHTS, weights_source=asked, quantization=None)
    if weights is None or weights == base.weights:
        return base
    owner, _, bare = fold(asked).rpartition("/")
    if weights == "fp8" and bare.startswith(_BLOCK_FP8) and owner in ("", "qwen"):
        weights = "fp8" if bare.endswith("-dynamic") else "fp8-block"
    return replace(
        base,
        weights=weights,
        weights_source=f"a guess from the name {asked.strip()}",
        weights_are_guessed=True,
        quantization=None,
    )


@cache
def models() -> tuple[ModelFacts, ...]:
    """Return all models of the catalog, in the file's order."""
    return tuple(_model(entry) for entry in read_catalog_file("models.json")["models"])


@cache
def _index() -> dict[str, ModelFacts]:
    return index_by_name(models())


def _model(entry: dict[str, Any]) -> ModelFacts:
    """Return an entry's facts; its shape is read as that of any ``config.json``."""
    given = {**entry}
    base = given.pop("base", None)
    config = given.pop("config", {})
    if base is not None:
        shape = next(
            one for one in read_catalog_file("models.json")["models"] if one["name"] == base
        )
        given = {**shape, **given}
        config = {**given.pop("config"), **config}
    known = {
        name: given[name]
        for name in ("n_parameters", "n_active_parameters", "tokenizer", "license", "source")
    }
    facts = facts_of(
        config,
        name=given["name"],
        where=given["source"],
        day=date.fromisoformat(given["date"]),
        aliases=tuple(given["aliases"]),
        **known,
    )
    if "weights_source" not in given:
        return replace(facts, weights_source="")
    return replace(facts, weights_source=given["weights_source"])
