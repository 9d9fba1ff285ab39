"""The cases that cannot be equal, each listed with its reason and the ids that we give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.conformance.sets import COLUMNS

__all__ = ["KNOWN", "KnownDifference", "known_differences"]

KNOWN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "known_differences.json"
SCHEMA = "jeton.known_differences/1"


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One case of a set that differs for a reason."""

    column: str
    case: int
    ids: list[int]
    reason: str


def known_differences(path: Path = KNOWN) -> Mapping[str, tuple[KnownDifference, ...]]:
    """Read the file: set -> its listed cases.

    Raises:
        OSError: The file cannot be read.
        ValueError: It does not follow its schema, or lists a case twice.
    """
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is not of schema {SCHEMA}")
    found: dict[str, tuple[KnownDifference, ...]] = {}
    for name, groups in document["sets"].items():
        listed: dict[tuple[str, int], KnownDifference] = {}
        for group in groups:
            for column, cases in group["cases"].items():
                if column not in COLUMNS:
                    raise ValueError(f"{path}: {name} has a column {column!r}")
                for number, ids in cases.items():
                    key = (column, int(number))
                    if key in listed:
                        raise ValueError(f"{path}: {name} lists case {number} of {column} twice")
                    listed[key] = KnownDifference(*key, ids=ids, reason=group["reason"])
        found[name] = tuple(listed.values())
    return found
