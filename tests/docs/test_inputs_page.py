"""docs/reference/inputs.md: its lists are complete."""

from __future__ import annotations

from dataclasses import fields

from jeton.corpus import RequestColumns
from jeton.corpus.requests.fields import NAMES
from jeton.corpus.requests.issues import ISSUE_KINDS
from scripts import inputs_page
from tests.docs.pages import text_of

TEXT = text_of("inputs")


def test_every_kind_of_issue_and_every_column_is_on_the_page() -> None:
    names = [*ISSUE_KINDS, *(field.name for field in fields(RequestColumns))]
    assert [name for name in names if f"`{name}`" not in TEXT] == []
    named = [*NAMES["prompt"][:6], *NAMES["model"][:2]]
    assert [name for name in named if f"`{name}`" not in TEXT] == []


def test_the_tables_are_those_of_the_code() -> None:
    for part, render in inputs_page.PARTS.values():
        assert part.of(TEXT) == render(), "python -m scripts.inputs_page rewrites it"
    assert inputs_page.main(["--check"]) == 0
