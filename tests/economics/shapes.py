"""Shapes of the catalog with other layers, for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from jeton.catalog import Layer, ModelFacts


def with_mixers(model: ModelFacts, n: int | None = None, **changes: Any) -> ModelFacts:
    """Return a model whose first ``n`` layers (all, if None) have other attention."""

    def changed(layer: Layer) -> Layer:
        mixers: Any = tuple(dataclasses.replace(one, **changes) for one in layer.mixers)  # type: ignore[type-var]
        return dataclasses.replace(layer, mixers=mixers)

    n = model.n_layers if n is None else n
    layers = tuple(changed(one) if i < n else one for i, one in enumerate(model.layers))
    return dataclasses.replace(model, layers=layers)
