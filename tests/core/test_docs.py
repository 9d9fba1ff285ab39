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


PUBLIC = [name for name in dir(jeton.Tokenizer) if not name.startswith("_")]


def _examples(name: str) -> doctest.DocTest:
    text = inspect.getdoc(getattr(jeton.Tokenizer, name)) or ""
    return doctest.DocTestParser().get_doctest(text, {}, name, None, 0)


def test_help_shows_five_examples_of_encode() -> None:
    shown = [example for example in _examples("encode").examples if example.want]
    assert len(shown) >= 5
    calls = "".join(example.source for example in shown)
    assert "add_special_tokens=" in calls
    assert "allow_special=" in calls


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_member_has_an_example_that_runs(name: str) -> None:
    test = _examples(name)
    assert test.examples, f"{name} has no example"
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0


def test_readers_and_writers_of_files_are_no_methods() -> None:
    assert not [name for name in PUBLIC if name.startswith("from_")]
    assert not {"gguf_header_bytes", "write_format", "file_formats"} & set(PUBLIC)
