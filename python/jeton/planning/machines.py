"""Models and GPUs of a plan, from names or facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from jeton.catalog import GpuFacts, ModelFacts
from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model

ModelLike: TypeAlias = str | ModelFacts
"""A model of the catalog: its name or its facts."""

DEFAULT_GPU = "h100-sxm"
"""A GPU that most clouds rent; name yours for its figures."""


def models_of(model: ModelLike | Sequence[ModelLike]) -> list[ModelFacts]:
    """Return the facts of one or several models.

    Raises:
        UnknownModelError: The catalog does not have it.

    Example:
        >>> [facts.name for facts in models_of("llama-3.2-1b")]
        ['llama-3.2-1b']
    """
    several = [model] if isinstance(model, str | ModelFacts) else model
    return [find_model(one) if isinstance(one, str) else one for one in several]


def gpu_of(gpu: str | GpuFacts | None) -> GpuFacts:
    """Return the facts of a GPU; None: those of `DEFAULT_GPU`.

    Raises:
        UnknownGpuError: The catalog does not have it.

    Example:
        >>> gpu_of(None) == gpu_of(DEFAULT_GPU)
        True
    """
    if isinstance(gpu, GpuFacts):
        return gpu
    return find_gpu(DEFAULT_GPU if gpu is None else gpu)
