"""docs/metrics.md: its examples run, one after another; every public function is on the page."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from jeton import metrics

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"

ELSEWHERE = {"cut_term", "readable_piece", "padding_waste", "vocabulary_use"}
"""On the page of the audit."""


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 9
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
        assert capsys.readouterr().out.strip()


def test_every_public_function_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    functions = {
        name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))
    } - ELSEWHERE
    hidden = {"identifier_parts", "morpheme_boundaries", "renyi_entropy_bits"}
    assert {name for name in functions - hidden if name not in text} == set()
