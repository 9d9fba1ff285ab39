"""docs/coming-from-tokenizers.md and -transformers.md: their examples run, their names are real."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tokenizers
import transformers

import jeton

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("tokenizers", "transformers")


def page(name: str) -> str:
    return (DOCS / f"coming-from-{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_the_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page(name), flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, f"coming-from-{name}.md", "exec"), names)


@pytest.mark.parametrize("name", PAGES)
def test_methods_of_the_tables_exist(name: str) -> None:
    methods = set(re.findall(r"`tok\.(\w+)", page(name)))
    assert len(methods) > 8
    assert not [method for method in methods if not hasattr(jeton.Tokenizer, method)]
    assert f"jeton.compat.{name}" in page(name)


def test_versions_of_the_pages_are_those_that_are_compared_with() -> None:
    release = ".".join(tokenizers.__version__.split(".")[:2])
    assert f"`tokenizers` {release} " in page("tokenizers")
    assert f"`transformers` {transformers.__version__.split('.')[0]} " in page("transformers")
