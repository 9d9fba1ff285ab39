"""Docstrings that ``help`` shows of the core, with examples that run."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import jeton
from jeton import _core

ROOT = Path(__file__).resolve().parents[2]
STUB = ast.parse((ROOT / "python" / "jeton" / "_core.pyi").read_text(encoding="utf-8"))
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]


def _members() -> list[tuple[str, str]]:
    found = []
    for node in CLASSES:
        if node.name.startswith("_") or not hasattr(_core, node.name):
            continue
        names = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        found += [(node.name, name) for name in sorted(names) if not name.startswith("_")]
    return found


@pytest.mark.parametrize(("cls", "name"), _members())
def test_every_member_has_a_docstring(cls: str, name: str) -> None:
    assert inspect.getdoc(getattr(getattr(_core, cls), name))


def test_the_sources_have_the_docstrings_of_the_stub() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "core_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run scripts/core_docs.py: {done.stdout}"


def test_help_shows_examples() -> None:
    text = inspect.getdoc(jeton.Tokenizer.encode)
    assert text is not None
    assert ">>> tok.encode" in text or "tok.encode(" in text
    assert "allow_special" in text


def test_the_examples_run() -> None:
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    n_examples = 0
    for name in dir(jeton.Tokenizer):
        text = getattr(getattr(jeton.Tokenizer, name), "__doc__", None) or ""
        if ">>>" not in text or name.startswith("__"):
            continue
        test = finder.get_doctest(inspect.cleandoc(text), {}, name, None, 0)
        n_examples += len(test.examples)
        runner.run(test)
    assert n_examples > 10
    assert runner.failures == 0
