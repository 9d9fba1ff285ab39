"""Read the catalog's JSON files and index their entries by folded name and alias."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from jeton._nearest import fold


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


_Entry = TypeVar("_Entry", bound=_Named)


def read_catalog_file(file_name: str) -> dict[str, Any]:
    """Return a JSON file that is part of this package."""
    text = files("jeton.catalog").joinpath(file_name).read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def index_by_name(entries: Iterable[_Entry]) -> dict[str, _Entry]:
    """Map every folded name and alias to its entry.

    Raises:
        ValueError: If one name stands for two entries (a mistake in the file).
    """
    index: dict[str, _Entry] = {}
    for entry in entries:
        for name in (entry.name, *entry.aliases):
            if index.setdefault(fold(name), entry) is not entry:
                raise ValueError(f"the catalog uses the name {name!r} twice")
    return index
