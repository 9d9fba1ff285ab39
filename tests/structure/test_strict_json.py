"""JSON that we write is JSON to every reader: no NaN, no infinities."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from jeton._plain import strict_json

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "jeton"
WRITERS = ("cli", "report", "locking", "training", "comparing", "planning")
"""Packages whose JSON leaves the process."""

INTERNAL = {
    "cli/corpus_options.py",  # texts and names only
    "locking/behaviour.py",  # digests of whole numbers
    "locking/comparing.py",  # compares settings as text
    "locking/components.py",  # digests of a configuration
    "planning/nested.py",  # hands a configuration to the core
    "report/numbers.py",  # quotes a key
    "report/page.py",  # writes a value that the report has already
    "training/algorithms/base.py",  # hands settings to the core
    "training/algorithms/characters.py",  # hands settings to the core
    "training/algorithms/sentencepiece.py",  # hands settings to the core
    "training/checkpoints.py",  # settings and counts
    "training/count_files.py",  # counts
    "training/merges_so_far.py",  # counts
}


def _lenient(path: Path) -> list[int]:
    """Lines that call ``json.dumps`` or ``json.dump`` without ``allow_nan=False``."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("dumps", "dump")
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "json"
            and not any(keyword.arg == "allow_nan" for keyword in node.keywords)
        ):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("package", WRITERS)
def test_writers_refuse_what_json_has_not(package: str) -> None:
    for path in sorted((PACKAGE / package).rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in INTERNAL:
            assert _lenient(path) == [], name


def test_what_is_no_number_is_null() -> None:
    text = strict_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": (-float("inf"),)})
    assert json.loads(text) == {"a": None, "b": [None, 1.5], "c": [None]}
