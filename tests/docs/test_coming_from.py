"""docs/guides/coming-from-*.md: the names in their tables are real."""

from __future__ import annotations

import re

import pytest

import jeton
from tests.docs.pages import text_of

PAGES = ("tiktoken", "sentencepiece", "minbpe")


def page(name: str) -> str:
    return text_of(f"coming-from-{name}")


@pytest.mark.parametrize("name", PAGES)
def test_methods_of_the_tables_exist(name: str) -> None:
    methods = set(re.findall(r"`tok\.(\w+)", page(name)))
    assert methods
    assert not [method for method in methods if not hasattr(jeton.Tokenizer, method)]
    assert f"jeton.compat.{name}" in page(name)
