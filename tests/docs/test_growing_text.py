"""docs/growing-text.md: its examples run, one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "growing-text.md"


def test_the_examples_of_the_page_run() -> None:
    blocks = PAGE.read_text(encoding="utf-8").split("```python\n")[1:]
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block.split("```")[0], str(PAGE), "exec"), names)
    assert len(blocks) >= 6
    assert names["n_tokens"] > 1000
