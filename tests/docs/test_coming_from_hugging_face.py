"""coming-from-tokenizers.md and -transformers.md: their names are real."""

from __future__ import annotations

import re

import pytest
import tokenizers
import transformers

import jeton
from tests.docs.pages import text_of

PAGES = ("tokenizers", "transformers")


def page(name: str) -> str:
    return text_of(f"coming-from-{name}")


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
