"""Public classes: one name, one meaning."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "jeton"

CLASS = re.compile(r"^class ([^_\W]\w*)", re.MULTILINE)

MIRRORS = "compat"
"""Package whose class names are those of other libraries, so that their programs run unchanged."""


def _places() -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE)
        if place.parts[0] == MIRRORS:
            continue
        for name in CLASS.findall(file.read_text(encoding="utf-8")):
            places[name].append(place.as_posix())
    return places


def test_no_two_public_classes_share_a_name() -> None:
    places = _places()
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
