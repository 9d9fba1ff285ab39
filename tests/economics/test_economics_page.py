"""The page of formulas names tests that exist, and counts the catalog rightly."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from jeton.catalog import gpus, models
from jeton.economics.billing.closed import STAND_INS
from tests.docs.pages import text_of
from tests.economics.serving.test_parameters import EXACT_TOTALS

ROOT = Path(__file__).resolve().parents[2]
PAGE = text_of("economics")
NAMED = sorted(set(re.findall(r"`(test_\w+)\.py((?:::\w+)+)`", PAGE)))


def names_in(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(f"::{node.name}")
        if isinstance(node, ast.ClassDef):
            found |= {
                f"::{node.name}::{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef)
            }
    return found


@pytest.mark.parametrize(("module", "test"), NAMED, ids=lambda part: part.strip(":"))
def test_every_test_that_the_page_names_exists(module: str, test: str) -> None:
    paths = [
        path
        for folder in ("economics", "catalog", "corpus")
        for path in (ROOT / "tests" / folder).rglob(f"{module}.py")
    ]
    assert any(test in names_in(path) for path in paths)


def test_the_page_names_many() -> None:
    assert len(NAMED) >= 40


def test_the_page_counts_the_catalog() -> None:
    assert f"There are {len(models())} models" in PAGE
    assert f"and {len(gpus())} GPUs" in PAGE
    assert f"to the parameter for {len(EXACT_TOTALS)} of them" in PAGE


def test_every_stand_in_is_on_the_page() -> None:
    table = PAGE[PAGE.index("## Closed models") : PAGE.index("## Quotas")]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) - 2 == len(STAND_INS)
