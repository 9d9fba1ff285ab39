"""Pages on superwords and on continuing: their examples run; names and defaults are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jeton.training.algorithms.superbpe import PHRASE_PATTERNS, SuperBpeOptions

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(("page", "n_blocks"), [("superwords", 1), ("continue-training", 2)])
@pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")
def test_the_examples_run(page: str, n_blocks: int) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == n_blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)


def test_defaults_are_those_of_the_code() -> None:
    text = (DOCS / "superwords.md").read_text(encoding="utf-8")
    for name in PHRASE_PATTERNS:
        assert f'`"{name}"`' in text
    defaults = SuperBpeOptions()
    assert f'`"{defaults.phrases}"` (default)' in text
    assert f"{defaults.max_words} (-31.7%, the default)" in text
