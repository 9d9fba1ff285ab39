"""docs/coming-from-*.md: their examples run, and the names in their tables are real."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jeton

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("tiktoken", "sentencepiece", "minbpe")


def page(name: str) -> str:
    return (DOCS / f"coming-from-{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_the_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page(name), flags=re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, f"coming-from-{name}.md", "exec"), names)


@pytest.mark.parametrize("name", PAGES)
def test_methods_of_the_tables_exist(name: str) -> None:
    methods = set(re.findall(r"`tok\.(\w+)", page(name)))
    assert methods
    assert not [method for method in methods if not hasattr(jeton.Tokenizer, method)]
    assert f"jeton.compat.{name}" in page(name)
