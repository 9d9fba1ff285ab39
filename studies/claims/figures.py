"""Figures with unit, interval and sample size, and the files that keep them.

A figure's key is a path with dots: the first part is the group that measured it and the name of its
file. Pages name figures by key, so that each number on a page can be looked up and made again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jeton._files import write_whole
from jeton.metrics import Interval, bootstrap_mean, bootstrap_ratio

__all__ = [
    "DIGITS",
    "Figure",
    "Figures",
    "day_figure",
    "differences",
    "mean",
    "ratio",
    "saving",
    "share",
]

SCHEMA = "jeton.docs.figures/1"

DIGITS = 6
"""Significant digits that are kept of what is not a whole number: the last bits of a sum depend on
the machine's vector unit."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number.

    Attributes:
        value: The number.
        unit: What it counts: ``tokens``, ``bytes``, ``share``, ``USD`` ...
        low: Lower end of the 95% interval by document; None where nothing was drawn.
        high: Upper end.
        n: Documents that it speaks of; None where it is arithmetic.
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    n: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """For the file; what is not known is left out."""
        entry: dict[str, Any] = {"value": _kept(self.value), "unit": self.unit}
        if self.low is not None and self.high is not None:
            entry |= {"low": _kept(self.low), "high": _kept(self.high)}
        if self.n is not None:
            entry["n"] = self.n
        return entry


@dataclass(slots=True)
class Figures(Mapping[str, Figure]):
    """Figures by key."""

    by_key: dict[str, Figure] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Figure:
        try:
            return self.by_key[key]
        except KeyError:
            raise KeyError(f"there is no figure {key!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_key)

    def __len__(self) -> int:
        return len(self.by_key)

    def value(self, key: str) -> float:
        """The number alone."""
        return self[key].value

    def below(self, prefix: str) -> dict[str, Figure]:
        """The figures whose key begins with ``prefix`` and a dot, by the rest of their key."""
        start = f"{prefix}."
        return {key[len(start) :]: f for key, f in self.by_key.items() if key.startswith(start)}

    @classmethod
    def read(cls, folder: Path) -> Figures:
        """All files of a folder.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file is of another schema.
        """
        found: dict[str, Figure] = {}
        for path in sorted(folder.glob("*.json")):
            data = json.loads(path.read_text(encoding="utf-8"))
            if data.get("schema") != SCHEMA:
                raise ValueError(f"{path} is not of the schema {SCHEMA}")
            for key, entry in data["figures"].items():
                found[f"{path.stem}.{key}"] = Figure(**entry)
        return cls(found)

    @staticmethod
    def write(
        folder: Path,
        group: str,
        figures: Mapping[str, Figure],
        about: str,
        command: str | None = None,
    ) -> None:
        """Write one group, one figure a line, so that a change shows as a line.

        Args:
            folder: Where the files are.
            group: Name of the file.
            figures: By key.
            about: What they are, in a sentence.
            command: What makes them; None: ``studies.claims``.
        """
        lines = ",\n".join(
            f"    {json.dumps(key)}: {json.dumps(figure.to_dict())}"
            for key, figure in figures.items()
        )
        head = {
            "schema": SCHEMA,
            "about": about,
            "command": command or f"python -m studies.claims --only {group}",
        }
        rows = "".join(
            f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()
        )
        text = f'{{\n{rows}  "figures": {{\n{lines}\n  }}\n}}\n'
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{group}.json", text.encode("utf-8"))


def differences(old: Mapping[str, Figure], new: Mapping[str, Figure]) -> list[str]:
    """Where two sets of figures differ, in words: whole numbers at all, others beyond rounding."""
    found = [f"{key}: no longer measured" for key in old.keys() - new.keys()]
    found += [f"{key}: not in the docs" for key in new.keys() - old.keys()]
    for key in old.keys() & new.keys():
        before, after = old[key].to_dict(), new[key].to_dict()
        if before.keys() != after.keys() or any(
            not _agree(before[name], after[name]) for name in before
        ):
            found.append(f"{key}: the docs say {before}, measured is {after}")
    return sorted(found)


def ratio(numerators: ArrayLike, denominators: ArrayLike, *, unit: str = "ratio") -> Figure:
    """``sum(numerators) / sum(denominators)``, with its interval by document."""
    above, below = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    return _with(bootstrap_ratio(above, below), above.sum() / below.sum(), unit, len(above))


def saving(new: ArrayLike, old: ArrayLike) -> Figure:
    """``1 - sum(new) / sum(old)``: the share that goes, with its interval by document."""
    rest = ratio(new, old)
    if rest.low is None or rest.high is None:
        return Figure(1 - rest.value, "share", n=rest.n)
    return Figure(1 - rest.value, "share", 1 - rest.high, 1 - rest.low, rest.n)


def mean(values: ArrayLike, *, unit: str) -> Figure:
    """The mean over documents, with its interval."""
    given = np.asarray(values, dtype=float)
    return _with(bootstrap_mean(given), given.mean(), unit, len(given))


def share(holds: Sequence[bool] | ArrayLike) -> Figure:
    """The share of documents of which something holds, with its interval."""
    return mean(np.asarray(holds, dtype=float), unit="share")


def _with(interval: Interval | None, value: float, unit: str, n: int) -> Figure:
    if interval is None:
        return Figure(float(value), unit, n=n)
    return Figure(float(value), unit, interval.low, interval.high, n)


def _kept(value: float) -> float | int:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"a figure is {number}; expected a finite number")
    if number.is_integer() and abs(number) < 2**53:
        return int(number)
    return float(f"{number:.{DIGITS}g}")


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        # A number on the edge between two roundings may fall to either side.
        return math.isclose(one, other, rel_tol=2 * 10.0 ** (1 - DIGITS), abs_tol=1e-12)
    return bool(one == other)


def day_figure(day: date) -> Figure:
    """A day as a number: 20261103 is the third of November."""
    return Figure(day.year * 10_000 + day.month * 100 + day.day, "day, yyyymmdd")
