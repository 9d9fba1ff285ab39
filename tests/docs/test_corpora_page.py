"""docs/corpora.md: its examples run, and its table is that of the settings."""

from __future__ import annotations

import re
from pathlib import Path

from jeton import _core
from jeton.corpus import NearDuplicateSettings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "corpora.md"


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 10
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)


def test_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    near = NearDuplicateSettings()
    shares = [f"{near.probability(s):.1%}" for s in (0.3, 0.5, 0.7, 0.8, 0.9)]
    assert f"| found | {' | '.join(shares)} |" in text
    section = text[text.index("## Quality") : text.index("## Hold-out")]
    for name in _core.quality_figures():
        gram = re.fullmatch(r"(top|duplicate)_(\d+)_gram_chars", name)
        assert f"`{name}`" in section or gram is not None, name
