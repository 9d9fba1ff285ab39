"""traffic.md, measured.md, training-cost.md: tables are what the code gives."""

from __future__ import annotations

import re

import pytest

from jeton.economics.traffic.settings import MAX_REQUESTS, STEP_TOKENS
from tests.docs.pages import ROOT, text_of

PAGES = ("traffic", "measured", "training-cost")


@pytest.mark.parametrize("name", PAGES)
def test_the_tests_that_are_named_exist(name: str) -> None:
    text = text_of(name)
    tests = ROOT / "tests"
    for file, test in re.findall(r"`(?:tests/\w+/)?(test_\w+\.py)(?:::(\w+))?`", text):
        found = list(tests.rglob(file))
        assert found, file
        assert any(f"def {test}" in path.read_text("utf-8") for path in found)


def test_settings_and_options_are_those_of_the_code() -> None:
    from click.testing import CliRunner

    from jeton.cli.app import app

    text = text_of("traffic")
    assert f"{STEP_TOKENS:,} in all" in text
    assert f"{MAX_REQUESTS} requests at most" in text
    known = CliRunner().invoke(app, ["audit", "--help-all"]).output
    for name in PAGES:
        for option in re.findall(r"--(?:trace|training)[\w-]*", text_of(name)):
            assert option in known, option
