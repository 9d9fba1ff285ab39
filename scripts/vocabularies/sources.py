"""Which texts there are, which of them may be trained on, and what each tokenizer takes of them.

The facts and decisions are in ``sources.toml``; this module reads and checks them.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

__all__ = ["Catalogue", "Recipe", "SourceText", "catalogue"]

_TABLE = Path(__file__).with_name("sources.toml")


@dataclass(frozen=True, kw_only=True)
class SourceText:
    """One kind of text in one file; the fields are explained in ``sources.toml``."""

    file: str
    label: str
    origin: str
    licence: str
    usable: bool
    why: str
    domains: tuple[str, ...] = ()
    ids: str = ""
    not_ids: str = ""
    not_text: str = ""
    field: str = "text"
    column: int | None = None
    delimiter: str = ","
    only: tuple[int, str] | None = None

    @property
    def name(self) -> str:
        """As cards and tables call it: the file and the kind of text in it."""
        return f"{self.file}#{self.label}" if self.label else self.file

    def takes(self, domain: str, record_id: str, text: str) -> bool:
        """True if a record of the file belongs here."""
        if self.domains and not any(
            domain == d or (d.endswith("-") and domain.startswith(d)) for d in self.domains
        ):
            return False
        return not (
            (self.ids and not self._ids.match(record_id))
            or (self.not_ids and self._not_ids.match(record_id))
            or (self.not_text and self._not_text.search(text))
        )

    @cached_property
    def _ids(self) -> re.Pattern[str]:
        return re.compile(self.ids)

    @cached_property
    def _not_ids(self) -> re.Pattern[str]:
        return re.compile(self.not_ids)

    @cached_property
    def _not_text(self) -> re.Pattern[str]:
        return re.compile(self.not_text)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a tokenizer is trained.

    Attributes:
        date: The day that its card bears. It is no wall clock: the same text gives the same card.
        algorithm: Of `jeton.train`.
        options: Of the algorithm.
    """

    date: datetime.date
    algorithm: str = "bpe"
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All sources, and the mix of each bundled tokenizer.

    Attributes:
        sources: In the order of the table, by name.
        mixes: By tokenizer: percent of the training documents of each source by name.
        recipes: By tokenizer: how it is trained.
    """

    sources: dict[str, SourceText]
    mixes: dict[str, dict[str, int]]
    recipes: dict[str, Recipe]

    def of_file(self, file: str) -> list[SourceText]:
        """The sources of one file, in order."""
        return [source for source in self.sources.values() if source.file == file]

    def files(self, names: set[str]) -> list[str]:
        """The files that hold these sources, each once, in order."""
        return list(dict.fromkeys(s.file for s in self.sources.values() if s.name in names))


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Read the table.

    Raises:
        ValueError: A mix names a source that is unknown or must not be used, or a share that is
            no percentage; two sources have one name; a version has no recipe.
    """
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    sources: dict[str, SourceText] = {}
    for entry in table["source"]:
        for key in ("domains", "only"):
            if key in entry:
                entry[key] = tuple(entry[key])
        source = SourceText(**entry)
        if source.name in sources:
            raise ValueError(f"{_TABLE.name}: {source.name!r} is there twice")
        sources[source.name] = source
    mixes: dict[str, dict[str, int]] = table["mix"]
    for tokenizer, mix in mixes.items():
        for name, percent in mix.items():
            if name not in sources:
                raise ValueError(f"{_TABLE.name}: {tokenizer} names the unknown source {name!r}")
            if not sources[name].usable:
                raise ValueError(
                    f"{_TABLE.name}: {tokenizer} would use {name!r}, which must not be used: "
                    f"{sources[name].why}"
                )
            if not 1 <= percent <= 100:
                raise ValueError(f"{_TABLE.name}: {tokenizer} takes {percent}% of {name!r}")
    recipes = {version: Recipe(**recipe) for version, recipe in table["recipe"].items()}
    unknown = {name.rpartition("-")[2] for name in mixes} - recipes.keys()
    if unknown:
        raise ValueError(f"{_TABLE.name}: there is no recipe for {', '.join(sorted(unknown))}")
    of_mixes = {name: recipes[name.rpartition("-")[2]] for name in mixes}
    return Catalogue(sources=sources, mixes=mixes, recipes=of_mixes)
