"""training.md: algorithms and options are right."""

from __future__ import annotations

import re
from dataclasses import fields

from jeton.pretokenizing.rules import NORMALIZERS
from jeton.training import ALGORITHMS
from jeton.training.algorithms import find_algorithm
from tests.docs.pages import text_of

TEXT = text_of("training")


def test_every_algorithm_and_option_is_on_the_page() -> None:
    hidden = {"normalization_rule_name", "charsmap"}
    for name in ALGORITHMS:
        assert f"`{name}`" in TEXT
        options = {field.name for field in fields(find_algorithm(name).options)} - hidden
        pieces = {option for option in options if option.endswith("_piece")}
        assert [option for option in sorted(options - pieces) if option not in TEXT] == []


def test_every_normalizer_has_its_row() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \|$", TEXT, re.MULTILINE))
    assert {name: rows.get(name) for name in NORMALIZERS} == dict(NORMALIZERS)
