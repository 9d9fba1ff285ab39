"""Public classes: one name, one meaning."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "jeton"

MIRRORS = "compat"
"""Package whose class names are those of other libraries, so that their programs run unchanged."""


def _places() -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE)
        if place.parts[0] == MIRRORS:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(place.as_posix())
    return places


def test_no_two_public_classes_share_a_name() -> None:
    places = _places()
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
