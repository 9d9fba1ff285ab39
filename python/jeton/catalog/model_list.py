"""The models of the catalog, by name, by published name, or from a ``config.json``.

``models.json`` holds one entry per model with the configuration file it was read from and the day
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
from jeton.catalog.model_config import model_from_config
from jeton.catalog.model_facts import (
    AttentionKind,
    Experts,
    LatentAttention,
    ModelFacts,
    RecurrentLayers,
    SparseIndex,
)
from jeton.catalog.published_names import base_name
from jeton.errors import UnknownModelError

__all__ = ["model", "models"]


def model(name: str) -> ModelFacts:
    """Return the facts of a model by name, by published name, or from a ``config.json``.

    Case does not matter. A published name may carry its owner, a fine-tuning (``-Instruct``) and a
    format of the weights (``-FP8``, ``-AWQ``), which then is that of the facts. A path to a
    folder with a ``config.json``, or to the file, reads the shape from there
    (`jeton.catalog.model_from_config`).

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
        return model_from_config(path)
    resolved = base_name(name, index)
    if resolved is not None:
        return _as_published(name, *resolved)
    offered = nearest(name, (entry.name for entry in models()))
    # A misspelt repository name resembles an alias, not a short name.
    offered = offered or tuple(dict.fromkeys(index[key].name for key in nearest(name, index)))
    raise UnknownModelError(name, nearest=offered)


def _config_path(name: str) -> Path | None:
    """Return the path where a name is one: a folder, a JSON file, or plainly meant as a path."""
    path = Path(name)
    if path.is_dir() or (path.suffix == ".json" and path.is_file()):
        return path
    if path.suffix == ".json" or name.startswith(("./", "../", "/", "~")):
        return path.expanduser()
    return None


def _as_published(asked: str, known: str, weights: str | None) -> ModelFacts:
    base = _index()[known]
    if weights is None or weights == base.weights:
        return base
    return replace(
        base,
        weights=weights,
        weights_source=f"as the name {asked.strip()} says",
    )


@cache
def models() -> tuple[ModelFacts, ...]:
    """Return all models of the catalog, in the file's order."""
    return tuple(_model(entry) for entry in read_catalog_file("models.json")["models"])


@cache
def _index() -> dict[str, ModelFacts]:
    return index_by_name(models())


def _model(entry: dict[str, Any]) -> ModelFacts:
    latent, experts = entry["latent_attention"], entry["experts"]
    recurrent, index = entry.get("recurrent"), entry.get("sparse_index")
    return ModelFacts(
        **{
            **entry,
            "aliases": tuple(entry["aliases"]),
            "attention": AttentionKind(entry["attention"]),
            "latent_attention": None if latent is None else LatentAttention(**latent),
            "experts": None if experts is None else Experts(**experts),
            "recurrent": None if recurrent is None else RecurrentLayers(**recurrent),
            "sparse_index": None if index is None else SparseIndex(**index),
            "date": date.fromisoformat(entry["date"]),
        }
    )
