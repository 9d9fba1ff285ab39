"""Measurements: one module for each group of claims or for a case study.

Every module has ``ABOUT``, one sentence for its file, ``KIND``, and ``measure``, which returns
figures by key. Modules of the kind ``arithmetic`` need nothing but the catalog; the others read the
shared data: ``fast`` in a few seconds, ``long`` in up to some minutes, ``timing`` depends on the
machine, ``named`` takes long and is only measured where it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, cast

from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["GROUPS", "Group", "group"]

Kind = Literal["arithmetic", "fast", "long", "timing", "named"]


@dataclass(frozen=True, slots=True)
class Group:
    """One group of figures.

    Attributes:
        name: Of its module and its file.
        about: What it measures, in a sentence.
        kind: What measuring needs.
        measure: Makes the figures.
        command: What makes them, where it is no command of ``studies.claims``.
    """

    name: str
    about: str
    kind: Kind
    measure: Callable[[Data], Mapping[str, Figure]]
    command: str | None = None


GROUPS = (
    "attention",
    "tables",
    "money",
    "domain",
    "sizes",
    "domains",
    "declaration",
    "languages",
    "lengths",
    "pipeline",
    "traffic",
    "cleaning",
    "chunking",
    "sides",
    "generation",
    "use",
    "code",
    "speed",
    "gpt",
    "llama",
    "multilingual",
    "bert",
)
"""In the order in which they are measured."""


def group(name: str) -> Group:
    """The group of this name."""
    module = import_module(f"studies.claims.measuring.{name}")
    return Group(
        name,
        module.ABOUT,
        cast(Kind, module.KIND),
        module.measure,
        getattr(module, "COMMAND", None),
    )
