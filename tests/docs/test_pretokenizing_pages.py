"""docs/code.md and docs/morphology.md: their examples run; rules and segmenters are all there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jeton.pretokenizing import RULES, SEGMENTERS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["code.md", "morphology.md"])
@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_the_examples_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 2
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
        assert capsys.readouterr().out.strip()


def test_every_rule_and_segmenter_is_named() -> None:
    code = (DOCS / "code.md").read_text(encoding="utf-8")
    assert [rule for rule in RULES if f"`{rule}`" not in code] == []
    morphology = (DOCS / "morphology.md").read_text(encoding="utf-8")
    assert [name for name in SEGMENTERS if f'`"{name}' not in morphology] == []


@pytest.mark.parametrize("page", ["code.md", "morphology.md"])
def test_the_tables_are_filled(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    table = text.partition("table: begin")[2].partition("table: end")[0]
    assert table.count("\n| ") > 5
