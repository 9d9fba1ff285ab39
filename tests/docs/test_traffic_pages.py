"""docs/traffic.md, measured.md, training-cost.md: examples run, tables are what the code gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jeton.economics.traffic.policies import MAX_REQUESTS, STEP_TOKENS
from scripts import measured_page, traffic_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("traffic", "measured", "training-cost")


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_run(name: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{name}.md").read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, f"docs/{name}.md", "exec"), {})


@pytest.mark.parametrize("name", PAGES)
def test_the_tests_and_pages_that_are_named_exist(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text("utf-8")
    tests = DOCS.parent / "tests"
    for file, test in re.findall(r"`(?:tests/\w+/)?(test_\w+\.py)(?:::(\w+))?`", text):
        found = list(tests.rglob(file))
        assert found, file
        assert any(f"def {test}" in path.read_text("utf-8") for path in found)
    for target in re.findall(r"\]\((\w[\w-]*\.md)\)", text):
        assert (DOCS / target).is_file(), target


def test_published_measurements_are_compared_anew() -> None:
    assert measured_page.main(["--check"]) == 0


@pytest.mark.conformance
def test_the_figures_of_real_traffic_are_those_of_the_code(shared: Path) -> None:
    assert traffic_page.main([str(shared / "data" / "traces"), "--check"]) == 0


def test_settings_and_options_are_those_of_the_code() -> None:
    from click.testing import CliRunner

    from jeton.cli.app import app

    text = (DOCS / "traffic.md").read_text("utf-8")
    assert f"{STEP_TOKENS:,} in all" in text
    assert f"{MAX_REQUESTS} requests at most" in text
    known = CliRunner().invoke(app, ["audit", "--help"]).output
    for name in PAGES:
        for option in re.findall(r"--(?:trace|training)[\w-]*", (DOCS / f"{name}.md").read_text()):
            assert option in known, option
