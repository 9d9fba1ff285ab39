"""docs/reference/report-schema.md: its fields, formulas and limits are real."""

from __future__ import annotations

import re

from jeton.report import markdown, schema, to_html
from jeton.report.sections.what_if import RESULTS
from tests.docs.pages import path_of
from tests.report.sample_report import make_report

PAGE = path_of("report-schema")
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_parts_are_fields_that_may_be_missing() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
    properties = schema()["properties"]
    optional = {
        name
        for name, value in properties.items()
        if {"type": "null"} in value.get("anyOf", ()) or name == "domains"
    }
    assert named == optional


def test_the_link_leads_to_the_schema() -> None:
    (target,) = re.findall(r"\]\(([^)]+schema\.json)\)", TEXT)
    assert (PAGE.parent / target).is_file()


def test_the_page_has_the_order_that_is_promised() -> None:
    ids = re.findall(r'<section id="([\w-]+)"', to_html(make_report()))
    assert (ids[0], ids[1], ids[-1]) == ("findings", "waterfall", "basis")
    assert "what-if" in ids


def test_the_sliders_and_the_limit_are_those_of_the_code() -> None:
    for _, name, _ in RESULTS:
        assert f"*{name}*" in TEXT
    assert f"{markdown._MAX_CHARS:,} characters" in TEXT
